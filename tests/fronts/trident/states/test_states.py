"""The three kinds of map, step by step, over memory, SQLite, PostgreSQL and a store of ten lines: Storm's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fraud import postgres

from headrace.errors import JobError
from headrace.trident import (
    CachedMap,
    IBackingMap,
    LRUMemoryMapState,
    MapState,
    MemoryMapState,
    NonTransactionalMap,
    OpaqueMap,
    OpaqueValue,
    PostgresMapState,
    SnapshottableMap,
    SqliteMapState,
    StateFactory,
    TransactionalMap,
    TransactionalValue,
)


class Own(IBackingMap):
    """A store of one's own."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def multi_get(self, keys: list[Any]) -> list[Any]:
        return [self.values.get(key) for key in keys]

    def multi_put(self, keys: list[Any], values: list[Any]) -> None:
        self.values.update(zip(keys, values, strict=True))


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres.running() as server:
        yield server.create()


MAPS: dict[str, type[Any]] = {"opaque": OpaqueMap, "transactional": TransactionalMap, "nonTransactional": NonTransactionalMap}
Made = Callable[[str], MapState]
_tables = iter(range(1000))


@pytest.fixture(params=["own", "cached", "sqlite", "postgres"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Made]:
    """Makes a map of some kind over each store."""
    opened: list[Any] = []

    def factory(kind: str) -> MapState:
        if request.param in ("own", "cached"):
            store = Own() if request.param == "own" else CachedMap(Own(), 1)
            return MAPS[kind].build(store)  # type: ignore[no-any-return]
        place = tmp_path / "state.db" if request.param == "sqlite" else request.getfixturevalue("database")
        table: StateFactory = getattr(SqliteMapState if request.param == "sqlite" else PostgresMapState, kind)(place, f"t{next(_tables)}")
        opened.append(table.makeState({}, 0, 1))
        return opened[-1]  # type: ignore[no-any-return]

    yield factory
    for state in opened:
        state.close()


def plus(n: int) -> Callable[[int | None], int]:
    return lambda count: (count or 0) + n


# steps: (txid, [what is done with the key a -> what that gives])
STEPS = [
    ("opaque", [(1, [("get", None), (1, 1), (2, 3), ("get", 3)]), (1, [("get", None), (2, 2)]), (2, [("get", 2), (3, 5), (1, 6)])]),
    ("transactional", [(1, [(1, 1), (2, 3)]), (1, [("get", 3), (1, 3), (2, 3)]), (2, [(3, 6), (1, 7)])]),
    ("nonTransactional", [(1, [("get", None), (1, 1), (2, 3)]), (1, [("get", 3), (1, 4)]), (2, [(3, 7)])]),
]


@pytest.mark.parametrize(("kind", "steps"), STEPS)
def test_a_replay_changes_a_map_as_its_kind_says(made: Made, kind: str, steps: list[tuple[int, list[tuple[Any, Any]]]]) -> None:
    state = made(kind)
    for txid, asked in steps:
        state.beginCommit(txid)
        for what, expected in asked:
            got = state.multiGet([["a"]]) if what == "get" else state.multiUpdate([["a"]], [plus(what)])
            assert got == [expected], (txid, what)
        state.commit(txid)


@pytest.mark.parametrize(
    ("kind", "before", "txid", "change", "after"),
    [
        ("transactional", TransactionalValue(1, 3), 3, 2, TransactionalValue(3, 5)),
        ("transactional", TransactionalValue(3, 4), 3, 1, TransactionalValue(3, 4)),
        ("opaque", OpaqueValue(2, 4, 1), 3, 2, OpaqueValue(3, 6, 4)),
        ("opaque", OpaqueValue(2, 4, 1), 2, 2, OpaqueValue(2, 3, 1)),
        ("nonTransactional", 4, 3, 2, 6),
    ],
)
def test_the_examples_of_the_documentation_come_out(made: Made, kind: str, before: Any, txid: int, change: int, after: Any) -> None:
    state: Any = made(kind)
    state.backing.multiPut([("man",)], [before])
    state.beginCommit(txid)
    state.multiUpdate([["man"]], [plus(change)])
    state.commit(txid)
    assert state.backing.multiGet([("man",), ("dog",)]) == [after, None]


def test_an_opaque_value_gives_what_was_before_the_batch() -> None:
    value = OpaqueValue(8, "v1", "v0")
    assert [value.get(txid) for txid in (None, 100, 9, 8)] == ["v1", "v1", "v1", "v0"]
    assert [value.update(txid, "v2").prev for txid in (8, 9)] == ["v0", "v1"]
    for late in (lambda: value.get(7), lambda: value.update(7, "v2")):
        with pytest.raises(JobError) as error:
            late()
        assert "batch 7 is behind the state's batch" in error.value.what


def test_what_a_batch_removed_is_there_again_in_its_replay() -> None:
    state = MemoryMapState()
    a, b = ("a",), ("b",)
    for txid, does, expected in [
        (1, lambda: state.multiPut([a, b], [1, 2]), [1, 2]),
        (2, lambda: state.multiRemove([a]), [None, 2]),
        (2, lambda: state.multiRemove([a]), [None, 2]),
        (3, lambda: None, [None, 2]),
    ]:
        state.beginCommit(txid)
        if txid == 2:
            assert state.multiGet([a, b]) == [1, 2]
        does()
        assert state.multiGet([a, b]) == expected
        state.commit(txid)
    assert list(state.getTuples()) == [["b", 2]]


def test_a_store_that_can_rewind_takes_back_keys_that_the_replay_lacks(tmp_path: Path) -> None:
    for factory in (MemoryMapState.Factory(), SqliteMapState.opaque(tmp_path / "state.db")):
        state = factory.makeState({}, 0, 1)
        for txid, key, change in [(1, "dog", 4), (2, "dog", 2), (2, "cat", 5)]:
            state.beginCommit(txid)
            state.multiUpdate([[key]], [plus(change)])
            state.commit(txid)
        state.rewind(2)
        assert sorted(state.getTuples()) == [["dog", 4]]
        state.rewind(1)  # nothing is of that batch any more
        assert sorted(state.getTuples()) == [["dog", 4]]
        state.close()


def test_of_more_keys_than_its_size_a_map_keeps_those_used_last() -> None:
    state = LRUMemoryMapState.Factory(2).makeState({}, 0, 1)
    for txid, key in enumerate(["a", "b", "a", "c"], start=1):
        state.beginCommit(txid)
        state.multiUpdate([[key]], [plus(1)])
        state.commit(txid)
    assert state.multiGet([["a"], ["b"], ["c"]]) == [2, None, 1]


def test_a_value_without_a_key_is_kept_beside_the_others(made: Made) -> None:
    state = made("opaque")
    state.beginCommit(1)
    assert [state.update(plus(2)), state.get()] == [2, 2]
    state.set(7)
    state.commit(1)
    assert state.get() == 7
    assert SnapshottableMap(state, ["total"]).get() is None


def test_a_factory_makes_a_map_over_ones_own_store_for_each_partition() -> None:
    factory = TransactionalMap.factory(Own)
    one, other = (factory.makeState({}, partition, 2) for partition in range(2))
    one.multiPut([["a"]], [1])
    assert (factory.kind, factory.remote, one.multiGet([["a"]]), other.multiGet([["a"]])) == ("transactional", False, [1], [None])


def test_a_table_of_another_kind_is_refused(tmp_path: Path) -> None:
    SqliteMapState.transactional(tmp_path / "state.db", "counts").makeState({}, 0, 1).close()
    with pytest.raises(JobError) as error:
        SqliteMapState.opaque(tmp_path / "state.db", "counts").makeState({}, 0, 1)
    assert "no such column" in error.value.what
    assert "of the kind 'opaque'" in error.value.fix


def test_a_value_that_json_cannot_have_is_refused_in_words(tmp_path: Path) -> None:
    state = SqliteMapState.opaque(tmp_path / "state.db").makeState({}, 0, 1)
    with pytest.raises(JobError) as error:
        state.multiPut([["a"]], [{1, 2}])
    assert "cannot be kept in a database as JSON" in error.value.what
    state.close()


def test_a_password_is_not_in_the_message_of_a_database_that_does_not_answer() -> None:
    with pytest.raises(JobError) as error:
        PostgresMapState.opaque("postgresql://ann:hunter2@127.0.0.1:1/x").makeState({}, 0, 1)
    assert "hunter2" not in str(error.value)
