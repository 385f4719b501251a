"""Samza's configuration: a dict of its own keys. What is misspelt or cannot be had here is refused before anything starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from headrace.errors import DefinitionError, user_line
from headrace.fronts.samza.serdes import NAMED, Serde
from headrace.fronts.samza.stores import StoreSpec
from headrace.fronts.samza.tasks import Config

_PREFIXES = ("task.", "stores.", "streams.", "systems.", "job.", "app.", "serializers.")

_USED = [
    "job.name", "job.id", "job.default.system", "app.name", "app.id", "task.class", "task.inputs", "task.broadcast.inputs",
    "task.window.ms", "task.commit.ms", "task.callback.timeout.ms", "serializers.registry.*.class", "stores.*.factory",
    "stores.*.changelog", "stores.*.key.serde", "stores.*.msg.serde", "streams.*.samza.system", "streams.*.samza.physical.name",
    "streams.*.samza.key.serde", "streams.*.samza.msg.serde", "streams.*.samza.priority", "streams.*.samza.bootstrap",
    "streams.*.samza.offset.default", "streams.*.samza.reset.offset", "systems.*.samza.factory", "systems.*.samza.key.serde",
    "systems.*.samza.msg.serde", "systems.*.samza.offset.default", "systems.*.default.stream.samza.key.serde",
    "systems.*.default.stream.samza.msg.serde", "systems.*.default.stream.samza.offset.default", "systems.*.consumer.**",
    "systems.*.producer.**", "job.intermediate.stream.partitions",
]  # fmt: skip

_NO_EFFECT = [
    "job.factory.class", "job.container.count", "job.container.thread.pool.size", "job.host-affinity.enabled", "job.coordinator.**",
    "job.changelog.system", "job.systemstreampartition.grouper.factory", "app.class", "app.runner.class", "app.mode",
    "task.max.concurrency", "task.consumer.batch.size", "task.checkpoint.**", "task.transactional.state.**", "task.shutdown.ms",
    "task.name.grouper.factory", "stores.*.rocksdb.**", "stores.*.container.**", "stores.*.object.cache.size",
    "stores.*.write.batch.size", "stores.*.changelog.**", "stores.*.changelog.replication.factor",
]  # fmt: skip
"""What speaks of containers, caches and checkpoints: Spark and the kernel have their own. It is taken, and changes nothing."""

_REFUSED = {
    "task.chooser.class": ("which message is next is up to Spark", "give streams.<stream>.samza.priority, or samza.bootstrap"),
    "task.drop.deserialization.errors": ("a message would be lost in silence", "catch the error in process, or read it as bytes"),
    "task.drop.serialization.errors": ("a message would be lost in silence", "send what the serde can write"),
    "task.drop.producer.errors": ("a message would be lost in silence", "leave it out"),
    "stores.*.side.inputs": (
        "a store has no side inputs here",
        "read the stream as a bootstrap stream, and put its messages into the store",
    ),
    "stores.*.side.inputs.**": ("a store has no side inputs here", "read the stream as a bootstrap stream"),
    "streams.*.samza.delete.committed.messages": ("a topic is not emptied by its reader", "set the topic's retention"),
    "systems.*.streams.**": ("that is the older spelling", "write streams.<stream>.samza.…"),
}


def _matches(key: str, patterns: Any) -> str | None:
    for pattern in patterns:
        parts = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", r"[^=]+?")
        if re.fullmatch(parts, key):
            return str(pattern)
    return None


def refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"samza: {what}", fix=fix, where=user_line())


@dataclass(frozen=True)
class Input:
    """A stream to read. `broadcast` are the partitions that every task sees."""

    name: str
    bootstrap: bool = False
    priority: int = -1
    oldest: bool = False
    broadcast: frozenset[int] | None = None


class Configuration:
    """A dict of Samza's keys, checked. A key of the program's own (`myapp.limit`) is handed to the tasks as it is."""

    def __init__(self, settings: Mapping[str, Any] | None) -> None:
        if not isinstance(settings, Mapping | None):
            raise refused(f"the configuration is a {type(settings).__name__}", "give a dict: {'job.name': 'wordcount', …}")
        self._adopted: set[str] = set()
        self.values = Config({str(key): _text(key, value) for key, value in (settings or {}).items()})
        for key in self.values:
            self._check(key)

    def _check(self, key: str) -> None:
        if (pattern := _matches(key, _REFUSED)) is not None:
            raise refused(f"{key}: {_REFUSED[pattern][0]}", _REFUSED[pattern][1])
        if not key.startswith(_PREFIXES) or _matches(key, _USED) or _matches(key, _NO_EFFECT):
            return
        known = [self._like(key, pattern) for pattern in _USED]
        near = get_close_matches(key, known, n=1, cutoff=0.6)
        raise refused(f"there is no setting {key!r}", f"did you mean {near[0]!r}?" if near else "see the table in docs/guide/samza.md")

    @staticmethod
    def _like(key: str, pattern: str) -> str:
        """A known key for the same store or stream."""
        parts = key.split(".")
        return pattern.replace("**", "…").replace("*", parts[1] if len(parts) > 1 else "x", 1)

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.values.get(key, default)

    def number(self, key: str, default: int) -> int:
        try:
            return int(self.values.get(key, default))
        except ValueError:
            raise refused(
                f"{key}={self.values[key]!r} is no whole number", f"give milliseconds or a count, such as '{key}': 60000"
            ) from None

    def names(self, key: str) -> list[str]:
        return [part.strip() for part in (self.get(key) or "").split(",") if part.strip()]

    # -- what it says ------------------------------------------------------------------------------------------------------------------

    @property
    def job(self) -> str:
        name = self.get("app.name") or self.get("job.name")
        if not name:
            raise refused("the job has no name", "give 'job.name': its state is kept under it")
        number = self.get("app.id") or self.get("job.id") or "1"
        return name if number == "1" else f"{name}-{number}"

    def adopt(self, systems: Iterable[str]) -> None:
        """Systems that the program's descriptors name."""
        self._adopted |= set(systems)
        assert self.system

    @property
    def system(self) -> str:
        """The one system of the job: the name that the program has for the Kafka cluster."""
        named = self._adopted | {key.split(".")[1] for key in self.values if key.startswith("systems.")}
        named |= {value for key, value in self.values.items() if re.fullmatch(r"streams\..+\.samza\.system", key)}
        named |= {text.split(".", 1)[0] for text in self.names("task.inputs") + self.names("task.broadcast.inputs") if "." in text}
        if default := self.get("job.default.system"):
            named.add(default)
        if len(named) > 1:
            raise refused(f"there are several systems: {', '.join(sorted(named))}", "a job reads and writes one Kafka cluster: name one")
        return next(iter(named), "kafka")

    def servers(self) -> str | None:
        keys = [f"systems.{self.system}.{side}.bootstrap.servers" for side in ("consumer", "producer")]
        return next((self.values[key] for key in keys if key in self.values), None)

    def stream(self, text: str, key: str) -> str:
        """`kafka.sentences` or `sentences`."""
        system, dot, name = text.partition(".")
        if dot and system == self.system and name:
            return name
        if not dot:
            return text
        raise refused(f"{key}: {text!r} names no stream of the system {self.system!r}", f"write {self.system}.<stream>")

    def physical(self, name: str) -> str:
        return self.get(f"streams.{name}.samza.physical.name") or name

    def inputs(self, more: list[str] | None = None) -> dict[str, Input]:
        names = [self.stream(text, "task.inputs") for text in self.names("task.inputs")] + (more or [])
        streams = {name: self._input(name) for name in names}
        for text in self.names("task.broadcast.inputs"):
            place, hash_, numbers = text.partition("#")
            span = re.fullmatch(r"(\d+)|\[(\d+)-(\d+)\]", numbers)
            if not hash_ or span is None:
                raise refused(f"task.broadcast.inputs: {text!r} names no partition", "write kafka.rules#0, or kafka.rules#[0-3]")
            one, first, last = span.groups()
            name = self.stream(place, "task.broadcast.inputs")
            partitions = frozenset([int(one)] if one else range(int(first), int(last) + 1))
            streams[name] = self._input(name, broadcast=partitions)
        return streams

    def _input(self, name: str, broadcast: frozenset[int] | None = None) -> Input:
        prefix = f"streams.{name}.samza."
        default = next(
            (self.values[key] for key in (f"{prefix}offset.default", f"systems.{self.system}.default.stream.samza.offset.default",
             f"systems.{self.system}.samza.offset.default") if key in self.values), "upcoming",
        )  # fmt: skip
        if default not in ("upcoming", "oldest"):
            raise refused(f"{prefix}offset.default={default!r} is no position", "give 'oldest' or 'upcoming'")
        bootstrap = self.flag(f"{prefix}bootstrap")
        if self.flag(f"{prefix}reset.offset") and not bootstrap:
            raise refused(
                f"{prefix}reset.offset: state and positions are saved together, and go back together",
                "leave it out; to begin anew, give the job another job.id",
            )
        return Input(name, bootstrap, self.number(f"{prefix}priority", -1), bootstrap or default == "oldest", broadcast)

    def flag(self, key: str) -> bool:
        value = self.values.get(key, "false").lower()
        if value not in ("true", "false"):
            raise refused(f"{key}={value!r} is neither true nor false", "give true or false")
        return value == "true"

    def serde(self, key: str) -> Serde | None:
        name = self.get(key)
        if name is None:
            return None
        registered = self.get(f"serializers.registry.{name}.class")
        kind = (registered or "").rsplit(".", 1)[-1].removesuffix("Factory").removesuffix("SerdeV2").removesuffix("Serde").lower()
        serde = NAMED.get({"bytebuffer": "bytes"}.get(kind, kind)) if registered else NAMED.get(name)
        if serde is None:
            raise refused(f"{key}: there is no serde {name!r}", f"use one of {', '.join(NAMED)}")
        return serde()

    def stream_serdes(self, name: str) -> tuple[Serde | None, Serde | None]:
        def of(part: str) -> Serde | None:
            keys = (
                f"streams.{name}.samza.{part}",
                f"systems.{self.system}.default.stream.samza.{part}",
                f"systems.{self.system}.samza.{part}",
            )
            return next((self.serde(key) for key in keys if key in self.values), None)

        return of("key.serde"), of("msg.serde")

    def stores(self) -> tuple[StoreSpec, ...]:
        pattern = r"stores\.(.+?)\.(?:factory|changelog|key\.serde|msg\.serde)"
        names = dict.fromkeys(name_match[1] for key in self.values if (name_match := re.fullmatch(pattern, key)))
        return tuple(self._store(name) for name in names)

    def _store(self, name: str) -> StoreSpec:
        key, value = self.serde(f"stores.{name}.key.serde"), self.serde(f"stores.{name}.msg.serde")
        for part, serde in (("key", key), ("msg", value)):
            if serde is None:
                raise refused(f"stores.{name}.{part}.serde is not given", f"name one of {', '.join(NAMED)}")
        changelog = self.get(f"stores.{name}.changelog")
        assert key is not None
        assert value is not None
        return StoreSpec(name, column(name), key, value, None if changelog is None else self.stream(changelog, f"stores.{name}.changelog"))


def column(store: str) -> str:
    """The field of the state that holds a store."""
    return "store_" + re.sub(r"\W", "_", store)


def _text(key: Any, value: Any) -> str:
    if isinstance(value, type):  # task.class may be the class itself
        return value.__name__
    if not isinstance(value, str | int | float | bool):
        raise refused(f"{key} is a {type(value).__name__}", "settings are text, numbers, true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)
