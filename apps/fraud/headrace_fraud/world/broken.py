"""Good records made bad, in each of the ways that have a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
_NUMBERS = ("amount", "lat", "lon")


def _without(name: str) -> Callable[[Fields], None]:
    return lambda fields: fields.pop(name)


def _with(name: str, *values: Any) -> Callable[[Fields], None]:
    """Another value for the field; of several one that depends on the record."""
    return lambda fields: fields.update({name: values[len(str(fields)) % len(values)]})


def _future(fields: Fields) -> None:
    fields["ts"] = f"{int(fields['ts'][:4]) + 70}{fields['ts'][4:].replace('-02-29', '-02-28')}"


def _ways(names: list[str]) -> dict[str, Callable[[Fields], None]]:
    ways = {"unknown_type": _with("type", "refund", "TRANSACTION", None)}
    ways |= {f"missing:{name}": _without(name) for name in names if name != "card"}
    for name in names:
        if name == "ts":
            ways["bad_type:ts"] = _with("ts", "2026-02-30T10:00:00Z", "yesterday", 1770000000)
        elif name in _NUMBERS:
            ways[f"bad_type:{name}"] = _with(name, "12.34", True, float("nan"))  # written as a bare NaN, as careless programs do
        else:
            ways[f"bad_type:{name}"] = _with(name, 4111, ["c1"], False)
    ways |= {"out_of_range:lat": _with("lat", 91.5, -123.4), "out_of_range:lon": _with("lon", 181.0, -200.5), "future_timestamp": _future}
    return ways


_WAYS = {
    "transaction": _ways(["tx_id", "customer", "card", "amount", "merchant", "lat", "lon", "ts"])
    | {"out_of_range:amount": _with("amount", 0, -5)},
    "location": _ways(["customer", "lat", "lon", "ts"]),
}
_NOT_JSON: list[Callable[[bytes], bytes]] = [
    lambda good: good[: len(good) * 3 // 4],
    lambda good: good.replace(b'"customer"', b'"\xc3\x28"'),
    lambda good: b"<html><body>502 Bad Gateway</body></html>" + good[:0],
    lambda good: good[:0],
]


def broken(fields: Fields, choice: int) -> tuple[bytes, str]:
    """The record spoiled in the way that the number chooses, and the reason for which it must be refused."""
    ways = _WAYS[fields["type"]]
    choice, which = divmod(choice, len(ways) + 1)
    if which == len(ways):
        return _NOT_JSON[choice % len(_NOT_JSON)](json.dumps(fields, separators=(",", ":")).encode()), "not_json"
    reason, spoil = list(ways.items())[which]
    spoil(fields)
    return json.dumps(fields, separators=(",", ":")).encode(), reason


def reasons() -> set[str]:
    """Every reason that occurs."""
    return {"not_json", *(reason for ways in _WAYS.values() for reason in ways)}
