"""State by key: the worked numbers of the talk, of the lecture and of Spark's own suites."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.dstreams import DStream, ManualClock, State, StateError, StateSpec, StreamingContext
from headrace.errors import DefinitionError


def ones(batches: str) -> list[list[tuple[str, int]]]:
    """`a | a b | -`: the batches, each letter with a 1."""
    return [[(word, 1) for word in batch.split() if word != "-"] for batch in batches.split("|")]


def text(batches: list[Any]) -> str:
    return " | ".join(" ".join(f"{key}{value}" for key, value in batch) or "-" for batch in batches)


def update(values: list[int], state: int | None) -> int:
    return sum(values) + (state or 0)


def count(key: str, value: int | None, state: State) -> tuple[str, int]:
    total = (value or 0) + (state.getOption() or 0)
    state.update(total)
    return key, total


def remove_on_second_sight(key: str, _: int | None, state: State) -> tuple[str, str] | None:
    if state.exists():
        state.remove()
        return key, ""
    state.update(1)
    return None


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda s: s.updateStateByKey(update), "a1 | a2 b1 | a2 b2"),
        (lambda s: s.mapWithState(StateSpec.function(count)), "a1 | a2 b1 | b2"),
        (lambda s: s.trackStateByKey(StateSpec.function(count)), "a1 | a2 b1 | b2"),
    ],
    ids=["updateStateByKey", "mapWithState", "trackStateByKey"],
)
def test_the_three_batches_of_the_lecture(run: Any, operation: Any, expected: str) -> None:
    assert text(run(operation, ones("a | a b | b"))) == expected


def test_mapwithstate_gives_the_keys_of_the_batch_and_its_snapshots_all(ssc: StreamingContext, clock: ManualClock) -> None:
    out: list[Any] = []
    snapshots: list[Any] = []
    counted = ssc.queueStream(ones("- | a | a b | a b c | a b | a | -")).mapWithState(StateSpec.function(count))
    counted.foreachRDD(lambda rdd: out.append(sorted(rdd.collect())))
    counted.stateSnapshots().foreachRDD(lambda rdd: snapshots.append(sorted(rdd.collect())))
    ssc.start()
    clock.advance(7)
    assert text(out) == "- | a1 | a2 b1 | a3 b2 c1 | a4 b3 | a5 | -"
    assert text(snapshots) == "- | a1 | a2 b1 | a3 b2 c1 | a4 b3 c1 | a5 b3 c1 | a5 b3 c1"


def test_a_state_that_is_removed_begins_anew(run: Any) -> None:
    batches = ones("- | a | a b | a b c | a b c | a b | a | -")
    out = run(lambda s: s.mapWithState(StateSpec.function(remove_on_second_sight)), batches)
    assert text(out) == "- | - | a | b | a c | b | a | -"


def test_updatestatebykey_begins_with_the_initial_rdd(run: Any) -> None:
    out = run(lambda s: s.updateStateByKey(update, initialRDD=[("a", 1), ("c", 2)]), ones("a | a b | a b c | a b | a | -"))
    assert text(out) == "a2 c2 | a3 b1 c2 | a4 b2 c3 | a5 b3 c3 | a6 b3 c3 | a6 b3 c3"


def test_mapwithstate_begins_with_the_initial_state(run: Any) -> None:
    spec = StateSpec.function(count).initialState([("a", 5), ("b", 10), ("c", -20), ("d", 0)]).numPartitions(3)
    out = run(lambda s: s.mapWithState(spec).stateSnapshots(), ones("- | a | a b | a b c | a b | a | -"))
    assert text(out[-1:]) == "a10 b13 c-19 d0"


def test_none_forgets_a_key(run: Any) -> None:
    out = run(lambda s: s.updateStateByKey(lambda values, _: len(values) or None), ones("a b | a | a b"))
    assert text(out) == "a1 b1 | a1 | a1 b1"


def test_the_state_may_be_any_object_and_keys_of_any_type(run: Any) -> None:
    def collect(values: list[int], state: list[int] | None) -> list[int]:
        return (state or []) + values

    assert run(lambda s: s.updateStateByKey(collect), [[("k", 0), (1, 9)], [("k", 1)]]) == [
        [("k", [0]), (1, [9])],
        [("k", [0, 1]), (1, [9])],
    ]


def timed(key: str, value: int | None, state: State) -> tuple[str, str] | None:
    if state.isTimingOut():
        return key, f"!{state.get()}"
    count(key, value, state)
    return None


def test_a_key_times_out_once_when_it_was_idle_for_longer_than_that(run: Any) -> None:
    batches = ones("a b c | a b | a | - | - | a | - | - | a")
    out = run(lambda s: s.mapWithState(StateSpec.function(timed).timeout(3)), batches)
    # c was touched at 1, b at 2: at 4 and 5 they were idle for just 3 seconds. a is never idle for longer.
    assert text(out) == "- | - | - | - | c!1 | b!2 | - | - | -"


def test_a_record_without_update_counts_as_touch(run: Any) -> None:
    def look(key: str, _: int | None, state: State) -> tuple[str, str] | None:
        if state.isTimingOut():
            return key, "!"
        if not state.exists():
            state.update(1)
        return None

    out = run(lambda s: s.mapWithState(StateSpec.function(look).timeout(1)), ones("a | a | a | - | - | -"))
    assert text(out) == "- | - | - | - | a! | -"


def test_the_function_may_ask_for_the_time_of_the_batch(run: Any) -> None:
    def track(time: Any, key: str, _: int, __: State) -> tuple[str, int]:
        return key, round(time.timestamp()) % 1000

    assert text(run(lambda s: s.mapWithState(StateSpec.function(track)), ones("a | a b"))) == "a1 | a2 b2"


def test_the_state_is_saved_and_its_history_cut(ssc: StreamingContext, clock: ManualClock) -> None:
    counted = ssc.queueStream(ones("a") * 7).mapWithState(StateSpec.function(count)).checkpoint(2)
    rdds: list[Any] = []
    counted.foreachRDD(lambda rdd: rdds.append((rdd.collect(), len(rdd.toDebugString().splitlines()))))
    ssc.start()
    clock.advance(7)
    assert [out for out, _ in rdds] == [[("a", n)] for n in range(1, 8)]
    assert max(lines for _, lines in rdds[3:]) <= max(lines for _, lines in rdds[:3])


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda _: State(False).get(), "get: the key has no state"),
        (lambda state: (state.remove(), state.update(1)), "update: the state was removed"),
        (lambda state: (state.remove(), state.remove()), "remove: the state was removed"),
        (lambda _: State(True, 1, timing_out=True).update(2), "update: the key is timing out"),
        (lambda _: State(True, 1, timing_out=True).remove(), "remove: the key is timing out"),
    ],
)
def test_a_state_that_is_used_wrongly_says_so(use: Any, words: str) -> None:
    with pytest.raises(StateError, match=words):
        use(State(True, 1))


def test_a_state_says_what_it_has() -> None:
    state = State(False)
    assert (state.exists(), state.getOption(), state.isTimingOut()) == (False, None, False)
    state.update(0)
    assert (state.exists(), state.get()) == (True, 0)
    state.remove()
    assert (state.exists(), state.getOption()) == (False, None)


@pytest.mark.parametrize("function", [lambda value: value, 3])
def test_a_function_for_state_takes_key_value_and_state(function: Any) -> None:
    with pytest.raises(DefinitionError) as refused:
        StateSpec.function(function)
    assert "f(key, value, state)" in refused.value.fix


SENTENCE = "NE Scala 2016 Apache Apache Spark Storm Apache Trident Flink Streaming Samza Scala 2016 Streaming"
TABLE = {"Apache": 3, "Streaming": 2, "Scala": 2, "2016": 2, "Spark": 1, "Storm": 1, "Trident": 1, "Flink": 1, "Samza": 1, "NE": 1}


def words(lines: DStream) -> DStream:
    return lines.flatMap(lambda line: line.split(" ")).map(lambda word: (word, 1))


@pytest.mark.parametrize(
    ("batches", "operation"),
    [
        ([[SENTENCE]], lambda lines: words(lines).reduceByKey(lambda a, b: a + b)),
        ([SENTENCE.split()[:7], SENTENCE.split()[7:]], lambda lines: words(lines).updateStateByKey(update)),
        ([SENTENCE.split()[:7], SENTENCE.split()[7:]],
         lambda lines: words(lines).trackStateByKey(StateSpec.function(count).initialState([])).stateSnapshots()),
    ],
    ids=["of one batch", "updateStateByKey", "trackStateByKey"],
)  # fmt: skip
def test_the_word_count_of_the_talk(run: Any, batches: Any, operation: Any) -> None:
    assert dict(run(operation, batches)[-1]) == TABLE
