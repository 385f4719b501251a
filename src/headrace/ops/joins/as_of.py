"""Each record with the one of another stream that is nearest to it in time: an as-of join.

| direction  | of the other's records of the key, that                                                                     |
|------------|-------------------------------------------------------------------------------------------------------------|
| `backward` | which is the last one at or before the time of the record; of equal times, the last that arrived            |
| `forward`  | which is the first one at or after it; of equal times, the first that arrived                               |
| `nearest`  | of these two the one that is less far; equally far: the one before. Of equal times, the last that arrived   |

`strict` leaves out those of the record's own time. With a `tolerance` it may be no further away, and may be as far. With `how="left"` a
record without one stays, with nulls; with `"inner"` it does not.

    own at    1 5 10        backward 1 3 7    strict - 3 7    tolerance 1 s: 1 - -
    other at  1 2 3 6 7     forward  1 6 -    nearest 1 6 7

Records of both streams are taken in the order of their time, when the watermark of both has passed them. So what came out never changes,
and a stream that is silent holds up the other. `backward` comes then; `forward` and `nearest` when the next one of the other stream does,
or none can come any more that is near enough. A record that is late, or has no time, goes out of a port. Null keys meet nothing.

With `deleted`, a condition over the other's columns, the other stream is a table whose rows change: as of a record for which it is true,
and until the next, there is none. (`backward` only.)

The time that goes on is that of the record. With `forward` and `nearest` it is behind the watermark by the tolerance; without a tolerance
none goes on.

State: `backward`, the last record of the other stream, of each key, for ever; with a tolerance until that has passed. `forward`, the
records that wait for the next one: without a tolerance as long as none comes. `nearest`, both. And the records of the delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.bags import Bag, Each, Expire
from headrace.kernel.scan import scan
from headrace.ops.joins import checks
from headrace.ops.joins.sides import AT, Sides, together

HOW = ("inner", "left")
DIRECTIONS = ("backward", "forward", "nearest")

_FOREVER = "3000000 days"  # later than any time that is meant: what waits so long leaves at the end of the input
_FAR = 253_402_300_799_000_000  # the last second of year 9999


def as_of(
    df: DataFrame,
    other: DataFrame,
    keys: Sequence[str],
    times: tuple[str, str],
    *,
    direction: str = "backward",
    strict: bool = False,
    tolerance: int | None = None,
    how: str = "left",
    delay: str = "0 seconds",
    deleted: Column | None = None,
) -> DataFrame:
    """The records of `df`, each with the nearest of `other`; `times` are the times of both, the tolerance is in microseconds.

    The result has the ports `main`, `late` and `late_other`. The keys come first and once, then the other columns of `df`, then those of
    `other`; a name that both have is refused. A stream whose time has no watermark gets one that trails it by `delay`.
    """
    checks.how("as_of", how, HOW, "an as-of join")
    if direction not in DIRECTIONS:
        raise checks.refused("as_of", f"direction={direction!r} is not known", f"use one of {', '.join(DIRECTIONS)}")
    checks.names("as_of", df, other, keys)
    if deleted is not None and direction != "backward":
        raise checks.refused("as_of", f"direction={direction!r} does not look at what is deleted", "leave out deleted, or look backward")
    sides = together("as_of", df, other, keys, times, delay, (None, deleted))
    return nearest(sides, direction, strict=strict, tolerance=tolerance, how=how)


def nearest(sides: Sides, direction: str, *, strict: bool = False, tolerance: int | None = None, how: str = "left") -> DataFrame:
    """The same for the records of both sides."""
    plan = {"backward": _backward, "forward": _forward, "nearest": _nearest}[direction]
    own_first = strict != (direction == "forward")  # of equal times
    turned = sides.df.withColumn(_TURN, sides.other.row.isNotNull() if own_first else sides.own.row.isNotNull())
    options: dict[str, Any] = plan(sides, strict, tolerance, inner=how == "inner")
    behind = 0 if direction == "backward" else tolerance
    if sides.df.isStreaming and behind is not None:
        options |= {"time_out": sides.own.time, "time_behind": _micros(behind)}
    return sides.parted(scan(turned, keys=sides.keys, event_time=AT, order=_TURN, **options))


_TURN = "turn"


def _micros(micros: int) -> str:
    return f"{micros} microseconds"


def _rows(sides: Sides, own: Column, other: Column | None) -> list[Column]:
    return [*sides.key_columns("left"), *sides.own.columns(own), *sides.other.columns(other)]


def _backward(sides: Sides, _strict: bool, tolerance: int | None, *, inner: bool) -> dict[str, Any]:
    last = _Last(sides, tolerance)
    return {
        **last.options(),
        "output": _rows(sides, sides.own.row, F.when(last.fits, last.row)),
        "when": sides.is_own & last.fits if inner else sides.is_own,
    }


def _forward(sides: Sides, strict: bool, tolerance: int | None, *, inner: bool) -> dict[str, Any]:
    alone: dict[str, Any] = {} if inner else {"output": _rows(sides, F.col("bag.row"), None)}
    waiting = Bag(
        add=[sides.own.row.alias("row"), F.col(AT)],
        when=sides.is_own & sides.has_keys,
        time=AT,
        each=Each(
            between=(None, F.when(~sides.is_own & sides.has_keys, sides.moved(-1 if strict else 0))),
            remove=True,
            output=_rows(sides, F.col("bag.row"), sides.other.row),
        ),
        expire=Expire(after=_FOREVER if tolerance is None else _micros(tolerance), **alone),
    )
    without_key = sides.is_own & ~sides.has_keys & F.lit(not inner)
    return {"bags": {"waiting": waiting}, "output": _rows(sides, sides.own.row, None), "when": without_key}


def _nearest(sides: Sides, strict: bool, tolerance: int | None, *, inner: bool) -> dict[str, Any]:
    last, instants = _Last(sides, tolerance), sides.instants
    far, now = instants.time(F.lit(_FAR)), instants.micros(F.col(AT))
    back = F.when(last.fits, now - instants.micros(last.at))  # how far the one before is, if it is near enough
    wait = back if tolerance is None else F.least(back, F.lit(tolerance))  # after that no later one can be nearer
    until = F.coalesce(instants.time(now + wait), far)
    same = F.lit(False) if strict else F.coalesce(back == 0, F.lit(False))
    passed = F.col("bag.at") < F.col(AT)
    ahead = now - instants.micros(F.col("bag.at"))
    nearer = F.when(F.col("bag.back") <= ahead, F.col("bag.before")).otherwise(sides.other.row)
    before = _rows(sides, F.col("bag.row"), F.col("bag.before"))
    waiting = Bag(
        add=[sides.own.row.alias("row"), F.col(AT), F.when(last.fits, last.row).alias("before"), back.alias("back"), until.alias("until")],
        when=sides.is_own & sides.has_keys & ~same,
        time="until",
        each=Each(
            between=(None, F.when(~sides.is_own & sides.has_keys, far)),
            remove=passed,
            output=_rows(sides, F.col("bag.row"), nearer),
            when=passed,
        ),
        expire=Expire(after="0 seconds", output=before, when=F.col("bag.back").isNotNull() if inner else None),
    )
    at_once = sides.is_own & (same | (~sides.has_keys & F.lit(not inner)))
    return {
        **last.options(),
        "bags": {"waiting": waiting},
        "output": _rows(sides, sides.own.row, F.when(last.fits, last.row)),
        "when": at_once,
    }


class _Last:
    """The last record of the other stream, kept in the state of the key: `row` and `at`. It `fits` if it is near enough."""

    def __init__(self, sides: Sides, tolerance: int | None) -> None:
        self.row, self.at = F.col("state.row"), F.col("state.at")
        near = self.at.isNotNull() if tolerance is None else F.coalesce(self.at >= sides.moved(-tolerance), F.lit(False))
        self.fits = near & sides.has_keys
        self._sides, self._tolerance = sides, tolerance

    def options(self) -> dict[str, Any]:
        """What a scan needs to keep it. With a tolerance it is forgotten when nothing that comes can be so near."""
        schema, comes, stays = self._sides.df.schema, ~self._sides.is_own & self._sides.has_keys, ~self._sides.is_gone
        return {
            "state": {"row": schema[self._sides.other.name].dataType, "at": schema[AT].dataType},
            "update": {
                "row": F.when(comes, F.when(stays, self._sides.other.row)).otherwise(self.row),
                "at": F.when(comes, F.when(stays, F.col(AT))).otherwise(self.at),
            },
            "idle": None if self._tolerance is None else _micros(max(self._tolerance, 1)),
        }
