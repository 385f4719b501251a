"""Serdes: how keys and messages become bytes and back. The order of a store's keys is that of their bytes."""

from __future__ import annotations

import json
import pickle
import struct
from abc import ABC, abstractmethod
from typing import Any

from headrace.fronts.samza.messages import SamzaException


class Serde(ABC):
    """Turns a value into bytes and back. One of your own has these two methods; null never reaches it."""

    @abstractmethod
    def toBytes(self, value: Any) -> bytes:
        """The value as bytes."""

    @abstractmethod
    def fromBytes(self, data: bytes) -> Any:
        """The value that these bytes are."""


class StringSerde(Serde):
    """Text as UTF-8."""

    def toBytes(self, value: Any) -> bytes:
        _must_be(value, str, "string", "text")
        return str(value).encode()

    def fromBytes(self, data: bytes) -> str:
        return data.decode()


class IntegerSerde(Serde):
    """A whole number of 32 bits, as Java writes it: big-endian, so negative ones sort behind."""

    form, name = ">i", "integer"

    def toBytes(self, value: Any) -> bytes:
        _must_be(value, int, self.name, "a whole number")
        try:
            return struct.pack(self.form, value)
        except struct.error:
            raise SamzaException(f"the serde {self.name} cannot write {value!r}: it is too large", "use the serde long, or json") from None

    def fromBytes(self, data: bytes) -> int:
        return int(struct.unpack(self.form, data)[0])


class LongSerde(IntegerSerde):
    """A whole number of 64 bits, big-endian."""

    form, name = ">q", "long"


class DoubleSerde(Serde):
    """A number of 64 bits with a point, big-endian."""

    def toBytes(self, value: Any) -> bytes:
        _must_be(value, (int, float), "double", "a number")
        return struct.pack(">d", value)

    def fromBytes(self, data: bytes) -> float:
        return float(struct.unpack(">d", data)[0])


class JsonSerde(Serde):
    """JSON: text, numbers, lists, dicts. A tuple comes back as a list."""

    def toBytes(self, value: Any) -> bytes:
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except TypeError as error:
            raise SamzaException(
                f"the serde json cannot write {value!r}: {error}",
                "give what JSON has, or a serde of your own",
            ) from None

    def fromBytes(self, data: bytes) -> Any:
        return json.loads(data)


JsonSerdeV2 = JsonSerde
"""Samza's name for the serde of JSON in its newer API."""


class ByteSerde(Serde):
    """Bytes as they are."""

    def toBytes(self, value: Any) -> bytes:
        _must_be(value, (bytes, bytearray), "bytes", "bytes")
        return bytes(value)

    def fromBytes(self, data: bytes) -> bytes:
        return data


class SerializableSerde(Serde):
    """Any Python object that can be pickled: what Java's serialization is to Samza. Only within a process, as the test runner has it: a
    topic may hold what somebody else has written, and to unpickle that would run it."""

    def toBytes(self, value: Any) -> bytes:
        try:
            return pickle.dumps(value, 5)
        except Exception:
            from pyspark import cloudpickle  # classes of a script cannot be imported by name

            return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]

    def fromBytes(self, data: bytes) -> Any:
        return pickle.loads(data)


class NoOpSerde(ByteSerde):
    """No serde: the bytes of the log. In a test, whose streams are in memory, the objects themselves."""


class KVSerde:
    """Key and message with a serde each: messages are then `KV`s. `KVSerde.of(StringSerde(), JsonSerde())`."""

    def __init__(self, key: Serde, value: Serde) -> None:
        self.key, self.value = key, value

    @staticmethod
    def of(key: Serde, value: Serde) -> KVSerde:
        """The pair of serdes."""
        return KVSerde(key, value)


NAMED: dict[str, type[Serde]] = {
    "string": StringSerde, "integer": IntegerSerde, "long": LongSerde, "double": DoubleSerde, "json": JsonSerde, "bytes": ByteSerde,
    "byte": ByteSerde,
}  # fmt: skip
"""Serdes by the names that configuration has for them."""


def _must_be(value: Any, kind: Any, name: str, wanted: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and bool not in (kind if isinstance(kind, tuple) else (kind,))):
        raise SamzaException(f"the serde {name} cannot write {value!r} ({type(value).__name__})", f"give it {wanted}, or use another serde")
