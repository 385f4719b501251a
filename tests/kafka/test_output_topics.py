"""A topic that a job writes to must exist, in every mode and on every broker, unless the job says that it shall be made."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError, JobError
from headrace.fronts.stream import Stream
from headrace.io.kafka.log import KafkaLog
from headrace.io.kafka.topics import Topic
from headrace.planning.table import MODES, Mode

pytestmark = pytest.mark.usefixtures("spark")
Make = Callable[..., str]


def copied(source: str) -> Stream:
    return hr.read.kafka(source).select(F.col("value").cast("string"))


def names() -> set[str]:
    return {topic.name for topic in hr.topics.list()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("address", ["our own broker", "HEADRACE_KAFKA", "servers="])
def test_a_topic_that_does_not_exist_is_refused_and_not_made(
    mode: Mode, address: str, kafka: str, topic: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    source, alerts = topic(), topic()
    if address == "HEADRACE_KAFKA":
        monkeypatch.setenv("HEADRACE_KAFKA", kafka)
    servers = kafka if address == "servers=" else None
    before = names()
    output = copied(source).to.kafka(f"{alerts}z", value="value", servers=servers)
    with pytest.raises(JobError) as refused:
        hr.Job("misspelt", output, checkpoint=tmp_path).run(mode)
    assert refused.value.what == f"topic '{alerts}z' does not exist at {kafka}"
    with_servers = f" --servers {kafka}" if servers else ""
    assert re.fullmatch(
        rf"name one that is there \(.*\b{alerts}\b.*\), or create it: "
        rf"headrace topics create {alerts}z{with_servers}, or to\.kafka\('{alerts}z', create=True\)",
        refused.value.fix,
    )
    assert names() == before


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_is_made_as_the_job_says(mode: Mode, topic: Make, tmp_path: Path) -> None:
    source = topic()
    made, specified = f"{source}-{mode}-made", f"{source}-{mode}-specified"
    hr.topics.send(source, ["a", "b"])
    how = hr.topics.Topic(partitions=3, replicas=1, config={"retention.ms": 60_000})
    outputs = copied(source).to.kafka(made, create=True), copied(source).to.kafka(specified, create=how)
    for _ in range(2):  # the second time they are there
        job = hr.Job("made", *outputs, checkpoint=tmp_path)
        if mode == "real-time":
            with job.start(mode) as running:
                for name in (made, specified):
                    assert len(list(hr.topics.read(name, limit=2, follow=True))) == 2
                assert not running.wait(0)
        else:
            job.run(mode, trigger=hr.once)
    assert {record.value for record in hr.topics.read(made)} == {b'{"value":"a"}', b'{"value":"b"}'}
    found = hr.topics.describe(specified)
    assert (len(found.partitions), found.config) == (3, {"retention.ms": "60000"})
    assert len(hr.topics.describe(made).partitions) == 1  # the broker's own default


def test_no_topic_is_made_for_a_job_that_is_refused(topic: Make, tmp_path: Path) -> None:
    source = topic()
    outputs = copied(source).to.kafka(f"{source}-made", create=True), copied(source).where("true").to.kafka(f"{source}-misspelt")
    for mode in MODES:
        with pytest.raises(JobError):
            hr.Job("half", *outputs, checkpoint=tmp_path).run(mode)
    assert f"{source}-made" not in names()


def test_a_topic_that_another_job_has_just_made_is_as_good(kafka: str, topic: Make) -> None:
    there = topic(partitions=2)
    log = KafkaLog({"bootstrap.servers": kafka})
    log.create(there, Topic())
    assert log.partitions([there]) == {there: 2}


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (Topic(replicas=7), "Unable to replicate the partition 7 time(s)"),
        (Topic(config={"retention.hours": 1}), "Unknown topic config name: retention.hours"),
    ],
)
def test_a_topic_that_the_cluster_does_not_make_is_told(how: Topic, reason: str, topic: Make) -> None:
    name = f"{topic()}-never"
    with pytest.raises(JobError) as refused:
        hr.Job("never", hr.read.memory("n int", [(1,)]).to.kafka(name, create=how)).run("batch")
    assert refused.value.what.startswith(f"topic '{name}' was not made at ")
    assert reason in refused.value.what


@pytest.mark.parametrize("create", ["yes", 3, None])
def test_what_tells_nothing_of_a_topic_is_refused(create: object) -> None:
    with pytest.raises(DefinitionError) as refused:
        hr.read.memory("n int").to.kafka("t", create=create)  # type: ignore[arg-type]
    assert refused.value.what == f"create={create!r} does not tell how to make a topic"
    assert refused.value.fix == "create=True, or create=hr.topics.Topic(partitions=4)"
