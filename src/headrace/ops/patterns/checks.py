"""Patterns that cannot run are refused when they are used, at the line of the step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.ops.patterns.automaton import Automaton, automaton
from headrace.ops.patterns.pattern import Part, Pattern


def check_pattern(pattern: Pattern) -> Automaton:
    """The automaton of a pattern that can run."""
    if not isinstance(pattern, Pattern):
        raise _refused(
            f"{arguments.shown(pattern)} is no pattern", "give one: hr.step('small', 'amount < 1').followed_by('large', 'amount > 500')"
        )
    last = next((part for part in reversed(pattern.parts) if not part.optional), pattern.parts[-1])
    if last.absent and last.link == "followed_by" and pattern.window is None and last.own is None:
        raise _refused(
            f"the pattern ends with not_followed_by('{last.name}'), and has no time after which it is certain that it does not come",
            "say until when it must not come: .within('10 minutes')", last,
        )  # fmt: skip
    _check_sequence(pattern, pattern)
    return automaton(pattern)


def _check_sequence(pattern: Pattern, whole: Pattern) -> None:
    for part in pattern.parts:
        if part.own and whole.window is not None and part.own > durations.micros(whole.window):
            raise _refused(
                f"'{part.name}' may come later after the record before it than within allows for the whole ({whole.window})",
                "make the time of the step the shorter one", part,
            )  # fmt: skip
        if part.own and part.absent and (part is not whole.parts[-1] or part.link == "next"):
            raise _refused(
                f"'{part.name}' must not come, and has a time of its own, which only not_followed_by at the end of a pattern can have",
                "say within of the step that follows, or of the whole pattern", part,
            )  # fmt: skip
        if part.group is not None:
            _check_sequence(part.group, whole)
    for one, other in pairwise([part for part in pattern.parts if not part.absent]):
        if one.greedy and _begins_optional(other):
            raise _refused(
                f"'{other.name}' is optional and follows '{one.name}', which is greedy: what follows both could take its records",
                "leave out greedy() or optional()", other,
            )  # fmt: skip
    last = [part for part in pattern.parts if not part.absent][-1]
    if last.greedy:
        raise _refused(
            f"'{last.name}' is greedy, which keeps the step that follows from its records; but nothing follows it"
            f"{' in its group' if pattern is not whole else ''}",
            "leave out greedy(); to have the longest match alone, end it with a step: .next('other', 'not …')", last,
        )  # fmt: skip


def check_columns(pattern: Pattern, columns: Sequence[str]) -> None:
    """Steps have names that no column has: `small.amount` must mean one thing."""
    known = {column.lower() for column in columns}
    for step in pattern.steps():
        if step.name.lower() in known:
            raise _refused(f"the records have a column '{step.name}', too", "give the step another name", step)


def check_bound(pattern: Pattern, table: Automaton) -> None:
    """Refuse what may wait for ever, or grow without an end."""
    if pattern.window is not None:
        return
    loops = [part for part in _all(pattern) if part.most is None]
    endless = table.endless()
    if not loops and not endless:
        return
    step = next((part for part in pattern.steps() if part.name in endless), None)
    what = (
        f"a match may wait for '{step.name}' for ever, and each record that begins one adds to the state"
        if step is not None
        else f"the repetitions of '{loops[0].name}' have no end, and each record may begin another match"
    )
    raise _refused(
        what, "say in which time it must be complete: .within('10 minutes'); or how many matches a key may have on their way: most=100",
        step or loops[0],
    )  # fmt: skip


def _all(pattern: Pattern) -> list[Part]:
    return [each for part in pattern.parts for each in (part, *([] if part.group is None else _all(part.group)))]


def _begins_optional(part: Part) -> bool:
    return part.optional or (part.group is not None and part.group.parts[0].optional)


def _refused(what: str, fix: str, at: Part | None = None) -> DefinitionError:
    return DefinitionError(f"match: {what}", fix=fix, where=(at and at.where) or user_line())
