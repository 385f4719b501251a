"""MATCH_RECOGNIZE: its clauses become conditions and measures of the pattern operator, with the meaning that the standard gives them.

Navigation becomes aggregates over what a match has taken: LAST(A.x) is Spark's `last`, FIRST(A.x, 2) a place in a list. PREV, which looks
at the row before, be it in the match or not, is a feature of the key that is computed before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.errors import DefinitionError, QueryError
from headrace.fronts.sql.reading import row_patterns
from headrace.fronts.sql.reading.calls import Call, is_aggregate, replaced
from headrace.fronts.sql.reading.durations import duration
from headrace.fronts.sql.reading.row_patterns import Clauses
from headrace.fronts.sql.reading.syntax import Primary
from headrace.fronts.sql.reading.tokens import Query, Token, Tokens, named, quote, shown, split, text, words
from headrace.fronts.sql.relations import Relation
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import time_columns
from headrace.kernel.ports import LATE, MAIN
from headrace.ops.features import previous
from headrace.ops.patterns.preferred import Rows, variables
from headrace.ops.patterns.preferred import recognize as recognized

_NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER")
_FIX = "write MATCH_RECOGNIZE (PARTITION BY … ORDER BY … MEASURES … PATTERN (…) DEFINE …)"


def recognize(relation: Relation, primary: Primary, query: Query) -> Stream:
    """The matches among the rows of a relation."""
    assert primary.match is not None
    assert primary.match_at is not None
    if not relation.streaming:
        raise query.error(primary.match_at, "MATCH_RECOGNIZE is of a stream", "give the rows as a stream: hr.read.files(…)")
    return _Recognition(relation.rows(query), row_patterns.clauses(primary.match, query, primary.match_at), primary.match_at, query).rows()


class _Recognition:
    def __init__(self, stream: Stream, clauses: Clauses, at: Token, query: Query) -> None:
        self.stream, self.clauses, self.at, self.query = stream, clauses, at, query
        self.pattern = row_patterns.pattern(clauses.part("PATTERN"), query)
        self.variables = variables(self.pattern)
        self.unions = self._unions()
        self.before: dict[str, tuple[str, int]] = {}  # columns of rows before: of which, and how far
        for name in (*self.variables, *self.unions):
            if name.lower() in ("match", "record"):
                raise query.error(clauses.words["PATTERN"], f"a variable cannot be called {name}", "give it another name")

    def rows(self) -> Stream:
        keys, time, order = self._keys(), *self._order()
        define = {name: self._value(tokens) for name, tokens in self._definitions().items()}
        measures = self._measures()
        all_rows = self._all_rows()
        shown = [F.expr(text(self._value(tokens))).alias(f"_measure{i}") for i, (tokens, _, _) in enumerate(measures)]
        if all_rows:
            record = [F.col(f"match.{quote(name)}").alias(name) for name in self.stream.columns]
            shown.append(F.collect_list(F.struct(*record, F.col("match.__step").alias("__step"))).alias("_rows"))
        skip, to = self._skip()
        within = duration(self.clauses.part("WITHIN"), self.query, "WITHIN") if self.clauses.part("WITHIN") else None
        looked_for = Rows(
            pattern=self.pattern, define={name: F.expr(text(tokens)) for name, tokens in define.items()}, measures=shown,
            unions=self.unions, skip=skip, skip_to=to, within=within,
        )  # fmt: skip
        renamed = {key: f"_part_{key}" for key in keys if key.lower() in ("start", "end")}
        stream = self._with_rows_before(keys, time)
        stream = stream.rename(**renamed) if renamed else stream
        named_keys = [renamed.get(key, key) for key in keys] or ["_all"]
        if not keys:
            stream = stream.with_columns(_all=F.lit(True))
        try:
            matched = stream._then(
                "match",
                lambda df: recognized(df, looked_for, keys=named_keys, event_time=time, order=order),
                row="match",
                pattern=str(self.pattern),
            )._parted("match", [MAIN, LATE])
        except QueryError:
            raise
        except DefinitionError as error:
            raise self.query.error(self._place(error.what), error.what, error.fix) from None
        return Stream(self._shown(matched, keys, renamed, measures, time, all_rows=all_rows).step, matched._ports)

    def _shown(
        self, matched: Stream, keys: list[str], renamed: dict[str, str], measures: list[tuple[list[Token], Token, bool]], time: str, *,
        all_rows: bool,
    ) -> Stream:  # fmt: skip
        parts = [F.col(quote(renamed.get(key, key))).alias(key) for key in keys]
        values = [F.col(f"_measure{i}").alias(name.name) for i, (_, name, _) in enumerate(measures)]
        if not all_rows:
            return matched.select(*parts, *values)
        rows = matched.select(*(quote(name) for name in matched.columns if name != "_rows"), F.explode("_rows").alias("_row"))
        step: list[Column] = [
            F.col("_row.__step").alias(name.name) if self._is_classifier(tokens) and not final else value
            for value, (tokens, name, final) in zip(values, measures, strict=True)
        ]
        others = [F.col(f"_row.{quote(name)}").alias(name) for name in self.stream.columns if name not in keys and name != time]
        return rows.select(*parts, F.col(f"_row.{quote(time)}").alias(time), *step, *others)

    # -- clauses --------------------------------------------------------------------------------------------------------------------

    def _keys(self) -> list[str]:
        return [self._column(part, "PARTITION BY") for part in split(self.clauses.part("PARTITION")) if part]

    def _column(self, part: list[Token], clause: str) -> str:
        names = {name.lower(): name for name in self.stream.columns}
        if len(part) not in (1, 3) or not part[-1].is_name:
            raise self.query.error(part, f"{clause} names columns", "compute it in a subquery before, and name it")
        if part[-1].name.lower() not in names:
            raise self.query.error(part, f"there is no column {part[-1].name!r}", f"the columns are {', '.join(self.stream.columns)}")
        return names[part[-1].name.lower()]

    def _order(self) -> tuple[str, list[str]]:
        times = time_columns(self.stream.step.preview)
        declare = 'declare it where the stream is made: stream.event_time("at", "10 seconds")'
        if not self.clauses.part("ORDER"):
            raise self.query.error(self.at, "there is no ORDER BY", f"write ORDER BY {times[0]}" if times else f"write it, and {declare}")
        columns = []
        for part in split(self.clauses.part("ORDER")):
            if part and part[-1].word == "DESC":
                raise self.query.error(part, "a stream goes forward in time", "leave out DESC")
            columns.append(self._column(part[:-1] if part and part[-1].word == "ASC" else part, "ORDER BY"))
        if columns[0] not in times:
            raise self.query.error(
                self.clauses.part("ORDER"),
                "a stream is ordered by its event time first",
                f"write ORDER BY {times[0]}" if times else declare,
            )
        return columns[0], columns[1:]

    def _unions(self) -> dict[str, list[str]]:
        unions = {}
        for part in split(self.clauses.part("SUBSET")):
            if not part:
                continue
            if len(part) < 5 or part[1].text != "=" or part[2].text != "(":
                raise self.query.error(part, "SUBSET is not written like this", "write SUBSET U = (A, B)")
            members = [_name(inner[0]) for inner in split(part[3:-1])]
            if unknown := [name for name in members if name not in self.variables]:
                raise self.query.error(part, f"the pattern has no variable {unknown[0]}", f"name some of {', '.join(self.variables)}")
            unions[_name(part[0])] = members
        return unions

    def _definitions(self) -> dict[str, list[Token]]:
        definitions = {}
        for part in split(self.clauses.part("DEFINE")) if "DEFINE" in self.clauses.words else []:
            if len(part) < 3 or part[1].word != "AS":
                raise self.query.error(part or self.at, "DEFINE is not written like this", "write DEFINE A AS price > 10, B AS …")
            name = _name(part[0])
            if name not in self.variables:
                raise self.query.error(part[0], f"the pattern has no variable {name}", f"name one of {', '.join(self.variables)}")
            definitions[name] = part[2:]
        return definitions

    def _measures(self) -> list[tuple[list[Token], Token, bool]]:
        """The expression, the name, and whether it is of the whole match also in ALL ROWS."""
        measures = []
        for part in (part for part in split(self.clauses.part("MEASURES")) if part):
            if len(part) < 3 or part[-2].word != "AS":
                raise self.query.error(part, "a measure has a name", "write LAST(A.price) AS price")
            tokens, final = part[:-2], part[0].word == "FINAL"
            measures.append((tokens, part[-1], final))
        if not measures and not self._all_rows():
            raise self.query.error(self.at, "there are no MEASURES, so a match has nothing to show", "write MEASURES A.price AS price")
        return measures

    def _all_rows(self) -> bool:
        words_ = [token.word for token in self.clauses.part("ALL")]
        if "ALL" not in self.clauses.words:
            return False
        if words_[:2] != ["PER", "MATCH"] or "UNMATCHED" in words_:
            raise self.query.error(
                self.clauses.part("ALL") or self.at, "rows in no match would have to wait until no match can have them, some for ever",
                "write ALL ROWS PER MATCH, or ONE ROW PER MATCH",
            )  # fmt: skip
        for tokens, name, final in self._measures_of(self.clauses.part("MEASURES")):
            if not final and not self._is_classifier(tokens):
                raise self.query.error(
                    name, "in ALL ROWS PER MATCH a measure is running, unless it is FINAL, and running ones are not known here",
                    f"write FINAL {shown(tokens, self.query)} AS {name.text}; or ONE ROW PER MATCH",
                )  # fmt: skip
        return True

    def _measures_of(self, tokens: list[Token]) -> list[tuple[list[Token], Token, bool]]:
        return [(part[:-2], part[-1], part[0].word == "FINAL") for part in split(tokens) if len(part) > 2]

    def _is_classifier(self, tokens: list[Token]) -> bool:
        return len(tokens) == 3 and tokens[0].word == "CLASSIFIER"

    def _skip(self) -> tuple[str, str | None]:
        tokens = self.clauses.part("AFTER")
        named_words = [token.word for token in tokens]
        match named_words:
            case [] | ["SKIP", "PAST", "LAST", "ROW"]:
                return "last", None
            case ["SKIP", "TO", "NEXT", "ROW"]:
                return "next", None
            case ["SKIP", "TO", ("FIRST" | "LAST") as end, _]:
                return f"to {end.lower()}", self._skip_to(tokens[-1])
            case ["SKIP", "TO", _]:
                return "to last", self._skip_to(tokens[-1])
        raise self.query.error(
            tokens, "AFTER MATCH does not know this", "write AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST A or TO LAST A"
        )

    def _skip_to(self, token: Token) -> str:
        if _name(token) not in self.variables:
            raise self.query.error(token, f"the pattern has no variable {_name(token)}", f"name one of {', '.join(self.variables)}")
        return _name(token)

    # -- expressions ----------------------------------------------------------------------------------------------------------------

    def _value(self, tokens: Sequence[Token]) -> list[Token]:
        """An expression over what a match has taken, with this record."""
        plain = [
            token
            for i, token in enumerate(tokens)
            if not (token.word in ("FINAL", "RUNNING") and i + 1 < len(tokens) and tokens[i + 1].is_name)
        ]
        plain = [token.become(_name(token), "quoted") if self._is_variable(plain, i) else token for i, token in enumerate(plain)]

        def wanted(call: str, _: bool) -> bool:
            return call in _NAVIGATION or is_aggregate(call)

        return replaced(plain, self.query, wanted, self._call)

    def _is_variable(self, tokens: Tokens, i: int) -> bool:
        return (
            tokens[i].is_name and i + 1 < len(tokens) and tokens[i + 1].text == "." and not (i and tokens[i - 1].text == ".")
            and _name(tokens[i]) in (*self.variables, *self.unions)
        )  # fmt: skip

    def _call(self, call: Call) -> list[Token]:
        at = call.tokens[0]
        if call.name == "NEXT":
            raise self.query.error(
                call.tokens, "NEXT looks at a row that has not come yet", "look back: LAST(A.x, 1), or PREV in the variable that follows"
            )
        if call.name == "MATCH_NUMBER":
            raise self.query.error(
                call.tokens, "matches are not numbered: a key that has none on its way is forgotten", "number them where they are read"
            )
        if call.name == "CLASSIFIER":
            owner = _name(call.arguments[0]) if call.arguments else "match"
            return words(f"last({quote(owner)}.__step)", at)
        parts = split(call.arguments)
        if call.name == "PREV":
            return self._prev(call, parts)
        inner = self._of_match(parts[0] if parts else [])
        if call.name in ("FIRST", "LAST") and len(parts) < 3:
            far = self._number(parts, 0)
            if far == 0:
                return [at.become(call.name.lower(), "word"), at.become("("), *inner, at.become(")")]
            place = f"{far}" if call.name == "FIRST" else f"-{far + 1}"
            got = "get" if call.name == "FIRST" else "try_element_at"
            return [*words(f"{got}(collect_list(named_struct('v',", at), *inner, *words(f")), {place}).v", at)]
        return [*call.tokens[:2], *self._of_match(call.tokens[2:])]

    def _number(self, parts: list[list[Token]], default: int) -> int:
        if len(parts) < 2:
            return default
        if len(parts[1]) != 1 or not parts[1][0].text.isdigit():
            raise self.query.error(parts[1], "how far back is a number", "write LAST(A.price, 1)")
        return int(parts[1][0].text)

    def _prev(self, call: Call, parts: list[list[Token]]) -> list[Token]:
        far = self._number(parts, 1)
        column = parts[0] if parts else []
        if far == 0:
            return self._of_match(column)
        plain = column[2:] if len(column) == 3 and self._is_variable(column, 0) else column
        if len(plain) != 1 or far > 1:
            raise self.query.error(
                call.tokens, "PREV is of a column of the row before", "write PREV(price); further back within the match: LAST(price, 2)"
            )
        name = f"_before_{self._column(plain, 'PREV')}"
        self.before[name] = (self._column(plain, "PREV"), far)
        owner = f"{quote(column[0].name)}." if len(column) == 3 else ""
        return words(f"{owner}{quote(name)}", call.tokens[0])

    def _of_match(self, tokens: Sequence[Token]) -> list[Token]:
        """What no variable is named for, is of all rows of the match."""
        columns = {name.lower() for name in self.stream.columns}
        result: list[Token] = []
        for i, token in enumerate(tokens):
            free = (
                token.is_name and not (i and tokens[i - 1].text == ".") and not (i + 1 < len(tokens) and tokens[i + 1].text in (".", "("))
            )
            result += [named("match", token), token.become("."), token] if free and token.name.lower() in columns else [token]
        return result

    def _with_rows_before(self, keys: list[str], time: str) -> Stream:
        """The stream with the columns of the row before that PREV asks for."""
        if not self.before:
            return self.stream
        stream = self.stream if keys else self.stream.with_columns(_all=F.lit(True))
        features: dict[str, Any] = {name: previous(column) for name, (column, _) in self.before.items()}
        with self.query.pointing(self.at):
            return stream.key_by(*(keys or ["_all"])).with_features(event_time=time, **features)

    def _place(self, what: str) -> Token | list[Token]:
        """The definition that an error is about, or the word MATCH_RECOGNIZE."""
        if named := re.search(r"the condition of '(\w+)'", what):
            return self._definitions().get(named[1], [self.at])
        return self.clauses.part("MEASURES") if "output" in what and self.clauses.part("MEASURES") else self.at


def _name(token: Token) -> str:
    return token.name.upper() if token.kind == "word" else token.name
