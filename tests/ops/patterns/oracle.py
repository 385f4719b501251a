"""Patterns in plain Python, without an automaton: every way to unroll a pattern is tried on every start, record by record.

A pattern is unrolled into all its straight sequences of steps (`a b? c` into `a c` and `a b c`; a loop as often as there are records). A
sequence is laid over the records in every way that its links allow. What skips do is decided afterwards, over all that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from headrace.definitions import durations
from headrace.ops.patterns.pattern import Link, Part, Pattern

INFINITY = 10**18
Taken = tuple[tuple[int, str], ...]
"""Which records a match has taken, by number, each with the name of its step."""


@dataclass(frozen=True)
class Record:
    v: str
    t: int
    place: int = 0


Meaning = Callable[[Record, Mapping[str, Sequence[Record]]], bool]


@dataclass(frozen=True, eq=False)
class Place:
    """One step of a straight sequence: how it follows; what must not come before it, next or at all; which loops around it have begun, and
    which not; the greedy part before it."""

    part: Part
    link: Link
    not_next: tuple[Part, ...] = ()
    not_before: tuple[Part, ...] = ()
    begun: tuple[Part, ...] = ()
    fresh: tuple[Part, ...] = ()
    bar: Part | None = None


END = Place(Part("end"), "next")
CUT = Place(Part("cut"), "next")
"""What would be further behind than there are records."""
Moment = tuple[int, int, int]
"""Before a record (its number, 0, the time that is over), or at it (its number, 1, its time)."""


@dataclass(frozen=True)
class Found:
    """A match, or one that ran out of time: what it took, and when that was known."""

    taken: Taken
    at: Moment

    @property
    def order(self) -> list[tuple[float, int]]:
        return [*((number, 0) for number, _ in self.taken), (float("inf"), 0)]


@dataclass(frozen=True)
class Life:
    """A start, and the moment until which some match of it was on its way."""

    start: int
    until: Moment


class Oracle:
    """The matches of a pattern among records, by what its conditions mean in Python."""

    def __init__(self, pattern: Pattern, records: Sequence[Record], meanings: Mapping[str, Meaning]) -> None:
        self.pattern, self.records, self.meanings = pattern, list(records), meanings
        self.within = INFINITY if pattern.window is None else durations.micros(pattern.window) // 1_000_000
        self.order = {step.name: number for number, step in enumerate(pattern.steps())}
        self.matches: set[Found] = set()
        self.timed_out: set[Found] = set()
        self.lives: list[Life] = []
        sequences = list(self._unrolled(self.pattern.parts, (), len(records) + 1))
        for first in range(len(self.records)):
            self._from(first, sequences)

    # -- all straight sequences ------------------------------------------------------------------------------------------------------

    def _unrolled(self, parts: Sequence[Part], nots: tuple[Part, ...], left: int, bar: Part | None = None) -> Iterator[list[Place]]:
        """The sequences of these parts, with at most `left` steps. The first step of each has `nots` before it."""
        parts = list(parts)
        ahead: list[Part] = []
        while parts and parts[0].absent:
            ahead.append(parts.pop(0))
        nots = (*nots, *ahead)
        if not parts:
            yield [_watched(END, nots)]
            return
        if left <= 0:
            yield [CUT]
            return
        part, rest = parts[0], parts[1:]
        after = _leading(rest)
        last = part if part.greedy else None
        if part.optional:
            yield from self._unrolled(rest, nots, left, last or bar)
        turns: list[list[Place]] = [[]]
        for turn in count(1):
            if part.most is not None and turn > part.most:
                break
            more = []
            for done in turns:
                if left <= len(done):
                    yield [*done, CUT]
                    continue
                begins = nots if turn == 1 else after if turn - 1 >= part.least else ()
                for one in self._once(part, left - len(done)):
                    head = _watched(replace(one[0], link=part.link if turn == 1 else part.between), begins)
                    head = replace(head, bar=bar if turn == 1 else None)
                    tail = [replace(place, begun=(*place.begun, part)) for place in one[1:]]
                    head = replace(head, fresh=(*head.fresh, part)) if turn == 1 else replace(head, begun=(*head.begun, part))
                    if one[-1] is CUT:
                        yield [*done, head, *tail[:-1], CUT]
                    else:
                        more.append([*done, head, *tail])
            turns = more
            if not turns:
                break
            if turn >= part.least:
                for done in turns:
                    for following in self._unrolled(rest, (), left - len(done), last):
                        yield [*done, *following]

    def _once(self, part: Part, left: int) -> Iterator[list[Place]]:
        """One repetition of a part."""
        if part.group is None:
            yield [Place(part, part.link)]
        else:
            for inner in self._unrolled(part.group.parts, (), left):
                yield inner if inner[-1] is CUT else inner[:-1]

    # -- laid over the records -------------------------------------------------------------------------------------------------------

    def _from(self, first: int, sequences: list[list[Place]]) -> None:
        heads: dict[str, list[list[Place]]] = {}
        for sequence in sequences:
            if sequence[0].part.name != "end":
                heads.setdefault(sequence[0].part.name, []).append(sequence)
        for name, these in heads.items():
            if self._takes(these[0][0], first, ()):
                self._go_on(((first, name),), [sequence[1:] for sequence in these if self._takes(sequence[0], first, ())])

    def _go_on(self, taken: Taken, rests: list[list[Place]]) -> None:
        """All that may become of a match that has taken these, when one of the sequences is to follow."""
        last, start = taken[-1][0], self.records[taken[0][0]].t
        complete = False
        ends: list[tuple[Moment, str]] = []
        branches: dict[tuple[int, str], list[list[Place]]] = {}
        watched = [place for rest in rests for place in rest[:1]]
        not_next = {part for place in watched for part in place.not_next}
        not_before = {part for place in watched for part in place.not_before}
        for rest in rests:
            place = rest[0]
            if place.part.name == "end" and not place.not_next and not place.not_before:
                complete = True
                continue
            own = place.part.own if place.part.name != "end" else next((part.own for part in place.not_before if part.own), None)
            over = min(start + self.within, INFINITY if own is None else self.records[last].t + own // 1_000_000)
            ended = False
            free = False
            for number in range(last + 1, len(self.records)):
                record = self.records[number]
                if record.t >= over:
                    ends.append(((number, 0, over), "match" if place.part.name == "end" and place.not_before else "time"))
                    ended = True
                    break
                killers = [*not_before, *(not_next if number == last + 1 else ())]
                if any(self._meets(part, number, taken) for part in killers):
                    ends.append(((number, 1, record.t), "killed"))
                    ended = True
                    break
                if place.part.name == "end":
                    if not place.not_before:  # the next record is none of those that it must not be
                        self.matches.add(Found(taken, (number, 1, record.t)))
                        ends.append(((number, 1, record.t), "died"))
                        ended = True
                        break
                    continue
                free = free or (place.bar is not None and place.bar.until is not None and self._until(place.bar, number, taken))
                if place.bar is not None and not free and self._meets(place.bar, number, taken):
                    ends.append(((number, 1, record.t), "died"))
                    ended = True
                    break
                takes = self._takes(place, number, taken)
                if takes:
                    branches.setdefault((number, place.part.name), []).append(rest[1:])
                stopped = any(part.until is not None and self._until(part, number, taken) for part in place.begun)
                if stopped or place.link == "next" or (place.link == "followed_by" and takes):
                    ends.append(((number, 1, record.t), "died"))
                    ended = True
                    break
            if not ended:
                how = "lives" if over == INFINITY else "match" if place.part.name == "end" and place.not_before else "time"
                ends.append(((len(self.records), 0, over), how))
        for moment in {moment for moment, how in ends if how == "match"}:
            self.matches.add(Found(taken, moment))
        if ends:
            latest = max(moment for moment, _ in ends)
            self.lives.append(Life(taken[0][0], latest))
            hows = {how for moment, how in ends if moment == latest}
            if hows == {"time"} and not complete and not any(how == "match" for _, how in ends):
                self.timed_out.add(Found(taken, latest))
        if complete:
            self.matches.add(Found(taken, (last, 1, self.records[last].t)))
        for (number, name), following in branches.items():
            self._go_on((*taken, (number, name)), following)

    def _takes(self, place: Place, number: int, taken: Taken) -> bool:
        loops = (*place.begun, *place.fresh)
        ended = any(part.until is not None and self._until(part, number, taken) for part in loops)
        barred = not taken and place.bar is not None and self._meets(place.bar, number, ()) and not self._ends(place.bar, number)
        return not ended and not barred and self._meets(place.part, number, taken)

    def _ends(self, part: Part, number: int) -> bool:
        return part.until is not None and self._until(part, number, ())

    def _until(self, part: Part, number: int, taken: Taken) -> bool:
        return self._holds(part.until, number, taken)

    def _meets(self, part: Part, number: int, taken: Taken) -> bool:
        return self._holds(part.condition, number, taken)

    def _holds(self, condition: object, number: int, taken: Taken) -> bool:
        if condition is None or isinstance(condition, bool):
            return condition is not False
        before: dict[str, list[Record]] = {name: [] for name in self.order}
        for each, name in taken:
            before[name].append(self.records[each])
        return self.meanings[str(condition)](self.records[number], before)

    # -- after a match ---------------------------------------------------------------------------------------------------------------

    def kept(self, skip: str = "none") -> list[tuple[Taken, int]]:
        """The matches that a skip leaves, each with the time at which it goes out."""
        if skip == "none":
            return [(found.taken, found.at[2]) for found in sorted(self.matches, key=lambda found: (found.at, self._rank(found.taken)))]
        moments = sorted(each for each in {found.at for found in self.matches} | {life.until for life in self.lives} if each[2] < INFINITY)
        waiting: list[Taken] = []
        kept: list[tuple[Taken, int]] = []
        dropped: set[int] = set()
        for moment in moments:
            new = sorted((found.taken for found in self.matches if found.at == moment), key=self._rank)
            waiting = sorted([*waiting, *(taken for taken in new if taken[0][0] not in dropped)], key=lambda taken: taken[0][0])
            alive = {life.start for life in self.lives if life.start < moment[0] + moment[1] and life.until > moment}
            while waiting and not any(start < waiting[0][0][0] for start in alive - dropped):
                one = waiting.pop(0)
                kept.append((one, moment[2]))
                limit = self._limit(one, skip)
                gone = {start for start in range(moment[0] + moment[1]) if start < limit}
                dropped |= gone
                waiting = [taken for taken in waiting if taken[0][0] not in gone]
        return kept

    def _rank(self, taken: Taken) -> list[tuple[float, int]]:
        """Of one start: that which took a record before that which skipped it; of two steps the first in the pattern."""
        return [*((number, self.order[name]) for number, name in taken), (float("inf"), 0)]

    def _limit(self, taken: Taken, skip: str) -> int:
        if skip == "to next":
            return taken[0][0] + 1
        if skip == "past last":
            return taken[-1][0] + 1
        _, which, step = skip.split()
        numbers = [number for number, name in taken if name == step]
        return -1 if not numbers else numbers[0] if which == "first" else numbers[-1]


def _leading(parts: Sequence[Part]) -> tuple[Part, ...]:
    """What must not come, at the beginning of these parts."""
    found = []
    for part in parts:
        if not part.absent:
            break
        found.append(part)
    return tuple(found)


def _watched(place: Place, nots: tuple[Part, ...]) -> Place:
    return replace(
        place, not_next=(*place.not_next, *(part for part in nots if part.link == "next")),
        not_before=(*place.not_before, *(part for part in nots if part.link != "next")),
    )  # fmt: skip
