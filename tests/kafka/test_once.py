"""A record that was written again after a crash is read once, by its id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F
from tests.kafka.test_kafka import rows, send
from tests.waiting import eventually

import headrace as hr
from headrace.definitions.guarantees import Mode
from headrace.errors import DefinitionError
from headrace.io.kafka.topics import Record

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]


@pytest.mark.parametrize("id", [True, ["topic", "partition", "offset"]], ids=["made by itself", "of columns"])
def test_rows_carry_what_they_were_made_of_and_their_output(id: Any, kafka: str, topic: Topic) -> None:
    source, target = topic(), topic()
    send(kafka, source, ["a", "b"])
    letters = hr.read.kafka(source).with_columns(value=F.upper(F.col("value").cast("string")))
    output = letters.to.kafka(target, value="value", id=id, headers={"own": "value"}, name="loud")
    hr.Job("ids", output).run("batch")
    read = hr.topics.read(target)
    assert [dict(record.headers) for record in read] == [
        {"own": b"A", "headrace-id": f"{source}/0/0/loud".encode()}, {"own": b"B", "headrace-id": f"{source}/0/1/loud".encode()},
    ]  # fmt: skip


def test_ids_of_columns_that_differ_are_two(topic: Topic) -> None:
    target, names = topic(), [("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c")]
    rows = hr.read.memory("one string, other string", names)
    hr.Job("ids", rows.to.kafka(target, id=["one", "other"], name="o")).run("batch")
    assert sorted(map(_id, hr.topics.read(target))) == ["a%252Fb/c/o", "a%2Fb/c/o", "a/b%2Fc/o"]


def test_ids_are_the_same_in_every_mode_and_however_batches_are_cut(kafka: str, topic: Topic, tmp_path: Path) -> None:
    source = topic()
    send(kafka, source, ['{"k": "a", "n": 2}', "{", '{"k": "b", "n": 1}', '{"k": "a", "n": 1}'])

    def ids(mode: Mode, **how: Any) -> dict[str, set[tuple[str, str]]]:
        """The id and the value of each row, by the output."""
        records = hr.read.kafka(source, schema="k string not null, n int not null", cap=2)
        several = records.with_columns(i=F.explode(F.sequence(F.lit(1), F.col("n"))))
        counted = several.key_by("k").with_features(before=hr.running(F.count("*"))).drop("n")
        targets = {name: topic() for name in ("all", "some", "dead")}
        outputs = [
            counted.to.kafka(targets["all"], id=True, name="all"),
            counted.where("before > 0").to.kafka(targets["some"], id=True, name="some"),
            records.dead_letters.to.kafka(targets["dead"], value="raw", id=True, name="dead"),
        ]
        job = hr.Job("ids", *outputs, checkpoint=tmp_path / mode, **how)

        def rows(name: str) -> set[tuple[str, str]]:
            return {(_id(record).removeprefix(source), (record.value or b"").decode()) for record in hr.topics.read(targets[name])}

        if mode == "real-time":
            with job.start(mode):
                assert eventually(lambda: len(rows("all")) == 4 and len(rows("dead")) == 1, within=120)
        else:
            job.run(mode)
        return {name: rows(name) for name in targets}

    in_batch = ids("batch")
    assert {id for id, _ in in_batch["all"]} == {"/0/0/0/all", "/0/0/1/all", "/0/2/0/all", "/0/3/0/all"}
    assert {id for id, _ in in_batch["some"]} == {"/0/0/1/some", "/0/3/0/some"}
    assert in_batch["dead"] == {("/0/1/dead", "{")}
    assert ids("micro-batch", trigger=hr.once) == in_batch
    assert ids("real-time") == in_batch


def test_what_is_left_out_has_ids_beside_rows_that_have_none(kafka: str, topic: Topic, tmp_path: Path) -> None:
    source, target = topic(), topic()
    send(kafka, source, ['{"k": "a"}', "{"])
    records = hr.read.kafka(source, schema="k string not null")
    totals = records.key_by("k").agg(F.count("*").alias("n")).to.memory()
    dead = records.dead_letters.to.kafka(target, value="raw", id=True, name="dead")
    hr.Job("ids", totals, dead, checkpoint=tmp_path, trigger=hr.once).run("micro-batch")
    assert rows(totals) == [("a", 1)]
    assert [_id(record) for record in hr.topics.read(target)] == [f"{source}/0/1/dead"]


def test_ids_are_made_behind_the_place_where_outputs_part(kafka: str, topic: Topic, tmp_path: Path) -> None:
    """Of some of the outputs alone, and of rows of a batch, which a table and a function make several of."""
    source = topic()
    send(kafka, source, ['{"k": "a"}', '{"k": "b"}'])
    (tmp_path / "known.csv").write_text("k,of\na,1\na,2\n")
    records = hr.read.kafka(source, schema="k string not null")
    known = records.join(hr.table(tmp_path / "known.csv"), on="k", how="left")
    twice = records.flat_map(lambda record: [record, record], output="k string")
    expected = {"known": ["0/0", "0/1", "1/0"], "some": ["0/0", "0/1"], "twice": ["0/0", "0/1", "1/0", "1/1"]}
    streams = {"known": known, "some": known.where("of > 0"), "twice": twice}
    targets = {name: topic() for name in streams}
    outputs = [stream.to.kafka(targets[name], id=True, name=name) for name, stream in streams.items()]
    others = [records.to.memory("records"), twice.to.memory("twice-in-memory")]  # without ids, and made first
    hr.Job("parted", *others, *outputs, checkpoint=tmp_path / "job", trigger=hr.once).run("micro-batch")
    for name, target in targets.items():
        ids = sorted(_id(record) for record in hr.topics.read(target))
        assert [id.removeprefix(f"{source}/0/").removesuffix(f"/{name}") for id in ids] == expected[name]


def _id(record: Record) -> str:
    return (dict(record.headers)["headrace-id"] or b"").decode()


def test_a_row_that_is_not_of_one_record_is_refused_at_its_line_with_the_step_that_hides_it() -> None:
    records = hr.read.kafka("payments", schema="customer string not null, amount double")
    totals = records.key_by("customer").agg(F.sum("amount").alias("total"))
    with pytest.raises(DefinitionError) as refused:
        totals.where("total > 1").to.kafka("totals", id=True)
    assert "agg" in refused.value.what
    assert "test_once.py:" in refused.value.what
    assert 'id=["customer", "start"]' in refused.value.fix


@pytest.mark.parametrize("schema", [None, "n int not null"])
def test_a_record_with_an_id_that_was_there_is_left_out(schema: Any, kafka: str, topic: Topic, tmp_path: Path) -> None:
    name, producer = topic(), Producer({"bootstrap.servers": kafka, "log_level": 0})

    def write(*ids: str | None) -> None:
        for number, id in enumerate(ids):
            producer.produce(name, f'{{"n": {number}}}', headers=[("headrace-id", id)] if id else [])
        producer.flush()

    write("x/0/0/o", "x/0/1/o", None, "x/0/0/o", None)
    output = hr.read.kafka(name, schema=schema, once=True, **({"keep": ["offset"]} if schema else {})).to.memory()
    job = hr.Job("once", output, trigger=hr.once, checkpoint=tmp_path)
    job.run()
    write("x/0/1/o", "x/0/2/o", "x/0/1/p")  # after a crash: one again, a new one, and one of another output
    job.run()
    assert sorted(row.offset for row in output.sink.rows) == [0, 1, 2, 4, 6, 7]  # type: ignore[attr-defined]
    assert "headers" not in output.sink.rows[0]  # type: ignore[attr-defined]
    assert rows(output)
