"""The mixed policies of Flink 0.8: `window(Count.of(100)).every(Time.minutes(1))`, by its rules.

For each record: triggers are asked; if one says yes, the function is called with what is kept, *without* this record; then evictions, of
which the strictest controls; then the record is added. Without `every`, what is kept is also when it is put out: a yes empties the window.
At the end of a bounded stream what is kept is put out once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import functions
from headrace.fronts.flink.running.state import ListStateDescriptor, ValueStateDescriptor
from headrace.fronts.flink.times import Time
from headrace.fronts.flink.windows.triggers import count

_END = 253_402_214_400_000
"""The last day of year 9999: a timer of that time rings at the end of the input."""


class Policy:
    """A trigger, as `every` has it, and an eviction, as `window` has it."""

    def fires(self, memory: Any, record: Any, time: int | None) -> tuple[bool, Any]:
        """Whether the function is called because of this record, and what is remembered."""
        raise NotImplementedError

    def missed(self, memory: Any, time: int | None) -> tuple[list[int], Any]:
        """The moments before this record at which the function should have been called, and what is remembered."""
        return [], memory

    def drops(self, kept: list[tuple[Any, int | None]], record: Any, time: int | None, memory: Any) -> tuple[int, Any]:
        """How many leave at the front for this record, and what is remembered."""
        raise NotImplementedError


@dataclass(frozen=True)
class Count(Policy):
    """A number of records. `start` is what counting begins with; as an eviction, `delete` leave when there are `n`."""

    n: int
    start: int = 0
    delete: int = 1

    @staticmethod
    def of(n: int, start: int = 0, delete: int = 1) -> Count:
        """So many records."""
        return Count(count("Count.of", n), start, count("Count.of", delete))

    def fires(self, memory: Any, record: Any, time: int | None) -> tuple[bool, Any]:
        counted = self.start if memory is None else memory
        return (True, 1) if counted >= self.n else (False, counted + 1)

    def drops(self, kept: list[tuple[Any, int | None]], record: Any, time: int | None, memory: Any) -> tuple[int, Any]:
        counted = self.start if memory is None else memory
        if counted < self.n:
            return 0, counted + 1
        return self.delete, counted - min(self.delete, counted) + 1


@dataclass(frozen=True)
class Duration(Policy):
    """A time: as a trigger its borders, from `start` on (default: the first record), of which those that were missed fire once each; as an
    eviction what is so old."""

    length: int
    start: int | None = None

    def fires(self, memory: Any, record: Any, time: int | None) -> tuple[bool, Any]:
        return (True, memory + self.length) if time is not None and time >= memory else (False, memory)

    def missed(self, memory: Any, time: int | None) -> tuple[list[int], Any]:
        assert time is not None
        border = memory if memory is not None else (time if self.start is None else self.start) + self.length
        late = range(border, time, self.length)
        return [each - 1 for each in late], border + len(late) * self.length

    def drops(self, kept: list[tuple[Any, int | None]], record: Any, time: int | None, memory: Any) -> tuple[int, Any]:
        assert time is not None
        return next((i for i, (_, at) in enumerate(kept) if at is None or at > time - self.length), len(kept)), None


@dataclass(frozen=True)
class Delta(Policy):
    """How far a value has moved: `Delta.of(function, threshold, first)`; `function(old, new)`."""

    delta: Callable[[Any, Any], float]
    threshold: float
    first: Any

    @staticmethod
    def of(delta_function: Callable[[Any, Any], float], threshold: float, init: Any) -> Delta:
        """Further than the threshold from the mark, which begins as `init`."""
        return Delta(arguments.function("Delta.of", delta_function, "old", "new"), threshold, init)

    def fires(self, memory: Any, record: Any, time: int | None) -> tuple[bool, Any]:
        mark = self.first if memory is None else memory[0]
        return (True, [record]) if self.delta(mark, record) > self.threshold else (False, [mark])

    def drops(self, kept: list[tuple[Any, int | None]], record: Any, time: int | None, memory: Any) -> tuple[int, Any]:
        return next((i for i, (each, _) in enumerate(kept) if self.delta(each, record) < self.threshold), len(kept)), None


@dataclass(frozen=True)
class Punctuation(Policy):
    """A mark in the stream: `Punctuation.of(mark, extract)`."""

    mark: Any
    extract: Callable[[Any], Any]

    @staticmethod
    def of(mark: Any, extract: Callable[[Any], Any]) -> Punctuation:
        """A record of which this is extracted."""
        return Punctuation(mark, arguments.function("Punctuation.of", extract, "value"))

    def fires(self, memory: Any, record: Any, time: int | None) -> tuple[bool, Any]:
        return bool(self.extract(record) == self.mark), None

    def drops(self, kept: list[tuple[Any, int | None]], record: Any, time: int | None, memory: Any) -> tuple[int, Any]:
        return (len(kept) if self.extract(record) == self.mark else 0), None


@dataclass(frozen=True)
class Policies:
    """What is kept, and when it is put out; None: what is kept says that, too."""

    kept: tuple[Policy, ...]
    often: tuple[Policy, ...] | None = None

    @property
    def needs_time(self) -> bool:
        return any(isinstance(each, Duration) for each in (*self.kept, *(self.often or ())))


class Buffer:
    """The records of a key, and what the policies remember."""

    def __init__(self, policies: Policies, kept: list[tuple[Any, int | None]], memory: list[Any] | None) -> None:
        self.triggers = policies.kept if policies.often is None else policies.often
        self.evictions = None if policies.often is None else policies.kept
        self.kept = kept
        self.memory = memory or [None] * (len(self.triggers) + len(self.evictions or ()))

    def take(self, record: Any, time: int | None) -> list[list[Any]]:
        """The lists that the function is called with because of this record."""
        panes: list[list[Any]] = []
        fired = False
        for place, trigger in enumerate(self.triggers):
            missed, self.memory[place] = trigger.missed(self.memory[place], time)
            for moment in missed:
                self.kept = self.kept[self.old(moment) :]
                panes.append([value for value, _ in self.kept])
                self.kept = [] if self.evictions is None else self.kept
        for place, trigger in enumerate(self.triggers):
            yes, self.memory[place] = trigger.fires(self.memory[place], record, time)
            fired = fired or yes
        if fired:
            panes.append([value for value, _ in self.kept])
        if self.evictions is not None:
            self.evict(record, time)
        elif fired:
            self.kept = []
        self.kept.append((record, time))
        return [pane for pane in panes if pane]

    def old(self, moment: int) -> int:
        """How many are too old at a moment."""
        durations = [each for each in self.evictions or () if isinstance(each, Duration)]
        return max((each.drops(self.kept, None, moment, None)[0] for each in durations), default=0)

    def evict(self, record: Any, time: int | None) -> None:
        """The greatest number that one of them drops."""
        assert self.evictions is not None
        most = 0
        for place, eviction in enumerate(self.evictions, start=len(self.triggers)):
            dropped, self.memory[place] = eviction.drops(self.kept, record, time, self.memory[place])
            most = max(most, dropped)
        self.kept = self.kept[most:]


class Every(functions.KeyedProcessFunction):
    """The policies as a process function."""

    def __init__(self, policies: Policies, call: Callable[[Any, list[Any]], Any], *, timed: bool) -> None:
        self.policies, self.call, self.timed = policies, call, timed
        self.kept: Any = None
        self.memory: Any = None

    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept"))
        self.memory = runtime_context.get_state(ValueStateDescriptor("memory"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        before = list(self.kept.get())
        buffer = Buffer(self.policies, list(before), self.memory.value())
        panes = buffer.take(value, ctx.timestamp())
        self.memory.update(buffer.memory)
        if buffer.kept[:-1] != before:
            self.kept.update(buffer.kept[:-1])
        self.kept.add((value, ctx.timestamp()))
        if self.timed:
            ctx.timer_service().register_event_time_timer(_END)
        for pane in panes:
            yield from self.call(ctx.get_current_key(), pane)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        if values := [value for value, _ in self.kept.get()]:
            yield from self.call(ctx.get_current_key(), values)
        self.kept.clear()
        self.memory.clear()


class _Reading:
    """Reads what a program gives as policies."""

    def __call__(self, at: str, argument: Any) -> Policies:
        return Policies(tuple(self._policy(at, each) for each in (argument if isinstance(argument, list | tuple) else [argument])))

    def are(self, argument: Any) -> bool:
        """Whether it is a policy, or several."""
        many = argument if isinstance(argument, list) else [argument]
        return bool(many) and all(isinstance(each, Policy | Time) for each in many)

    def _policy(self, at: str, argument: Any) -> Policy:
        if isinstance(argument, Time):
            return Duration(argument.millis)
        if not isinstance(argument, Policy):
            raise DefinitionError(
                f"{at}: {arguments.shown(argument)} is no policy",
                fix="give Count.of(5), Time.seconds(5), Delta.of(…) or Punctuation.of(…)",
                where=user_line(),
            )  # fmt: skip
        return argument


policies = _Reading()
