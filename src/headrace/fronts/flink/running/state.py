"""Keyed state as a program sees it, and where it is: in the scan's state row, and in its map of entries.

A `ValueState`, `ReducingState` or `AggregatingState` is a value in the row, which each record reads and writes whole. The elements of a
`ListState` and the entries of a `MapState` are entries of the map: a record costs those that it touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import codec
from headrace.fronts.flink.types import TypeInformation


@dataclass(frozen=True)
class StateDescriptor:
    """A state by its name. The types document it: the state holds Python objects."""

    name: str
    type_info: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DefinitionError(
                f"{type(self).__name__}: {arguments.shown(self.name)} is no name", fix="give text first, then the type", where=user_line()
            )

    def enable_time_to_live(self, *_: Any) -> None:
        """Refused: state does not expire by itself."""
        raise DefinitionError(
            "enable_time_to_live: state here does not expire by itself",
            fix="set a timer, and clear the state in on_timer", where=user_line(),
        )  # fmt: skip


@dataclass(frozen=True)
class ValueStateDescriptor(StateDescriptor):
    """One value."""


@dataclass(frozen=True)
class ListStateDescriptor(StateDescriptor):
    """A list."""


@dataclass(frozen=True)
class MapStateDescriptor(StateDescriptor):
    """A map: `MapStateDescriptor("rules", Types.STRING(), Types.INT())`."""

    value_type_info: TypeInformation | None = None


@dataclass(frozen=True)
class ReducingStateDescriptor(StateDescriptor):
    """One value of all that were added: `ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())`."""

    value_type_info: TypeInformation | None = None

    @property
    def reduce(self) -> Any:
        return getattr(self.type_info, "reduce", self.type_info)


@dataclass(frozen=True)
class AggregatingStateDescriptor(StateDescriptor):
    """The same by an AggregateFunction."""

    state_type_info: TypeInformation | None = None

    @property
    def function(self) -> Any:
        return self.type_info


class Backend:
    """The state of the key at hand. `values` are in the scan's row, `entries` is the map; `space` keeps those of windows, and of the keys
    of a broadcast task, apart."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.timers: list[tuple[int, Any]] = []
        self.entries: Any = None
        self.space: Any = None

    def load(self, row: bytes | None, entries: Any) -> None:
        self.values, self.timers = ({}, []) if row is None else codec.loads(row)
        self.entries, self.space = entries, None

    def dump(self) -> bytes | None:
        """The row; None if there is nothing to remember of the key."""
        return codec.dumps((self.values, self.timers)) if self.values or self.timers else None

    def at(self, space: Any) -> Backend:
        """The same state in another space."""
        return _View(self, space)

    def get(self, name: str) -> Any:
        return self.values.get((self.space, name))

    def put(self, name: str, value: Any) -> None:
        self.values[self.space, name] = value

    def remove(self, name: str) -> None:
        self.values.pop((self.space, name), None)

    def prefix(self, name: str) -> bytes:
        """What the keys of this state's entries begin with. No prefix begins with another one."""
        head = codec.dumps((self.space, name))
        return len(head).to_bytes(4, "big") + head


class _View(Backend):
    """A backend in one space, whatever key its owner is at."""

    def __init__(self, owner: Backend, space: Any) -> None:
        self._owner, self.space = owner, space

    @property
    def values(self) -> dict[Any, Any]:  # type: ignore[override]
        return self._owner.values

    @property
    def entries(self) -> Any:
        return self._owner.entries


class State:
    """A state of the key at hand."""

    def __init__(self, backend: Backend, name: str) -> None:
        self._backend, self._name = backend, name

    def clear(self) -> None:
        """Forget it."""
        self._backend.remove(self._name)


class ValueState(State):
    """One value."""

    def value(self) -> Any:
        """The value; None if there is none."""
        return self._backend.get(self._name)

    def update(self, value: Any) -> None:
        """Set it; None forgets it."""
        self.clear() if value is None else self._backend.put(self._name, value)


class ReducingState(State):
    """One value of all that were added."""

    def __init__(self, backend: Backend, name: str, reduce: Any) -> None:
        super().__init__(backend, name)
        self._reduce = reduce

    def get(self) -> Any:
        """The value; None of nothing."""
        return self._backend.get(self._name)

    def add(self, value: Any) -> None:
        """One more."""
        known = self.get()
        self._backend.put(self._name, value if known is None else self._reduce(known, value))


