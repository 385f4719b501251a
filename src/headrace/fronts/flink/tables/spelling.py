"""Types as Flink's SQL writes them, in Spark's words."""

from __future__ import annotations

from headrace.fronts.sql.reading.tokens import Query, Token, Tokens, closing, quote

_SIMPLE = {
    "STRING": "string", "VARCHAR": "string", "CHAR": "string", "BOOLEAN": "boolean", "TINYINT": "tinyint", "SMALLINT": "smallint",
    "INT": "int", "INTEGER": "int", "BIGINT": "bigint", "FLOAT": "float", "DOUBLE": "double", "DATE": "date", "BYTES": "binary",
    "VARBINARY": "binary", "BINARY": "binary", "TIMESTAMP": "timestamp_ntz", "TIMESTAMP_LTZ": "timestamp", "DECIMAL": "decimal",
}  # fmt: skip
_WORDS = {"NOT", "NULL", "PRECISION", "WITHOUT", "WITH", "LOCAL", "TIME", "ZONE"}


def spark_type(tokens: Tokens, query: Query) -> str:
    """`ROW<n INT, tags ARRAY<STRING>>` as `struct<n: int, tags: array<string>>`. How exact a time is, is always a microsecond.

    >>> from headrace.fronts.sql.reading.tokens import read
    >>> query, tokens = read("ROW<n INT, at TIMESTAMP(3), paid DECIMAL(10, 2), tags ARRAY<VARCHAR(9)>>")
    >>> spark_type(tokens, query)
    'struct<`n`: int, `at`: timestamp_ntz, `paid`: decimal(10,2), `tags`: array<string>>'
    """
    name, rest = tokens[0].word, list(tokens[1:])
    if name in ("ARRAY", "MAP", "ROW", "MULTISET") and rest and rest[0].text in ("<", "(") and rest[-1].text in (">", ")"):
        parts = _parts(rest[1:-1])
        match name, len(parts):
            case "ARRAY", 1:
                return f"array<{spark_type(parts[0], query)}>"
            case "MAP", 2:
                return f"map<{spark_type(parts[0], query)}, {spark_type(parts[1], query)}>"
            case "ROW", _:
                return f"struct<{', '.join(f'{quote(part[0].name)}: {spark_type(part[1:], query)}' for part in parts)}>"
    if name not in _SIMPLE:
        raise query.error(
            tokens, f"{name} is no type that is known here", f"the types are {', '.join(_SIMPLE)}, ARRAY<…>, MAP<…, …>, ROW<…>"
        )
    size = ""
    if rest and rest[0].text == "(":
        end = closing(rest, 0, query)
        size, rest = "".join(token.text for token in rest[: end + 1]), rest[end + 1 :]
    if more := next((token for token in rest if token.word not in _WORDS), None):
        raise query.error(more, f"{more.text} means nothing behind a type", "write name TYPE, with a comma behind it")
    zoned = name == "TIMESTAMP" and any(token.word == "LOCAL" for token in rest)
    return "timestamp" if zoned else _SIMPLE[name] + (size if name == "DECIMAL" else "")


def _parts(tokens: Tokens) -> list[list[Token]]:
    """The parts between commas, outside of brackets of either kind."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "<(") - (token.text in ">)")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
