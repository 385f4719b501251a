"""Patterns that cannot run are refused when they are written or used, in words, at the line of the step. No session is needed for that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import DefinitionError
from headrace.ops.patterns.automaton import automaton
from headrace.ops.patterns.checks import check_bound, check_columns, check_pattern
from headrace.ops.patterns.pattern import Pattern, group, step

A = step("a", "x = 1")
AB = A.followed_by("b", "x = 2")

WRITTEN: list[tuple[Callable[[], object], str]] = [
    (lambda: step("a b", "x"), "'a b' is no name for a step"),
    (lambda: step("match", "x"), "a step cannot be called 'match'"),
    (lambda: step("a", 3), "3 is no condition"),  # type: ignore[arg-type]
    (lambda: A.next("A"), "there is a step 'A' already"),
    (lambda: A.next(step("c").next("a")), "there is a step 'a' already"),
    (lambda: A.times(2).one_or_more(), "how often 'a' comes has been said already"),
    (lambda: A.times(3, 2), "the second is less than the first"),
    (lambda: A.times(True), "True is not how often"),
    (lambda: A.optional().optional(), "'a' is optional already"),
    (lambda: A.consecutive(), "'a' comes once at most"),
    (lambda: A.greedy(), "'a' comes once at most"),
    (lambda: A.one_or_more().combinations().greedy(), "combinations leave records out"),
    (lambda: group(AB).one_or_more().greedy(), "a group cannot be greedy"),
    (lambda: A.times(2).until("x"), "have an end already"),
    (lambda: A.one_or_more().until("x").until("y"), "'a' has one already"),
    (lambda: A.not_next("b").times(2), "which must not come"),
    (lambda: A.not_followed_by("b").optional(), "which must not come"),
    (lambda: AB.optional().not_next("c"), "'b', is optional"),
    (lambda: A.next(step("b").next("c").optional()).not_next("d"), "is optional"),
    (lambda: A.within("soon"), "'soon' is not a duration"),
    (lambda: A.within("1 second", after="last"), "'last' is not known"),  # type: ignore[arg-type]
    (lambda: A.within("1 second", after="previous"), "the first step has no record before it"),
    (lambda: A.next(AB.within("1 second")), "a group has no time of its own"),
    (lambda: A.next(step("b").optional()), "all steps of the group are optional"),
    (lambda: A.next(step("b").not_next("c")), "the group ends with 'c'"),
]

USED: list[tuple[Pattern, str]] = [
    (A.not_followed_by("b"), "ends with not_followed_by('b')"),
    (A.one_or_more().greedy(), "'a' is greedy"),
    (A.one_or_more().greedy().followed_by("b").optional().next("c"), "'b' is optional and follows 'a', which is greedy"),
    (A.one_or_more().greedy().next(step("b").optional().next("c")), "is optional and follows 'a', which is greedy"),
    (AB.within("9 seconds", after="previous").within("5 seconds"), "'b' may come later after the record before it than within allows"),
    (A.not_next("b").within("1 second", after="previous").next("c"), "has a time of its own"),
]

UNBOUNDED = [
    (AB, "may wait for 'b' for ever"),
    (A.followed_by_any("b"), "may wait for 'b' for ever"),
    (A.times(2), "may wait for 'a' for ever"),
    (A.one_or_more().consecutive().next("b"), "the repetitions of 'a' have no end"),
    (A.next("b").next(step("c").followed_by("d", "x = 3")), "may wait for 'd' for ever"),
]

BOUNDED = [
    A, A.next("b"), A.not_next("c").next("b"), A.times(2, 3).consecutive().next("b"), AB.within("1 minute"),
    AB.within("1 minute", after="previous"), A.one_or_more().within("1 minute"),
    A.not_followed_by("b").within("1 minute", after="previous"), A.followed_by("any"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "what"), WRITTEN, ids=[what for _, what in WRITTEN])
def test_what_cannot_be_said_is_refused_where_it_is_said(made: Callable[[], object], what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        made()
    assert what in refused.value.what
    assert refused.value.fix
    assert (refused.value.where or "").startswith(str(Path(__file__)))


@pytest.mark.parametrize(("pattern", "what"), USED, ids=[what for _, what in USED])
def test_what_cannot_run_is_refused_when_it_is_used(pattern: Pattern, what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        check_pattern(pattern)
    assert what in refused.value.what


@pytest.mark.parametrize(("pattern", "what"), UNBOUNDED, ids=repr)
def test_what_could_wait_for_ever_is_refused_with_the_reason(pattern: Pattern, what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        check_bound(pattern, automaton(pattern))
    assert what in refused.value.what
    assert "within" in refused.value.fix
    assert "most" in refused.value.fix


@pytest.mark.parametrize("pattern", BOUNDED, ids=repr)
def test_what_ends_by_itself_needs_no_bound(pattern: Pattern) -> None:
    check_bound(pattern, check_pattern(pattern))


def test_a_step_has_a_name_that_no_column_has() -> None:
    with pytest.raises(DefinitionError) as refused:
        check_columns(AB, ["x", "B"])
    assert refused.value.what == "match: the records have a column 'b', too"
