"""What `options=` takes: the options of Kafka's own clients, as the clients themselves list them. Spark's are arguments of ours."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Literal

from pyspark.sql import SparkSession

from headrace.errors import DefinitionError, user_line
from headrace.kernel import jvm

Client = Literal["consumer", "producer"]

_CLASSES = {
    "consumer": "org.apache.kafka.clients.consumer.ConsumerConfig",
    "producer": "org.apache.kafka.clients.producer.ProducerConfig",
    "admin": "org.apache.kafka.clients.admin.AdminClientConfig",  # with which a job looks at the cluster before it starts
}

_START = 'start="earliest", "latest", a datetime, or {topic: {partition: offset}}'
_END = "leave it out: a batch ends where the log ended when it began, a stream does not end"
_SERVERS = 'servers="host:port", or the environment variable HEADRACE_KAFKA'
_CHECKPOINT = 'Job("name", …, checkpoint="directory")'

# What Spark calls it, or what it does not let its users set -> what to do here. Spark does not mind upper and lower case.
_ELSEWHERE: dict[Client, dict[str, str]] = {
    "consumer": {
        "subscribe": 'name the topics: read.kafka("orders", "payments")',
        "topic": 'name the topics: read.kafka("orders", "payments")',
        "assign": "leave it out: all partitions of a topic are read",
        "subscribepattern": 'pattern="orders-.*"',
        "bootstrap.servers": _SERVERS,
        "startingoffsets": _START,
        "startingtimestamp": _START,
        "startingoffsetsbytimestamp": _START,
        "startingoffsetsbytimestampstrategy": _START,
        "auto.offset.reset": _START,
        "endingoffsets": _END,
        "endingtimestamp": _END,
        "endingoffsetsbytimestamp": _END,
        "maxoffsetspertrigger": "cap=10_000",
        "minoffsetspertrigger": 'leave it out; how often to look for records is the job\'s: trigger=every("10 seconds")',
        "maxtriggerdelay": 'leave it out; how often to look for records is the job\'s: trigger=every("10 seconds")',
        "includeheaders": "headers=True",
        "failondataloss": "leave it out: records that are gone before they were read always stop the job",
        "minpartitions": "leave it out: a partition of a topic is read by one task",
        "maxrecordsperpartition": "leave it out: a partition of a topic is read by one task",
        "key.deserializer": "leave it out: key and value are bytes; schema=… and format=… decode the value",
        "value.deserializer": "leave it out: key and value are bytes; schema=… and format=… decode the value",
        "enable.auto.commit": "leave it out: positions are in the job's checkpoint",
        "interceptor.classes": "leave it out: Spark reads without interceptors",
        "checkpointlocation": _CHECKPOINT,
    },
    "producer": {
        "topic": 'name the topic: to.kafka("orders")',
        "bootstrap.servers": _SERVERS,
        "includeheaders": 'headers={"name": "column"}',
        "key.serializer": "leave it out: key= and value= say which columns are written",
        "value.serializer": "leave it out: key= and value= say which columns are written",
        "transactional.id": 'leave it out: a job that asks for it writes in transactions, Job(…, guarantee="exactly-once")',
        "checkpointlocation": _CHECKPOINT,
    },
}

# Options that name a class of the user's. What that class is told goes by names that only it knows.
_PLUGINS = ("metric.reporters", "security.providers", "config.providers")


def check(options: Iterable[str], client: Client) -> None:
    """Raise DefinitionError for an option that the client does not have, or that is given in another way."""
    names = {option: option.removeprefix("kafka.") for option in options}
    for option, name in names.items():
        if fix := _ELSEWHERE[client].get(name.lower()):
            raise _refuse(f"{option!r} is not given as an option", fix)
    foreign = any(name in _PLUGINS or name.endswith((".class", ".classes")) for name in names.values())
    for option, name in names.items():
        if name in _known(client) | _known("admin"):
            if option == name:
                raise _refuse(f"{option!r} is not how an option of Kafka's {client} is written here", f"write 'kafka.{name}'")
        elif option == name or not foreign:
            raise _unknown(option, name, client)


def _unknown(option: str, name: str, client: Client) -> DefinitionError:
    what = f"{option!r} is no option of Kafka's {client}"
    other: Client = "producer" if client == "consumer" else "consumer"
    if name in _known(other):
        there = "to.kafka" if other == "producer" else "read.kafka"
        return _refuse(what, f"it is one of the {other}: give it to {there}(…, options=…)")
    nearest = get_close_matches(name.lower(), _known(client) | _known("admin") | _ELSEWHERE[client].keys(), n=1)
    if nearest and (fix := _ELSEWHERE[client].get(nearest[0])):
        return _refuse(what, fix)
    hint = f"did you mean 'kafka.{nearest[0]}'? " if nearest else ""
    return _refuse(what, f"{hint}options= takes those of Kafka's client, each with 'kafka.' before it")


@cache
def _known(client: str) -> frozenset[str]:
    return frozenset(jvm.java_class(SparkSession.active(), _CLASSES[client]).configNames())


def _refuse(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
