"""What a Kafka topic is, however it is reached: how it is made, what is known of it, and the records in it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

from headrace.errors import DefinitionError, JobError, user_line
from headrace.io.connectors import Option, positive, texts

Value = str | bytes | Mapping[str, Any] | None
"""Of a record: text, bytes, an object that is written as JSON, or nothing, which deletes a key of a compacted topic."""


@dataclass(frozen=True)
class Topic:
    """How a topic is made. What is not given is as the cluster has it.

    partitions  how many, at most so many tasks read it at once, and records of one key are all in one
    replicas    on how many brokers each of them is
    config      Kafka's own options of a topic: {"retention.ms": 86_400_000, "cleanup.policy": "compact"}
    """

    partitions: int | None = None
    replicas: int | None = None
    config: Mapping[str, Option] = field(default_factory=dict)

    def __post_init__(self) -> None:
        positive(**{name: number for name in ("partitions", "replicas") if (number := getattr(self, name)) is not None})
        object.__setattr__(self, "config", texts(self.config))

    @classmethod
    def asked(cls, create: bool | Topic) -> Topic | None:
        """What `create=` of a sink asks for."""
        if not isinstance(create, bool | Topic):
            raise DefinitionError(
                f"create={create!r} does not tell how to make a topic",
                fix="create=True, or create=hr.topics.Topic(partitions=4)",
                where=user_line(),
            )
        return create if isinstance(create, Topic) else cls() if create else None


@dataclass(frozen=True)
class Partition:
    """One log of a topic: the brokers that have it, and the offsets of its first record and after its last."""

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    begin: int
    end: int

    @property
    def records(self) -> int:
        """How many there are at most: offsets also count what compaction removed, and the marks of transactions."""
        return self.end - self.begin


@dataclass(frozen=True)
class Description:
    """A topic as it is. `config` has the options that were set for it."""

    name: str
    id: str
    partitions: tuple[Partition, ...]
    config: Mapping[str, str]

    @property
    def records(self) -> int:
        return sum(partition.records for partition in self.partitions)


@dataclass(frozen=True)
class Record:
    """A record of a topic. One to be sent has no offset, and need have neither partition nor timestamp."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    offset: int | None = None
    timestamp: datetime | None = None

    @classmethod
    def made(
        cls, value: Value | Record, *, key: Value = None, headers: Mapping[str, Value] | None = None, partition: int | None = None
    ) -> Record:
        """A record of what was given as one; one that is a record already stays as it is."""
        if isinstance(value, Record):
            return value
        return cls(_bytes(value), _bytes(key), tuple((name, _bytes(each)) for name, each in (headers or {}).items()), partition)

    def as_json(self) -> dict[str, Any]:
        """For machines. Bytes that are no text are {"base64": "…"}."""
        return {
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp and self.timestamp.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "key": _plain(self.key),
            "value": _plain(self.value),
            "headers": [[name, _plain(value)] for name, value in self.headers],
        }

    @classmethod
    def of_json(cls, text: str) -> Record:
        """A record as `as_json` writes it, of which only the value must be there; ValueError if it is none."""
        fields = json.loads(text)
        if not isinstance(fields, dict) or "value" not in fields:
            raise ValueError('there is no "value"')
        if unknown := fields.keys() - cls.__dataclass_fields__.keys() - {"topic"}:
            raise ValueError(f"there is no {min(unknown)!r} in a record")
        headers = fields.get("headers") or []
        pairs = headers.items() if isinstance(headers, dict) else headers
        time = fields.get("timestamp")
        return cls(
            _raw(fields["value"]),
            _raw(fields.get("key")),
            tuple((str(name), _raw(value)) for name, value in pairs),
            fields.get("partition"),
            timestamp=None if time is None else in_utc(datetime.fromisoformat(time)),
        )


def in_utc(time: datetime) -> datetime:
    """A time that knows its zone: UTC's if it had none."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def command(verb: str, topic: str, servers: str | None) -> str:
    """How it is done on the command line; with the cluster's address if the program names one."""
    return f"headrace topics {verb} {topic}" + (f" --servers {servers}" if servers else "")


def missing(topic: str, there: Iterable[str], servers: str, fix: str) -> JobError:
    """That a topic is not at the cluster; `fix` is what to do if the name is right."""
    names = sorted(there)
    near = ", ".join(get_close_matches(topic, names, n=3) or names[:10])
    return JobError(
        f"topic {topic!r} does not exist at {servers}",
        fix=f"name one that is there ({near}), or {fix}" if near else f"{fix}; there is no topic yet",
    )


def _bytes(value: Value) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, ensure_ascii=False).encode() if isinstance(value, Mapping) else value


def _plain(value: bytes | None) -> str | dict[str, str] | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value or b"").decode()}


def _raw(value: object) -> bytes | None:
    if value is None or isinstance(value, str):
        return None if value is None else value.encode()
    if isinstance(value, dict) and isinstance(encoded := value.get("base64"), str) and len(value) == 1:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise ValueError(f"{encoded!r} is no base64") from None
    raise ValueError(f'{json.dumps(value)} is neither text nor null nor {{"base64": "…"}}')
