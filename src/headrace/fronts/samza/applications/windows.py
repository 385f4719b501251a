"""Windows, triggers and panes of the high-level API. All go by the clock, as Samza's do: in a batch, by the arrival of the messages.

| window | a pane closes |
|---|---|
| `tumblingWindow`, `keyedTumblingWindow` | at the next multiple of the duration since 1970 |
| `keyedSessionWindow` | when its key had no message for the gap |

An early trigger fires before that, once, or again and again inside `repeat`. A window without messages gives no pane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Any, NamedTuple

Function = Callable[..., Any]


class AccumulationMode(Enum):
    """What an early firing leaves in the window."""

    ACCUMULATING = "accumulating"
    DISCARDING = "discarding"


class FiringType(Enum):
    """Why a pane came: its window's end, or an early trigger."""

    EARLY = "early"
    DEFAULT = "default"


class WindowKey(NamedTuple):
    """The key of a pane, and which window of the key it is: its start in milliseconds, as text."""

    key: Any
    paneId: str

    def getKey(self) -> Any:
        """The key; None in a window without keys."""
        return self.key

    def getPaneId(self) -> str:
        """The start of the window."""
        return self.paneId


class WindowPane(NamedTuple):
    """What a window gives: the messages, or what they were folded into."""

    key: WindowKey
    message: Any
    firingType: FiringType

    def getKey(self) -> WindowKey:
        """Key and pane."""
        return self.key

    def getMessage(self) -> Any:
        """A list of messages, or the folded value."""
        return self.message

    def getFiringType(self) -> FiringType:
        """EARLY or DEFAULT."""
        return self.firingType


@dataclass(frozen=True)
class Trigger:
    """When a window fires early. Its state is a dict, which is pickled with the task's."""

    kind: str
    amount: int = 0
    parts: tuple[Trigger, ...] = ()

    def start(self) -> dict[str, Any]:
        """A trigger that has seen nothing."""
        return {"n": 0, "first": None, "last": None, "over": False, "parts": [part.start() for part in self.parts]}

    def saw(self, state: dict[str, Any], now: int) -> None:
        """A message came."""
        state["n"] += 1
        state["first"], state["last"] = state["first"] if state["first"] is not None else now, now
        for part, its in zip(self.parts, state["parts"], strict=True):
            part.saw(its, now)

    def due(self, state: dict[str, Any]) -> float | None:
        """From when on it fires; None: not as things are."""
        if state["over"]:
            return None
        if self.kind == "count":
            return float("-inf") if state["n"] >= self.amount else None
        if self.kind in ("first", "last"):
            return None if state[self.kind] is None else float(state[self.kind] + self.amount)
        return min((at for part, its in zip(self.parts, state["parts"], strict=True) if (at := part.due(its)) is not None), default=None)

    def fired(self, state: dict[str, Any]) -> None:
        """It has fired: it is over, or begins anew."""
        if self.kind == "repeat":
            state.update(self.start())
        else:
            state["over"] = True


class Triggers:
    """Early triggers of a window."""

    @staticmethod
    def count(n: int) -> Trigger:
        """After n messages."""
        return Trigger("count", n)

    @staticmethod
    def timeSinceFirstMessage(duration: timedelta | str) -> Trigger:
        """So long after the first message."""
        return Trigger("first", millis(duration))

    @staticmethod
    def timeSinceLastMessage(duration: timedelta | str) -> Trigger:
        """So long after the last message."""
        return Trigger("last", millis(duration))

    @staticmethod
    def any(*triggers: Trigger) -> Trigger:
        """When the first of these does."""
        return Trigger("any", 0, triggers)

    @staticmethod
    def repeat(trigger: Trigger) -> Trigger:
        """Again and again."""
        return Trigger("repeat", 0, (trigger,))


