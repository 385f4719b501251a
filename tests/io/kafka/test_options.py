"""An option that Kafka's client does not have is refused at the user's line, and one that is an argument here says which."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import DefinitionError
from headrace.io.kafka import options as kafka_options

pytestmark = pytest.mark.usefixtures("spark")

# the option, and what to do instead: of a source, and of a sink
READING = {
    "startingOffsets": 'start="earliest", "latest", a datetime',
    "kafka.startingOffsets": 'start="earliest", "latest", a datetime',
    "startingoffsets": 'start="earliest", "latest", a datetime',
    "startingTimestamp": 'start="earliest", "latest", a datetime',
    "kafka.auto.offset.reset": 'start="earliest", "latest", a datetime',
    "maxOffsetsPerTrigger": "cap=",
    "subscribe": 'read.kafka("orders", "payments")',
    "subscribePattern": "pattern=",
    "bootstrap.servers": "servers=",
    "includeHeaders": "headers=True",
    "failOnDataLoss": "always stop the job",
    "kafka.key.deserializer": "schema=…",
    "kafka.enable.auto.commit": "in the job's checkpoint",
    "checkpointLocation": "Job(",
}
WRITING = {
    "topic": 'to.kafka("orders")',
    "bootstrap.servers": "servers=",
    "includeHeaders": "headers={",
    "kafka.value.serializer": "value=",
    "kafka.transactional.id": 'guarantee="exactly-once"',
}
UNKNOWN_READING = {
    "kafka.startingOfsets": 'start="earliest"',
    "kafka.fetch.max.wait": "did you mean 'kafka.fetch.max.wait.ms'?",
    "kafka.Max.Poll.Records": "did you mean 'kafka.max.poll.records'?",
    "kafka.linger.ms": "it is one of the producer: give it to to.kafka(",
    "groupIdPrefix": "each with 'kafka.' before it",
    "kafka.zzz": "each with 'kafka.' before it",
}
UNKNOWN_WRITING = {
    "kafka.linger": "did you mean 'kafka.linger.ms'?",
    "kafka.max.poll.records": "it is one of the consumer: give it to read.kafka(",
    "kafka.startingOffsets": "each with 'kafka.' before it",
}
NOT_OPTIONS = [(True, *each) for each in READING.items()] + [(False, *each) for each in WRITING.items()]
UNKNOWN = [(True, *each) for each in UNKNOWN_READING.items()] + [(False, *each) for each in UNKNOWN_WRITING.items()]


def refusal(reading: bool, options: dict[str, str]) -> DefinitionError:
    make = hr.read.kafka if reading else hr.read.memory("n int").to.kafka
    with pytest.raises(DefinitionError) as refused:
        make("t", options=options)
    assert (refused.value.where or "").startswith(f"{__file__}:")
    return refused.value


@pytest.mark.parametrize(("reading", "option", "fix"), NOT_OPTIONS)
def test_an_option_that_is_an_argument_here_says_which(reading: bool, option: str, fix: str) -> None:
    refused = refusal(reading, {option: "x"})
    assert refused.what == f"{option!r} is not given as an option"
    assert fix in refused.fix


@pytest.mark.parametrize(("reading", "option", "fix"), UNKNOWN)
def test_an_option_that_the_client_does_not_have_is_refused_with_the_nearest(reading: bool, option: str, fix: str) -> None:
    refused = refusal(reading, {option: "x"})
    assert refused.what == f"{option!r} is no option of Kafka's {'consumer' if reading else 'producer'}"
    assert fix in refused.fix


@pytest.mark.parametrize(("reading", "option"), [(True, "fetch.max.wait.ms"), (False, "linger.ms")])
def test_an_option_of_kafkas_is_written_with_kafka_before_it(reading: bool, option: str) -> None:
    assert refusal(reading, {option: "1"}).fix == f"write 'kafka.{option}'"


def test_every_option_of_the_clients_is_taken_unless_it_is_given_otherwise(spark: SparkSession) -> None:  # noqa: ARG001
    for client in ("consumer", "producer"):
        names = kafka_options._known(client) - kafka_options._ELSEWHERE[client].keys()  # type: ignore[index]
        assert len(names) > 70
        kafka_options.check([f"kafka.{name}" for name in names if not name.endswith((".class", ".classes"))], client)  # type: ignore[arg-type]


def test_a_class_of_the_users_own_may_be_told_what_kafka_does_not_know() -> None:
    handler = {"kafka.sasl.login.callback.handler.class": "org.example.Handler"}
    hr.read.kafka("t", options={**handler, "kafka.org.example.region": "north"})
    assert refusal(True, {"kafka.org.example.region": "north"}).what == "'kafka.org.example.region' is no option of Kafka's consumer"
    assert refusal(True, {**handler, "org.example.region": "north"}).what == "'org.example.region' is no option of Kafka's consumer"
