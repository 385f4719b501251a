"""MATCH_RECOGNIZE as the standard tells it: try the preferred way first, and go back where it does not lead to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from headrace.ops.patterns.preferred import Choice, Repeated, RowPattern, Sequel, Variable

Conditions = Mapping[str, Callable[[int], bool]]


def matches(pattern: RowPattern, rows: Sequence[int], conditions: Conditions, *, past_last: bool) -> list[tuple[int, int, str]] | None:
    """First and last row of each match, and the variables of its rows. None if the pattern also matches no rows."""
    if any(True for _ in _ways(pattern, [], 0, conditions)):
        return None
    found, start = [], 0
    while start < len(rows):
        way = next(_ways(pattern, rows, start, conditions), None)
        if way is None:
            start += 1
            continue
        found.append((start, start + len(way) - 1, way))
        start = start + len(way) if past_last else start + 1
    return found


def _ways(pattern: RowPattern, rows: Sequence[int], at: int, conditions: Conditions) -> Iterator[str]:
    """All ways to match from a row on, the preferred first."""
    match pattern:
        case Variable(name):
            if at < len(rows) and conditions[name](rows[at]):
                yield name
        case Choice(parts):
            for part in parts:
                yield from _ways(part, rows, at, conditions)
        case Sequel(parts):
            yield from _sequel(parts, rows, at, conditions)
        case Repeated(part, least, most, reluctant):
            yield from _repeated(part, least, most, reluctant, rows, at, conditions)


def _sequel(parts: Sequence[RowPattern], rows: Sequence[int], at: int, conditions: Conditions) -> Iterator[str]:
    if not parts:
        yield ""
        return
    for first in _ways(parts[0], rows, at, conditions):
        for rest in _sequel(parts[1:], rows, at + len(first), conditions):
            yield first + rest


def _repeated(
    part: RowPattern, least: int, most: int | None, reluctant: bool, rows: Sequence[int], at: int, conditions: Conditions
) -> Iterator[str]:
    def more() -> Iterator[str]:
        if most == 0:
            return
        for first in _ways(part, rows, at, conditions):
            if first or least > 0:  # an empty repetition adds nothing, and would never end
                for rest in _repeated(
                    part, max(0, least - 1), None if most is None else most - 1, reluctant, rows, at + len(first), conditions
                ):
                    yield first + rest

    if least > 0:
        yield from more()
    elif reluctant:
        yield ""
        yield from more()
    else:
        yield from more()
        yield ""