class AggregatingState(State):
    """One value of all that were added, by an accumulator."""

    def __init__(self, backend: Backend, name: str, function: Any) -> None:
        super().__init__(backend, name)
        self._function = function

    def get(self) -> Any:
        """The result; None of nothing."""
        held = self._backend.get(self._name)
        return None if held is None else self._function.get_result(held[0])

    def add(self, value: Any) -> None:
        """One more."""
        held = self._backend.get(self._name)
        accumulator = self._function.create_accumulator() if held is None else held[0]
        self._backend.put(self._name, [self._function.add(value, accumulator)])


class _Entries(State):
    def _all(self) -> list[tuple[bytes, bytes]]:
        if self._backend.get(self._name) is None:
            return []
        start = self._backend.prefix(self._name)
        entries = self._backend.entries.between(start, start + b"\xff")
        return [(key[len(start) :], value) for key, value in entries]

    def _put(self, key: bytes, value: Any) -> None:
        self._backend.entries.put(self._backend.prefix(self._name) + key, codec.dumps(value))

    def _delete(self, key: bytes) -> None:
        self._backend.entries.delete(self._backend.prefix(self._name) + key)

    def clear(self) -> None:
        """Forget it."""
        for key, _ in self._all():
            self._delete(key)
        super().clear()


class ListState(_Entries):
    """A list, in the order in which elements were added."""

    def get(self) -> Iterator[Any]:
        """The elements."""
        return iter([codec.loads(value) for _, value in self._all()])

    def __iter__(self) -> Iterator[Any]:
        return self.get()

    def add(self, value: Any) -> None:
        """One more at the end. It costs the same however long the list is."""
        number = self._backend.get(self._name) or 0
        self._put(number.to_bytes(8, "big"), value)
        self._backend.put(self._name, number + 1)

    def add_all(self, values: Iterable[Any]) -> None:
        """Several more."""
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        """These and no others."""
        elements = list(values)
        self.clear()
        self.add_all(elements)


class MapState(_Entries):
    """A map. An entry that is read or written costs that entry."""

    def get(self, key: Any) -> Any:
        """The value of a key; None if it has none."""
        if self._backend.get(self._name) is None:
            return None
        value = self._backend.entries.get(self._backend.prefix(self._name) + codec.key_bytes(key))
        return None if value is None else codec.loads(value)[1]

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self._put(codec.key_bytes(key), (key, value))
        self._backend.put(self._name, True)

    def put_all(self, values: dict[Any, Any]) -> None:
        """Set several."""
        for key, value in values.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Forget a key."""
        self._delete(codec.key_bytes(key))

    def contains(self, key: Any) -> bool:
        """Whether it has a value."""
        return self.get(key) is not None

    def items(self) -> list[tuple[Any, Any]]:
        """Keys and values, in the order of the keys' bytes."""
        return [codec.loads(value) for _, value in self._all()]

    def keys(self) -> list[Any]:
        """The keys."""
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        """The values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether there is none."""
        return not self._all()

    __getitem__, __setitem__, __delitem__, __contains__ = get, put, remove, contains

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())


class ReadOnlyMapState:
    """A broadcast state as a record sees it."""

    def __init__(self, state: MapState) -> None:
        self.get, self.contains, self.items, self.keys, self.values = state.get, state.contains, state.items, state.keys, state.values
        self.is_empty = state.is_empty

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def put(self, *_: Any) -> None:
        """Refused: a record may not write it."""
        raise TypeError("a broadcast state is written in process_broadcast_element only: a record has no right to")

    remove = put_all = clear = __setitem__ = put


class StateStore:
    """Makes the states of a function by their descriptors: in `open`, those of a key, which are the ones of the record at hand whenever
    they are used."""

    def __init__(self, backend: Backend | None) -> None:
        self._of_key = backend

    @property
    def _backend(self) -> Backend:
        if self._of_key is None:
            raise TypeError("state belongs to a key, and this stream has none: call key_by before")
        return self._of_key

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        """One value."""
        return ValueState(self._backend, state_descriptor.name)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        """A list."""
        return ListState(self._backend, state_descriptor.name)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        """A map."""
        return MapState(self._backend, state_descriptor.name)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        """One value of all that were added."""
        return ReducingState(self._backend, state_descriptor.name, state_descriptor.reduce)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        """The same by an AggregateFunction."""
        return AggregatingState(self._backend, state_descriptor.name, state_descriptor.function)


class RuntimeContext(StateStore):
    """What a function is handed in `open`."""

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """The default: a job has no parameters here."""
        return default_value
