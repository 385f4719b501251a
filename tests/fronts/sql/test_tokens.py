"""A query is read into words with their places, and errors point at them. Nothing here starts Spark."""

from __future__ import annotations

import pytest

from headrace.errors import QueryError
from headrace.fronts.sql.reading import row_patterns, syntax
from headrace.fronts.sql.reading.syntax import Select
from headrace.fronts.sql.reading.tokens import read, split, text
from headrace.ops.patterns.preferred import Choice, Repeated, RowPattern, Sequel, Variable


def test_comments_and_the_last_semicolon_are_no_words() -> None:
    _, tokens = read("SELECT 'a;b' /* what */ -- how\n FROM `my table`;")
    assert [token.text for token in tokens] == ["SELECT", "'a;b'", "FROM", "`my table`"]


def test_an_error_shows_the_line_and_marks_the_word() -> None:
    query, tokens = read("SELECT a\n  FROM clicks")
    error = query.error(tokens[-1], "no such stream", "give it")
    assert (error.line, error.column) == (2, 8)
    assert error.what == "sql: no such stream\n  2 |   FROM clicks\n    |        ^^^^^^"


@pytest.mark.parametrize(
    ("written", "line", "column"),
    [("SELECT 'open", 1, 8), ("SELECT a FROM b; SELECT c", 1, 16), ("SELECT (a FROM b", 1, 8), ("SELECT FROM b", 1, 1), ("", 1, 1)],
)
def test_what_is_no_query_is_refused_at_its_place(written: str, line: int, column: int) -> None:
    with pytest.raises(QueryError) as raised:
        syntax.statement(*reversed(read(written)))
    assert (raised.value.line, raised.value.column) == (line, column)


def test_and_of_between_does_not_part_a_condition() -> None:
    _, tokens = read("a = 1 AND b BETWEEN 2 AND 3 AND c")
    assert [text(part) for part in split(tokens, "AND")] == ["a = 1", "b BETWEEN 2 AND 3", "c"]


@pytest.mark.parametrize(
    ("written", "items"),
    [
        ("a, b AS c, count(*) n", [("a", None), ("b", "c"), ("count ( * )", "n")]),
        ("CASE WHEN a THEN 1 ELSE 2 END", [("CASE WHEN a THEN 1 ELSE 2 END", None)]),
        ("t.*, a IS NOT DISTINCT FROM b AS same", [("t . *", None), ("a IS NOT DISTINCT FROM b", "same")]),
        ("extract(YEAR FROM at) AS y", [("extract ( YEAR FROM at )", "y")]),
    ],
)
def test_columns_of_select_have_names(written: str, items: list[tuple[str, str | None]]) -> None:
    query, tokens = read(f"SELECT {written} FROM t")
    (select,) = syntax.statement(tokens, query).query.parts
    assert isinstance(select, Select)
    assert [(text(item.tokens), item.alias and item.alias.name) for item in select.items] == items


A, B, C = Variable("A"), Variable("B"), Variable("C")


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        ("A b+ C", Sequel((A, Repeated(B, 1, None), C))),
        ("A*? | (B C)?", Choice((Repeated(A, 0, None, reluctant=True), Repeated(Sequel((B, C)), 0, 1)))),
        ("A{2} B{1,} C{,3}", Sequel((Repeated(A, 2, 2), Repeated(B, 1, None), Repeated(C, 0, 3)))),
        ("PERMUTE(A, B)", Choice((Sequel((A, B)), Sequel((B, A))))),
    ],
)
def test_a_pattern_is_read(written: str, pattern: RowPattern) -> None:
    query, tokens = read(f"({written})")
    assert row_patterns.pattern(tokens, query) == pattern