@dataclass(frozen=True)
class Window:
    """A window as `MessageStream.window` takes it."""

    length: int
    session: bool = False
    key: Function | None = None
    initial: Any = None
    fold: Function | None = None
    early: Trigger | None = None
    mode: AccumulationMode = AccumulationMode.ACCUMULATING

    def setEarlyTrigger(self, trigger: Trigger) -> Window:
        """Fire before the window's end, too."""
        return replace(self, early=trigger)

    def setAccumulationMode(self, mode: AccumulationMode) -> Window:
        """Whether an early firing clears the window."""
        return replace(self, mode=mode)

    # -- running it: `panes` is a dict of the open windows, by key ---------------------------------------------------------------------

    def take(self, panes: dict[Any, Any], message: Any, now: int) -> list[WindowPane]:
        """A message comes. What was due before it has been fired already."""
        key = None if self.key is None else self.key(message)
        pane = panes.get(key)
        if pane is None:
            start = now if self.session else now - now % self.length
            pane = panes[key] = {"start": start, "end": start + self.length, "early": self.early.start() if self.early else None}
            self._clear(pane)
        if self.session:
            pane["end"] = now + self.length
        if self.fold is None:
            pane["value"].append(message)
        else:
            pane["value"] = self.fold(message, pane["value"])
        pane["n"] += 1
        if self.early is not None:
            self.early.saw(pane["early"], now)
        return self._early(key, pane, now)

    def fire(self, panes: dict[Any, Any], now: int | None) -> list[WindowPane]:
        """The panes that are due by now, the earliest first; None: all that are open, at the end of the input."""
        fired: list[WindowPane] = []
        while panes:
            at, key = min(((self._next(pane), number, key) for number, (key, pane) in enumerate(panes.items())), key=lambda due: due[:2])[
                ::2
            ]
            if now is not None and at > now:
                break
            pane = panes[key]
            if at < pane["end"]:
                fired += self._early(key, pane, at)
            else:
                del panes[key]
                fired += [self._pane(key, pane, FiringType.DEFAULT)] if pane["n"] else []
        return fired

    def due(self, panes: dict[Any, Any]) -> int | None:
        """When something is to be fired next."""
        return min((int(self._next(pane)) for pane in panes.values()), default=None)

    def _next(self, pane: dict[str, Any]) -> float:
        early = None if self.early is None else self.early.due(pane["early"])
        return float(pane["end"] if early is None else min(pane["end"], early))

    def _early(self, key: Any, pane: dict[str, Any], now: float) -> list[WindowPane]:
        if self.early is None or (due := self.early.due(pane["early"])) is None or due > now:
            return []
        self.early.fired(pane["early"])
        fired = [self._pane(key, pane, FiringType.EARLY)] if pane["n"] else []
        if self.mode is AccumulationMode.DISCARDING:
            self._clear(pane)
        return fired

    def _clear(self, pane: dict[str, Any]) -> None:
        pane["n"], pane["value"] = 0, [] if self.fold is None else self.initial() if callable(self.initial) else self.initial

    def _pane(self, key: Any, pane: dict[str, Any], why: FiringType) -> WindowPane:
        value = pane["value"]
        return WindowPane(WindowKey(key, str(pane["start"])), list(value) if self.fold is None else value, why)


class Windows:
    """The windows that `MessageStream.window` takes. Durations are timedeltas, or text such as "10 seconds". With `initialValue` and
    `aggregator(message, value)` a window folds its messages; else it keeps them in a list. Serdes are taken for the sake of Samza's
    signatures; the state is pickled."""

    @staticmethod
    def tumblingWindow(duration: timedelta | str, initialValue: Any = None, aggregator: Function | None = None, *serdes: Any) -> Window:
        """One window after the other for all messages of a task."""
        return Window(millis(duration), initial=initialValue, fold=_aggregator(aggregator))

    @staticmethod
    def keyedTumblingWindow(
        keyFn: Function, duration: timedelta | str, initialValue: Any = None, aggregator: Function | None = None, *serdes: Any
    ) -> Window:
        """One window after the other for each key."""
        return Window(millis(duration), key=keyFn, initial=initialValue, fold=_aggregator(aggregator))

    @staticmethod
    def keyedSessionWindow(
        keyFn: Function, sessionGap: timedelta | str, initialValue: Any = None, aggregator: Function | None = None, *serdes: Any
    ) -> Window:
        """Messages of a key that follow one another within the gap."""
        return Window(millis(sessionGap), True, keyFn, initialValue, _aggregator(aggregator))


def _aggregator(function: Any) -> Function | None:
    from headrace.fronts.samza.config import refused

    if function is not None and not callable(function):
        raise refused(f"a window's aggregator is a {type(function).__name__}", "give a function of (message, value)")
    return function  # type: ignore[no-any-return]


def millis(duration: timedelta | str) -> int:
    """A duration in milliseconds; DefinitionError if it is none."""
    from headrace.definitions import durations

    if isinstance(duration, timedelta):
        return max(1, duration // timedelta(milliseconds=1))
    return durations.micros(duration, "samza") // 1000
