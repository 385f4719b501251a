"""A pattern as an automaton, which the kernel runs.

A match on its way is what it has taken, and a set of *items*: all that it may go on with. An item is a step that may take the next record,
at one place of the pattern; or something that is watched. For a record, the edges of the items that hold say which steps take it, and with
which items the match then goes on; and which items stay if it is skipped. A step's edges:

| follows by      | takes the record if | stays if                     |
|-----------------|---------------------|------------------------------|
| next            | its condition holds | never                        |
| followed by     | its condition holds | its condition does not hold  |
| followed by any | its condition holds | always                       |

After a step that has taken a record come the items of all that may be next: its repetition, what follows, and what follows that, if it is
optional. `until` ends the items of the repetition; `greedy` bars what follows from what the repetition could take. What must not come is
an item that kills the match: it is there until the next record is taken, or for one record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.definitions.arguments import Condition
from headrace.ops.patterns.pattern import Link, Part, Pattern

Literals = tuple[int, ...]
"""Conditions that all hold: their numbers from one on; negative, that one does not hold."""


@dataclass(frozen=True)
class Edge:
    """If the literals hold, the `step` (-1: none) takes the record, and the match goes on with `to`, and is complete if it `completes`."""

    step: int
    when: Literals
    to: tuple[int, ...]
    completes: bool = False


@dataclass
class Item:
    """What a match waits for or watches. `kills` is the number of a condition, from zero on, that ends it; -1: none. A match none of whose
    items is `alive` is over. If the time of one that is `pending` is over, the match is complete."""

    edges: list[Edge] = field(default_factory=list)
    kills: int = -1
    alive: bool = True
    pending: bool = False
    own: int = 0
    step: str = ""


@dataclass
class Automaton:
    """The items; those of a match that has not begun; the one (or -1) of a match that was complete before; the conditions, with the parts
    that have them."""

    items: list[Item] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    done: int = -1
    conditions: list[tuple[Condition, Part]] = field(default_factory=list)

    def text(self, **more: Any) -> str:
        items = [
            {
                "edges": [vars(edge) for edge in item.edges], "kills": item.kills, "alive": item.alive, "pending": item.pending,
                "own": item.own,
            }
            for item in self.items
        ]  # fmt: skip
        return json.dumps({"items": items, "start": self.start, "done": self.done, "preferred": False, **more})

    def endless(self) -> list[str]:
        """The steps for which a match that has begun may wait without an end."""
        begun = {item for each in self.items for edge in each.edges for item in edge.to}
        waits = (item for number, item in enumerate(self.items) if number in begun and item.alive and not item.own)
        return list(dict.fromkeys(item.step for item in waits if any(edge.step < 0 and not edge.completes for edge in item.edges)))


@dataclass(frozen=True)
class _Loop:
    """A place in a pattern: repetition `turn` of the part number `at` of `parts`; `outer` is that of the group around it."""

    parts: tuple[Part, ...]
    at: int
    turn: int
    outer: _Loop | None

    @property
    def part(self) -> Part:
        return self.parts[self.at]

    def again(self) -> _Loop | None:
        """The next repetition. Those of a loop without an end are all the same from some on."""
        if self.part.most is not None:
            return _Loop(self.parts, self.at, self.turn + 1, self.outer) if self.turn < self.part.most else None
        return _Loop(self.parts, self.at, min(self.turn, self.part.least) + 1, self.outer)


@dataclass(frozen=True)
class _Bar:
    """What the greedy part before could take: its condition, and its until."""

    part: Part


@dataclass
class _Next:
    """The items that a match goes on with, and whether it is complete."""

    items: set[int] = field(default_factory=set)
    complete: bool = False

    def __ior__(self, other: _Next) -> _Next:
        self.items |= other.items
        self.complete |= other.complete
        return self


def automaton(pattern: Pattern) -> Automaton:
    """The automaton of a pattern."""
    return _Builder(pattern).build()


class _Builder:
    def __init__(self, pattern: Pattern) -> None:
        self.pattern, self.result = pattern, Automaton()
        self.steps = {step.name: number for number, step in enumerate(step for step in pattern.steps() if not step.absent)}
        self.numbers: dict[Any, int] = {}
        self.unfinished: list[Callable[[], None]] = []

    def build(self) -> Automaton:
        self.result.start = sorted(self._enter(self.pattern.parts, 0, None, None, None, ()).items)
        while self.unfinished:
            self.unfinished.pop()()
        return self.result

    def _enter(
        self, parts: tuple[Part, ...], at: int, link: Link | None, bar: _Bar | None, outer: _Loop | None, fresh: tuple[Part, ...],
        absent: tuple[Part, ...] = (),
    ) -> _Next:  # fmt: skip
        """What is next where the part number `at` is to begin, by this link (that of its group) if not by its own. Loops that
        have not begun are `fresh`; what must not come before what is next is `absent`."""
        while at < len(parts) and parts[at].absent:
            absent = (*absent, parts[at])
            at += 1
        result = _Next({self._watch(part) for part in absent})
        if at == len(parts):
            result |= self._leave(outer) if outer is not None else self._end(absent)
            return result
        part = parts[at]
        result |= self._begin(_Loop(parts, at, 1, outer), link or part.link, bar, fresh)
        if part.optional:
            result |= self._enter(parts, at + 1, link, _Bar(part) if part.greedy else bar, outer, fresh, absent)
        return result

    def _begin(self, loop: _Loop, link: Link, bar: _Bar | None, fresh: tuple[Part, ...]) -> _Next:
        """What is next where a repetition of a part is to begin."""
        part = loop.part
        if loop.turn == 1 and part.until is not None:
            fresh = (*fresh, part)
        if part.group is not None:
            return self._enter(part.group.parts, 0, link, bar, loop, fresh)
        return _Next({self._wait(loop, link, bar, fresh)})

    def _leave(self, loop: _Loop) -> _Next:
        """What is next when a repetition of a part is whole."""
        result, again = _Next(), loop.again()
        if again is not None:
            result |= self._begin(again, loop.part.between, None, ())
        if loop.turn >= loop.part.least:
            result |= self._enter(loop.parts, loop.at + 1, None, _Bar(loop.part) if loop.part.greedy else None, loop.outer, ())
        return result

    def _end(self, absent: tuple[Part, ...]) -> _Next:
        """What is next at the end of the pattern, where these parts must not come."""
        if not absent:
            return _Next({self._done()}, complete=True)
        if all(part.link == "next" for part in absent):  # the next record completes the match
            none = tuple(-self._condition(part) for part in absent)
            return _Next({self._item(("last", *none), lambda _: [Edge(-1, none, (), completes=True)], step=absent[-1].name)})
        self._done()  # for a match that is complete when this is over, and goes on with something else
        return _Next({self._item("pending", _stays, pending=True, own=absent[-1].own or 0, step=absent[-1].name)})

    def _done(self) -> int:
        self.result.done = self._item("done", _stays, alive=False)
        return self.result.done

    def _watch(self, part: Part) -> int:
        kills = self._condition(part) - 1
        return self._item(("watch", part.name), _stays if part.link != "next" else lambda _: [], kills=kills, alive=False)

    def _wait(self, loop: _Loop, link: Link, bar: _Bar | None, fresh: tuple[Part, ...]) -> int:
        part = loop.part

        def edges(own: int) -> list[Edge]:
            return [*self._takes(loop, bar), *self._skips(own, loop, link, bar, fresh)]

        return self._item((loop, link, bar, fresh), edges, own=part.own or 0, step=part.name)

    def _takes(self, loop: _Loop, bar: _Bar | None) -> Iterable[Edge]:
        following = self._leave(loop)
        when = (*self._holds(loop.part), *(-self._number(ends, ends.until) for ends in _ending(loop)))
        for allowed in self._allowed(bar):
            yield Edge(self.steps[loop.part.name], (*when, *allowed), tuple(sorted(following.items)), following.complete)

    def _skips(self, own: int, loop: _Loop, link: Link, bar: _Bar | None, fresh: tuple[Part, ...]) -> Iterable[Edge]:
        """The edges by which the item stays: none, if the record cannot be taken, or always. The end of a loop that has begun ends it, too;
        before that, the record is only one that cannot be taken. When a greedy loop has ended, there is no bar any more."""
        if link == "next":
            return
        ends = [-self._number(loop_part, loop_part.until) for loop_part in _ending(loop) if loop_part not in fresh]
        reasons: list[Literals] = [()]
        if link == "followed_by":
            reasons = [(-literal,) for literal in self._holds(loop.part)]
            reasons += [(self._number(loop_part, loop_part.until),) for loop_part in _ending(loop) if loop_part in fresh]
        for reason in reasons:
            if bar is None:
                yield Edge(-1, (*reason, *ends), (own,))
                continue
            over = () if bar.part.until is None else (self._number(bar.part, bar.part.until),)
            for barred in self._holds(bar.part):
                yield Edge(-1, (*reason, *ends, -barred, *(-literal for literal in over)), (own,))
            if over:
                yield Edge(-1, (*reason, *ends, *over), (self._wait(loop, link, None, fresh),))

    def _allowed(self, bar: _Bar | None) -> list[Literals]:
        """When a record is not barred: it does not meet the condition of the greedy part, or it ends it."""
        if bar is None:
            return [()]
        until = [] if bar.part.until is None else [(self._number(bar.part, bar.part.until),)]
        return [*((-literal,) for literal in self._holds(bar.part)), *until]

    def _holds(self, part: Part) -> Literals:
        """The literal of a part's condition; none if every record meets it."""
        return () if part.condition is None or part.condition is True else (self._condition(part),)

    def _condition(self, part: Part) -> int:
        return self._number(part, True if part.condition is None else part.condition)

    def _number(self, part: Part, condition: Condition | None) -> int:
        key = ("condition", part.name, id(condition))
        if key not in self.numbers:
            assert condition is not None
            self.result.conditions.append((condition, part))
            self.numbers[key] = len(self.result.conditions)
        return self.numbers[key]

    def _item(self, key: Any, edges: Callable[[int], Iterable[Edge]], **more: Any) -> int:
        """The number of an item; its edges are made when all that lead to it have been."""
        if key not in self.numbers:
            number = self.numbers[key] = len(self.result.items)
            item = Item(**more)
            self.result.items.append(item)
            self.unfinished.append(lambda: item.edges.extend(edges(number)))
        return self.numbers[key]


def _stays(own: int) -> list[Edge]:
    return [Edge(-1, (), (own,))]


def _ending(loop: _Loop) -> list[Part]:
    """The parts around a place, and at it, whose repetitions something ends."""
    inner = [] if loop.outer is None else _ending(loop.outer)
    return [*inner, *([loop.part] if loop.part.until is not None else [])]
