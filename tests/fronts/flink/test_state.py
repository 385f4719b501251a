"""Objects as bytes, keys, state by name, and the functions that use them: without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.fronts.flink.driver import Entries

from headrace.flink import KeyedProcessFunction, ListStateDescriptor, OutputTag, Row, Types, ValueStateDescriptor
from headrace.fronts.flink import codec
from headrace.fronts.flink.printing import written
from headrace.fronts.flink.running.chain import Link, chain, same
from headrace.fronts.flink.running.process import ENTRIES, OnAlarm, OnRecord, Spec
from headrace.fronts.flink.running.state import Backend, StateStore
from headrace.fronts.flink.times import to_millis, to_time


@pytest.mark.parametrize("value", [None, 3, "a", ("a", 1.5, None), {"k": [1]}, Row(1, "a"), Row(n=1), [Row(n=Row(2))], {1, 2}])
def test_any_object_comes_back_as_it_was(value: Any) -> None:
    again = codec.loads(codec.dumps(value))
    assert again == value
    assert getattr(again, "names", None) == getattr(value, "names", None)


def test_equal_keys_are_equal_bytes_and_what_cannot_promise_that_is_refused() -> None:
    one, other = ("ab", "ab"), ("".join(["a", "b"]), "ab")  # pickled, the same text twice would be written once
    assert codec.key_bytes(one) == codec.key_bytes(other)
    with pytest.raises(TypeError, match="cannot be a key"):
        codec.key_bytes(["a"])


def test_states_of_one_name_in_two_spaces_do_not_meet() -> None:
    backend = Backend()
    backend.load(None, Entries())
    one, other = (StateStore(backend.at(space)).get_list_state(ListStateDescriptor("list")) for space in ("a", ("a", 1)))
    one.add_all([1, 2])
    other.add(3)
    assert (list(one), list(other)) == ([1, 2], [3])
    one.update([5])
    other.clear()
    assert (list(one), list(other)) == ([5], [])
    one.clear()
    assert backend.dump() is None


@pytest.mark.parametrize(
    ("kind", "value", "wrong"),
    [
        (Types.STRING(), "a", 1),
        (Types.TUPLE([Types.STRING(), Types.INT()]), ("a", 1), ("a",)),
        (Types.ROW_NAMED(["who", "n"], [Types.STRING(), Types.LIST(Types.INT())]), Row(who="a", n=[1]), Row(who="a", n=1)),
        (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1.0}, [1.0]),
        (Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), ({1, 2},), "a"),
    ],
    ids=str,
)
def test_a_value_of_a_type_comes_back_and_another_is_refused(kind: Any, value: Any, wrong: Any) -> None:
    assert kind.reading()(kind.writing()(value)) == value
    assert kind.reading()(kind.writing()(None)) is None
    with pytest.raises(TypeError, match="which output_type or type_info declares"):
        kind.writing()(wrong)


def test_values_are_printed_as_flink_prints_them() -> None:
    kind = Types.ROW_NAMED(["who", "pair"], [Types.STRING(), Types.TUPLE([Types.BOOLEAN(), Types.LIST(Types.INT())])])
    assert written(kind, Row("ann", (True, [1, 2]))) == "+I[ann, (true,[1, 2])]"
    assert written(Types.PICKLED_BYTE_ARRAY(), {"a": None}) == "{'a': None}"


def test_functions_one_after_the_other_are_one_call() -> None:
    links = (
        Link("flat_map", str.split, None),
        Link("filter", lambda word: word != "b", None),
        Link("map", lambda word: (word, 1), None),
    )
    made = chain(same, links, Types.TUPLE([Types.STRING(), Types.INT()]).writing(), {"key": (lambda value, _: value[0], same)})
    rows = made({"value": "a b c", "time": None})
    assert rows == [{"value": {"f0": "a", "f1": 1}, "key": "a"}, {"value": {"f0": "c", "f1": 1}, "key": "c"}]


class Twice(KeyedProcessFunction):
    """Sets a timer for a time that has been, one in a timer, and one that it takes back."""

    def open(self, runtime_context: Any) -> None:
        self.n = runtime_context.get_state(ValueStateDescriptor("n"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.n.update((self.n.value() or 0) + 1)
        for timestamp in (value, value, value + 5):
            ctx.timer_service().register_event_time_timer(timestamp)
        ctx.timer_service().delete_event_time_timer(value + 5)
        if value == 0:
            yield OutputTag("zero"), value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if timestamp == 10:
            ctx.timer_service().register_event_time_timer(11)
            ctx.timer_service().register_event_time_timer(30)
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name, self.n.value()
        if timestamp == 30:
            self.n.clear()


def test_timers_of_a_key_are_many_ring_once_each_and_in_order() -> None:
    spec = Spec(Twice(), "event", ("process_element",), (same,), same, same)
    on_record, on_alarm, entries = OnRecord(spec), OnAlarm(spec), Entries()
    start = {"wake": None, "now": None, "row": None}

    def record(state: Any, value: int) -> Any:
        return on_record({**state, ENTRIES: entries}, {"value": value, "time": to_time(value), "key": "k"})

    state, rows = record(start, 10)
    assert to_millis(state["wake"]) == 10
    state, rows = on_alarm({**state, ENTRIES: entries}, {"key": "k"}, {"time": to_time(10)})
    assert [row["value"] for row in rows["main"]] == [("k", 10, "EVENT_TIME", 1)]
    assert to_millis(state["wake"]) == 11
    state, rows = on_alarm({**state, ENTRIES: entries}, {"key": "k"}, {"time": to_time(20)})
    assert [row["value"][1] for row in rows["main"]] == [11]
    state, rows = record(state, 0)  # late: its timer is due at once
    assert [row["value"] for row in rows["main"]] == [("k", 0, "EVENT_TIME", 2)]
    assert [(row["tag"], codec.loads(row["value"])) for row in rows["side"]] == [("zero", 0)]
    state, rows = on_alarm({**state, ENTRIES: entries}, {"key": "k"}, {"time": to_time(30)})
    assert state is None  # nothing is left of the key
