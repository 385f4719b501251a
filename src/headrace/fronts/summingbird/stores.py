"""Semigroups, batches of time, and stores, which hold two halves: what a batch run has summed, and what the stream has since.

| half | from | to |
|---|---|---|
| batch | key | its total over all batches of time before `done` |
| online | (key, batch of time) | its total within that batch |
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headrace.definitions import durations
from headrace.errors import DefinitionError, JobError, user_line


@dataclass(frozen=True)
class Semigroup:
    """How two values are added: `plus(a, b)`, which must be associative, `a + (b + c) = (a + b) + c`: only then is the sum of two halves
    the sum of the whole. Values are what JSON knows; they are added in the order of arrival."""

    plus: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.plus):
            raise DefinitionError(
                f"a semigroup adds with {self.plus!r}",
                fix="give a function of two values: Semigroup(lambda a, b: a + b)",
                where=user_line(),
            )


def _add(one: Any, other: Any) -> Any:
    return one + other


def _merge(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _add(one[key], other[key]) if key in one and key in other else {**one, **other}[key] for key in {**one, **other}}


SUM = Semigroup(_add)
"""Numbers added, texts and lists joined."""
MAX = Semigroup(max)
"""The larger."""
MIN = Semigroup(min)
"""The smaller."""
MERGE = Semigroup(_merge)
"""Dicts, whose values are added where both have the key."""


@dataclass(frozen=True)
class Batcher:
    """Cuts time into batches of equal length since 1970, numbered from 0.

    >>> Batcher("1 hour").batch_of(datetime(1970, 1, 1, 5, 59, tzinfo=UTC))
    5
    """

    length: str

    def __post_init__(self) -> None:
        durations.micros(self.length, "Batcher")

    def batch_of(self, time: datetime) -> int:
        """The batch that a time is in; its start belongs to it. A time without a zone is in UTC."""
        known = time if time.tzinfo else time.replace(tzinfo=UTC)
        return int((known - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000) // durations.micros(self.length)


class HoleError(JobError):
    """Between what the batch run has summed and what the stream still has, batches of time are missing: a sum would be too small."""


class Store(ABC):
    """Totals by key. One of your own has these methods; keys and values are what JSON knows."""

    def __init__(self, semigroup: Semigroup, batcher: Batcher) -> None:
        for argument, kind, fix in ((semigroup, Semigroup, "SUM, or Semigroup(plus)"), (batcher, Batcher, 'Batcher("1 hour")')):
            if not isinstance(argument, kind):
                raise DefinitionError(f"a store: {argument!r} is no {kind.__name__}", fix=f"give {fix}", where=user_line())
        self.semigroup, self.batcher = semigroup, batcher

    @property
    @abstractmethod
    def done(self) -> int | None:
        """The batch of time up to which (exclusive) batch runs have summed; None before the first."""

    @abstractmethod
    def batch(self, key: Any) -> Any:
        """A key's total before `done`, or None."""

    @abstractmethod
    def add_batch(self, totals: Mapping[Any, Any], done: int) -> None:
        """Add the totals of the batches of time from `done` so far to the new one."""

    @property
    @abstractmethod
    def begin(self) -> int | None:
        """The first batch of time of which the online half has everything: as `online_from` says, else the first that came. None if it has
        nothing."""

    @abstractmethod
    def online_from(self, batch: int) -> None:
        """The stream brings everything from this batch of time on."""

    @abstractmethod
    def online(self, key: Any, batch: int) -> Any:
        """A key's total in a batch of time, or None."""

    @abstractmethod
    def put_online(self, rows: Iterable[tuple[Any, int, Any]]) -> None:
        """Set totals: (key, batch, value)."""


class MemoryStore(Store):
    """A store in this process: for tests, first steps and small tables. Its rows are collected in the driver.

    `keep` is how many batches of time the online half keeps, the newest included; older ones are dropped. (None: all.)
    """

    def __init__(self, semigroup: Semigroup, batcher: Batcher, *, keep: int | None = None) -> None:
        super().__init__(semigroup, batcher)
        self.keep = keep
        self._done: int | None = None
        self._batch: dict[str, Any] = {}
        self._online: dict[tuple[str, int], Any] = {}
        self._begin: int | None = None

    @property
    def done(self) -> int | None:
        return self._done

    def batch(self, key: Any) -> Any:
        return self._batch.get(text(key))

    def add_batch(self, totals: Mapping[Any, Any], done: int) -> None:
        for key, value in totals.items():
            before = self._batch.get(text(key))
            self._batch[text(key)] = value if before is None else self.semigroup.plus(before, value)
        self._done = done

    @property
    def begin(self) -> int | None:
        return self._begin

    def online_from(self, batch: int) -> None:
        self._begin = batch

    def online(self, key: Any, batch: int) -> Any:
        return self._online.get((text(key), batch))

    def put_online(self, rows: Iterable[tuple[Any, int, Any]]) -> None:
        for key, batch, value in rows:
            self._online[text(key), batch] = value
        batches = [batch for _, batch in self._online]
        if batches:
            self._begin = min(batches) if self._begin is None else self._begin
            if self.keep is not None and (oldest := max(batches) - self.keep + 1) > self._begin:
                self._begin = oldest
                self._online = {place: value for place, value in self._online.items() if place[1] >= oldest}

    @property
    def totals(self) -> dict[Any, Any]:
        """The batch half, by key."""
        return {json.loads(key): value for key, value in self._batch.items()}


class KafkaStore(MemoryStore):
    """A store whose online half is a compacted topic, which the stream writes in any mode, real time included; `refresh` reads it. What a
    record says replaces what an earlier one of its key and batch said."""

    def __init__(self, topic: str, semigroup: Semigroup, batcher: Batcher, *, keep: int | None = None, servers: str | None = None) -> None:
        super().__init__(semigroup, batcher, keep=keep)
        self.topic, self.servers = topic, servers

    def refresh(self) -> None:
        """Take over what the topic has now."""
        from headrace.fronts import topics

        rows = []
        for record in topics.read(self.topic, servers=self.servers):
            key, batch = json.loads(record.key or b"")
            rows.append((key, batch, json.loads(record.value or b"")))
        self.put_online(rows)


def text(value: Any) -> str:
    """A key or value as JSON: equal ones have equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
