"""Batch, online, and both added up: the same totals. Summingbird's own worked example, and holes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import headrace as hr
from headrace.errors import DefinitionError
from headrace.summingbird import (
    MAX,
    MERGE,
    SUM,
    Batcher,
    Client,
    HoleError,
    KafkaStore,
    MemoryStore,
    Semigroup,
    Tail,
    run_batch,
    source,
    start_online,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = Batcher("1 hour")
FIRST = HOUR.batch_of(START)
TABLE = {"Apache": 3, "Streaming": 2, "Scala": 2, "2016": 2, "Spark": 1, "Storm": 1, "Trident": 1, "Flink": 1, "Samza": 1, "NE": 1}
PARTS = ("NE Scala 2016 Apache Apache Spark", "Storm Apache Trident Flink", "Streaming Samza Scala 2016 Streaming")
LINES = [(START + timedelta(minutes=20 * number), line) for number, line in enumerate(PARTS)]


def words(record: dict[str, Any]) -> list[tuple[str, int]]:
    return [(word, 1) for word in record["line"].split()]


def lines(*batches: list[Any]) -> Any:
    return hr.read.memory("at timestamp, line string", *(batches or [LINES]))


def online(name: str, tail: Tail) -> None:
    with start_online(name, tail, trigger=hr.once) as running:
        running.wait()


@pytest.mark.usefixtures("spark")
def test_the_talks_word_count_as_a_batch_online_and_both() -> None:
    batcher = Batcher("30 minutes")
    first = batcher.batch_of(START)

    def counted(store: MemoryStore) -> Tail:
        return source(lines(LINES[:1], LINES[1:]), time="at").flat_map(words).sum_by_key(store)

    batch, stream, both = (MemoryStore(SUM, batcher) for _ in range(3))
    run_batch("batch", counted(batch), until=first + 2)
    online("online", counted(stream))
    run_batch("half", counted(both), until=first + 1)
    online("other-half", counted(both))
    assert batch.totals == TABLE
    assert both.totals != TABLE
    for store in (batch, stream, both):
        assert {word: Client(store).get(word, first + 1) for word in TABLE} == TABLE
    assert Client(both).get("Kafka", first + 1) is None


@pytest.mark.usefixtures("spark")
def test_a_batch_run_goes_on_where_the_last_one_ended() -> None:
    store = MemoryStore(SUM, HOUR)
    tail = source(lines([(START + timedelta(hours=hour), "a") for hour in (0, 1, 1, 5)]), time="at").flat_map(words).sum_by_key(store)
    for hours, total in ((2, 3), (2, 3), (6, 4)):
        run_batch("more", tail, until=START + timedelta(hours=hours))
        assert (store.done, store.batch("a")) == (FIRST + hours, total)
    with pytest.raises(DefinitionError) as refused:
        run_batch("less", tail, until=FIRST)
    assert "is done" in refused.value.what


def filled(batch: int | None, *, begin: int, keep: int | None = None) -> MemoryStore:
    store = MemoryStore(SUM, HOUR, keep=keep)
    if batch is not None:
        store.add_batch({"k": 100}, batch)
    store.put_online([("k", number, number) for number in range(begin, 8)])
    return store


@pytest.mark.parametrize(
    ("store", "now", "total"),
    [
        (filled(5, begin=5), 7, 100 + 5 + 6 + 7),
        (filled(5, begin=3), 7, 100 + 5 + 6 + 7),
        (filled(5, begin=5), 5, 105),
        (filled(8, begin=5), 7, 100),
        (filled(None, begin=5), 7, 18),
    ],
    ids=["batch says 5, the clock 7", "online keeps more than is needed", "at the first batch", "the batch run is ahead", "no batch yet"],
)  # fmt: skip
def test_the_client_adds_the_batch_half_and_the_online_batches_since(store: MemoryStore, now: int, total: int) -> None:
    assert Client(store).get("k", now) == total


@pytest.mark.parametrize(("store", "missing"), [(filled(5, begin=6), "5 to 5"), (filled(5, begin=0, keep=1), "5 to 6")])
def test_a_hole_is_an_error(store: MemoryStore, missing: str) -> None:
    with pytest.raises(HoleError) as hole:
        Client(store).get("k", 7)
    assert missing in hole.value.what
    assert str(hole.value.where).startswith(__file__)


def test_a_batch_of_time_without_a_record_is_no_hole_if_the_stream_brings_it() -> None:
    store = filled(5, begin=6)
    store.online_from(5)
    assert Client(store).get("k", 7) == 100 + 6 + 7


@pytest.mark.usefixtures("spark")
def test_every_step_of_a_producer() -> None:
    colours = {"apple": "red", "plum": "blue"}
    fruit = source(lines([(START, "apple plum"), (START, "pear apple")]), time="at").flat_map(lambda record: record["line"].split())
    more = source(lines([(START, "PLUM ?")]), time="at").flat_map(lambda record: record["line"].split()).map(str.lower).filter(str.isalpha)
    kept, best, joined = MemoryStore(SUM, HOUR), MemoryStore(MAX, HOUR), MemoryStore(MERGE, HOUR)
    everything = fruit.merge(more)
    written: list[Any] = []

    def sink(rows: hr.Stream) -> Any:
        written.append(rows.to.memory("items"))
        return written[-1]

    counted = everything.write(sink).lookup(colours.get).collect(lambda pair: pair if pair[1] else None).map(lambda pair: (pair[1], 1))
    longest = everything.map(lambda name: ("longest", len(name))).sum_by_key(best)
    by_colour = everything.map(lambda name: (name, 1)).left_join(colours).map(lambda pair: (pair[0], {str(pair[1][1]): pair[1][0]}))
    run_batch("steps", counted.sum_by_key(kept).also(longest).also(by_colour.sum_by_key(joined)), until=FIRST + 1)
    assert kept.totals == {"red": 2, "blue": 2}
    assert best.totals == {"longest": 5}
    assert joined.totals == {"apple": {"red": 2}, "plum": {"blue": 2}, "pear": {"None": 1}}
    assert sorted(row["item"] for row in written[0].sink.rows) == ['"apple"', '"apple"', '"pear"', '"plum"', '"plum"']


@pytest.mark.usefixtures("spark", "kafka")
def test_in_real_time_the_online_half_is_a_topic(topic: Any, tmp_path: Any, short_batches: Any) -> None:
    given, table = topic(), topic()
    store = KafkaStore(table, SUM, HOUR)
    stream = hr.read.kafka(given, schema="at timestamp not null, line string not null")
    tail = source(stream, time="at").flat_map(words).sum_by_key(store)
    with start_online("live", tail, "real-time", trigger=short_batches, checkpoint=tmp_path) as running:
        hr.topics.send(given, [{"at": at.isoformat(), "line": line} for at, line in LINES])
        for _ in range(300):
            running.wait(0.2)
            store.refresh()
            totals = {word: Client(store).get(word, FIRST) for word in TABLE}
            if totals == TABLE:
                break
    assert totals == TABLE


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda: Semigroup(3), "adds with 3"),
        (lambda: MemoryStore(sum, HOUR), "is no Semigroup"),
        (lambda: Batcher("soon"), "'soon' is not a duration"),
        (lambda: source(3, time="at"), "source: 3 is no stream"),
        (lambda: source(lines(), time="line"), "there is no timestamp 'line'"),
        (lambda: source(lines(), time="at").map(7), "map: 7 is no function"),
        (lambda: source(lines(), time="at").sum_by_key({}), "sum_by_key: {} is no store"),
        (lambda: run_batch("x", source(lines(), time="at"), until=0), "the producer has no end"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.usefixtures("spark")
def test_a_mistake_is_told_at_its_line(wrong: Any, what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        wrong()
    assert what in refused.value.what
    assert str(refused.value.where).startswith(__file__)
