"""The worked examples of Flink's rules (its documentation, and runs of a plain model of them), each by the table that it is in."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.ops.patterns.oracle import Oracle
from tests.ops.patterns.running import Example, Result, is_, letter, number, records, run

from headrace.ops.patterns.pattern import Pattern, group, step

A, B, C, D, E, S, X = (is_(letter) for letter in "abcdesx")


def a_any_bs_c(bs: Pattern) -> Pattern:
    return bs.followed_by("c", C)


def cab(loop: Pattern) -> Pattern:
    return loop.followed_by("b", B)


B_PLUS = step("a", A).followed_by_any("b", B).one_or_more()
S_A, S_ANY_A = step("s", S).followed_by("a", A), step("s", S).followed_by_any("a", A)
C_A_PLUS = step("c", C).followed_by("a", A).one_or_more()
SUM = "coalesce(sum(a.n), 0) + n < 10 and left(v, 1) = 'a'"
UP = "left(v, 1) = 'u' and n > coalesce(last(u.n), 0)"
DOWN = "left(v, 1) = 'u' and n < last(u.n)"
UPS = step("s", S).followed_by("u", UP).one_or_more().greedy()
BS_C = step("b", B).one_or_more().consecutive().greedy().next("c", C)
LOOSE_BS_C = step("b", B).one_or_more().followed_by("c", C)
ABC_D = step("x", is_("a", "b", "c")).followed_by("y", is_("b", "c")).followed_by("z", C).one_or_more().greedy().followed_by("d", D)
A_ANY_B = step("a", A).followed_by_any("b", B)
S_M_E = step("s", S).followed_by("m", is_("m")).followed_by("e", E)

# section, pattern, input, matches in the order in which they come, and the options of `match`
WORKED: list[tuple[str, Pattern, str, str, dict[str, Any]]] = [
    ("3: next", step("a", A).next("b", B), "a c b1 b2", "", {}),
    ("3: followed by", step("a", A).followed_by("b", B), "a c b1 b2", "a b1", {}),
    ("3: followed by any", step("a", A).followed_by_any("b", B), "a c b1 b2", "a b1; a b2", {}),
    ("3: b+ consecutive", a_any_bs_c(B_PLUS.consecutive()), "a b1 d1 b2 d2 b3 c", "a b1 c; a b2 c; a b3 c", {}),
    ("3: b+", a_any_bs_c(B_PLUS), "a b1 d1 b2 d2 b3 c", "a b1 b2 b3 c; a b1 b2 c; a b1 c; a b2 b3 c; a b2 c; a b3 c", {}),
    (
        "3: b+ combinations", a_any_bs_c(B_PLUS.combinations()), "a b1 d1 b2 d2 b3 c",
        "a b1 b2 b3 c; a b1 b2 c; a b1 b3 c; a b1 c; a b2 b3 c; a b2 c; a b3 c", {},
    ),
    ("3: a+ consecutive", cab(C_A_PLUS.consecutive()), "c d a1 a2 a3 d a4 b", "c a1 a2 a3 b; c a1 a2 b; c a1 b", {}),
    ("3: a+", cab(C_A_PLUS), "c d a1 a2 a3 d a4 b", "c a1 a2 a3 a4 b; c a1 a2 a3 b; c a1 a2 b; c a1 b", {}),
    (
        "3: a+ combinations", cab(C_A_PLUS.combinations()), "c d a1 a2 a3 d a4 b",
        "c a1 a2 a3 a4 b; c a1 a2 a3 b; c a1 a2 a4 b; c a1 a2 b; c a1 a3 a4 b; c a1 a3 b; c a1 a4 b; c a1 b", {},
    ),
    ("3: a+ until b", step("a", A).one_or_more().until(B), "a1 c a2 b a3", "a1; a1 a2; a2; a3", {}),
    ("3: until, then e", S_A.one_or_more().until(X).followed_by("e", E), "s a1 a2 x a3 e", "s a1 a2 e; s a1 e", {}),
    ("3: followed by, twice", step("a", A).followed_by("b", B), "a1 a2 b1 b2", "a1 b1; a2 b1", {}),
    ("3: any, twice", step("a", A).followed_by_any("b", B), "a1 a2 b1 b2", "a1 b1; a2 b1; a1 b2; a2 b2", {}),
    ("3: a{2}", step("a", A).times(2), "a1 x a2 a3", "a1 a2; a2 a3", {}),
    ("3: a{2} consecutive", step("a", A).times(2).consecutive(), "a1 x a2 a3", "a2 a3", {}),
    ("3: a{2} combinations", step("a", A).times(2).combinations(), "a1 x a2 a3", "a1 a2; a1 a3; a2 a3", {}),
    ("3: a{2,3}", S_A.times(2, 3).followed_by("e", E), "s a1 a2 a3 e", "s a1 a2 a3 e; s a1 a2 e", {}),
    ("3: a{2,3} greedy", S_A.times(2, 3).greedy().followed_by("e", E), "s a1 a2 a3 e", "s a1 a2 a3 e", {}),
    ("3: a fourth a", S_A.times(2, 3).greedy().followed_by("e", E), "s a1 a2 a3 a4 e", "", {}),
    ("3: a{2,} consecutive", S_A.at_least(2).consecutive().followed_by("e", E), "s a1 x a2 a3 e", "", {}),
    ("3: the same, any", S_ANY_A.at_least(2).consecutive().followed_by("e", E), "s a1 x a2 a3 e", "s a2 a3 e", {}),
    ("3: a b? c", step("a", A).followed_by("b", B).optional().followed_by("c", C), "a b c", "a b c; a c", {}),
    ("3: a b* at the end", step("a", A).followed_by("b", B).one_or_more().optional(), "a b1 b2", "a; a b1; a b1 b2", {}),
    (
        "3: (a b)+ c", group(step("a", A).followed_by("b", B)).one_or_more().followed_by("c", C), "a1 b1 a2 b2 c",
        "a1 b1 a2 b2 c; a1 b1 c; a2 b2 c", {},
    ),
    (
        "3: a sum below ten", step("a", SUM).one_or_more().followed_by("e", E), "a3 a4 a5 a2 e",
        "a3 a4 a2 e; a3 a4 e; a3 e; a4 a5 e; a4 e; a5 a2 e; a5 e; a2 e", {},
    ),
    ("3: rising, then falling", UPS.next("d", DOWN), "s u1 u3 u5 u4", "s u1 u3 u5 u4", {}),
    ("3: not next", step("a", A).not_next("c", C).followed_by("b", B), "a1 d b1 a2 c b2", "a1 b1", {}),
    ("3: not followed by", step("a", A).not_followed_by("c", C).followed_by("b", B), "a1 d b1 a2 c b2", "a1 b1", {}),
    ("3: a c !b d", step("a", A).followed_by("c", C).not_followed_by("b", B).followed_by("d", D), "a c1 b c2 d", "", {}),
    ("3: a c !b d, any", step("a", A).followed_by_any("c", C).not_followed_by("b", B).followed_by("d", D), "a c1 b c2 d", "a c2 d", {}),
    ("2: a !b c? d", step("a", A).not_followed_by("b", B).followed_by("c", C).optional().followed_by("d", D), "a c b d", "a c d", {}),
    ("2: a !b c? d, without c", step("a", A).not_followed_by("b", B).followed_by("c", C).optional().followed_by("d", D), "a b d", "", {}),
    ("3: absence", step("a", A).not_followed_by("b", B).within("3 seconds"), "a1@0 c@1 b@2 a2@10 c@14", "a2", {}),
    ("4: within", step("a", A).followed_by("b", B).within("10 seconds"), "a1@0 b1@9 a2@20 b2@30", "a1 b1", {}),
    ("4: s m e within", S_M_E.within("10 seconds"), "s1@1 s2@3 m@5 e@12", "s2 m e", {}),
    ("4: s m e, e after m", S_M_E.within("8 seconds", after="previous"), "s1@1 s2@3 m@5 e@12", "s1 m e; s2 m e", {}),
    ("5: no skip", BS_C, "b1 b2 b3 c", "b1 b2 b3 c; b2 b3 c; b3 c", {}),
    ("5: to next", BS_C, "b1 b2 b3 c", "b1 b2 b3 c; b2 b3 c; b3 c", {"skip": "to next"}),
    ("5: to first b", BS_C, "b1 b2 b3 c", "b1 b2 b3 c; b2 b3 c; b3 c", {"skip": "to first b"}),
    ("5: past last", BS_C, "b1 b2 b3 c", "b1 b2 b3 c", {"skip": "past last"}),
    ("5: to last b", BS_C, "b1 b2 b3 c", "b1 b2 b3 c; b3 c", {"skip": "to last b"}),
    ("5: loose, no skip", LOOSE_BS_C, "b1 b2 b3 c", "b1 b2 b3 c; b1 b2 c; b1 c; b2 b3 c; b2 c; b3 c", {}),
    ("5: loose, to next", LOOSE_BS_C, "b1 b2 b3 c", "b1 b2 b3 c; b2 b3 c; b3 c", {"skip": "to next"}),
    ("5: loose, past last", LOOSE_BS_C, "b1 b2 b3 c", "b1 b2 b3 c", {"skip": "past last"}),
    ("5: (a|b|c) (b|c) c+ d", ABC_D, "a b c1 c2 c3 d", "a b c1 c2 c3 d; b c1 c2 c3 d; c1 c2 c3 d", {}),
    ("5: the same, to first c+", ABC_D, "a b c1 c2 c3 d", "a b c1 c2 c3 d; c1 c2 c3 d", {"skip": "to first z"}),
    ("5: a b+", step("a", A).followed_by("b", B).one_or_more(), "a b1 b2 b3", "a b1; a b1 b2; a b1 b2 b3", {}),
    ("5: a b+, to next", step("a", A).followed_by("b", B).one_or_more(), "a b1 b2 b3", "a b1", {"skip": "to next"}),
    ("5: a any b", A_ANY_B, "a1 a2 b1 b2", "a1 b1; a2 b1; a1 b2; a2 b2", {}),
    ("5: a any b, to next", A_ANY_B, "a1 a2 b1 b2", "a1 b1; a2 b1", {"skip": "to next"}),
    ("5: a any b, past last", A_ANY_B, "a1 a2 b1 b2", "a1 b1", {"skip": "past last"}),
]  # fmt: skip
NAMES = [name for name, *_ in WORKED]

MEANINGS = {
    **{text: meaning for one in "abcdesxm" for text, meaning in letter(one).items()}, **letter("a", "b", "c"), **letter("b", "c"),
    SUM: lambda record, taken: record.v[0] == "a" and sum(number(each.v) for each in taken["a"]) + number(record.v) < 10,
    UP: lambda record, taken: record.v[0] == "u" and number(record.v) > (number(taken["u"][-1].v) if taken["u"] else 0),
    DOWN: lambda record, taken: record.v[0] == "u" and bool(taken["u"]) and number(record.v) < number(taken["u"][-1].v),
}  # fmt: skip


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, Result]:
    """All of them in one batch."""
    found = run(spark, [Example(pattern, [text], options) for _, pattern, text, _, options in WORKED])
    return dict(zip(NAMES, (each[0] for each in found), strict=True))


@pytest.mark.parametrize(("name", "expected"), [(name, expected) for name, _, _, expected, _ in WORKED], ids=NAMES)
def test_a_worked_example_gives_what_is_written_there(name: str, expected: str, results: dict[str, Result]) -> None:
    assert [taken for taken, _ in results[name].get("main", [])] == ([] if not expected else expected.split("; "))


@pytest.mark.parametrize(("pattern", "text", "expected", "options"), [each[1:] for each in WORKED], ids=NAMES)
def test_the_oracle_gives_it_too(pattern: Pattern, text: str, expected: str, options: dict[str, Any]) -> None:
    of = records(text)
    found = Oracle(pattern, of, MEANINGS).kept(options.get("skip", "none"))
    assert [" ".join(of[number].v for number, _ in taken) for taken, _ in found] == ([] if not expected else expected.split("; "))


@pytest.mark.parametrize(
    ("name", "timed_out", "known"),
    [
        ("4: within", [("a2", 30)], [9]),  # a record exactly ten seconds after the first is too late
        ("4: s m e within", [("s1 m", 11)], [12]),
        ("4: s m e, e after m", [], [12, 12]),
        ("3: absence", [], [13]),
    ],
)
def test_a_match_that_runs_out_of_time_says_when(
    name: str, timed_out: list[tuple[str, int]], known: list[int], results: dict[str, Result]
) -> None:
    assert results[name].get("timed_out", []) == timed_out
    assert [end for _, end in results[name]["main"]] == known
