"""Two tables that change, joined by a foreign key: a row of the first names the row of the second that it belongs to.

A change of the first gives its row with that of the second; a change of the second gives a row for each of the first that names it. As
with two tables of one key, a row whose `deleted` is true says that the joined table has none for that key any more.

    first   k1        k2       k3       .        k-       k1       q10    r10    .
    second  1 foo                       3 bar                                    10 baz
    inner   k1 foo    k x               k3 bar   k x      k1 foo                 q10 baz, r10 baz
    left    k1 foo    k2 -     k3 -     k3 bar   k- -     k1 foo   q10 -  r10 -  q10 baz, r10 baz

It is three scans, one behind the other, so real time does not have it:

1. by the key of the first table: which row it named before. Its change goes to that one, which it leaves, and to the one that it names now.
2. by the foreign key: the row of the second table, and those of the first that name it.
3. by the key of the first table again: answers come from different places in any order, and one of an older version of the row is passed
   over.

Within a micro-batch, and in a batch, records of the second table come first, so only the last row of a key is the same in every mode, where
one that is `deleted` is as good as none.

State: the rows of both tables; and for each key that the first table ever had, some numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.bags import Bag, Each
from headrace.kernel.scan import scan
from headrace.ops.joins import checks
from headrace.ops.joins.tables import DELETED
from headrace.ops.merging import named

HOW = ("inner", "left")

_SPREAD = 10**15  # rows of the first table lie in their bag by a hash of their key, as a time in these microseconds


def changes(
    df: DataFrame,
    other: DataFrame,
    *,
    keys: Sequence[str],
    on: Sequence[str],
    how: str,
    deleted: tuple[Column | None, Column | None] = (None, None),
) -> DataFrame:
    """The changes of the table `df`, whose keys are `keys`, with the rows of `other`, whose keys are `on`, which are columns of both."""
    checks.how("join", how, HOW, "two tables by a foreign key")
    checks.names("join", df, other, on)
    for name in on:
        here, there = (frame.schema[name].dataType.simpleString().upper() for frame in (df, other))
        if here != there:
            raise checks.refused("join", f"the key {name!r} is of type {here} here and of type {there} there", "cast one of the two")
    for frame in (df, other):
        if DELETED in (name.lower() for name in frame.columns):
            raise checks.refused("join", f"a table has a column {DELETED!r} already", f"rename it before: .rename({DELETED}='…')")
    return _Foreign(df, other, list(keys), list(on), how, deleted).plan()


class _Foreign:
    def __init__(
        self, df: DataFrame, other: DataFrame, keys: list[str], on: list[str], how: str, deleted: tuple[Column | None, Column | None]
    ) -> None:
        self.df, self.other, self.keys, self.on, self.how, self.deleted = df, other, keys, on, how, deleted
        self.values = [name for name in other.columns if name not in on]
        self.row = F.struct(*(named(name).alias(name, metadata={}) for name in df.columns)).alias("row")
        self.row_type = df.select(self.row).schema[0].dataType

    def plan(self) -> DataFrame:
        return self._newest(self._met(self._sent()))

    def _sent(self) -> DataFrame:
        """By the key of the first table: (route, key, n, row), where a row that is null leaves, and a route that is null is an answer."""
        gone = F.lit(False) if self.deleted[0] is None else F.coalesce(self.deleted[0], F.lit(False))
        keyed = self.df.where(_all_known(self.keys)).select(*(named(key).alias(f"k{i}") for i, key in enumerate(self.keys)),
            gone.alias("gone"), self._route().alias("route"), self.row)  # fmt: skip
        route, before, n = F.when(~F.col("gone"), F.col("route")), F.col("state.route"), F.col("state.n") + 1
        key = F.struct(*(F.col(f"k{i}").alias(name) for i, name in enumerate(self.keys))).alias("key")
        row = F.when(~F.col("gone"), F.col("row")).alias("row")

        def message(to: Column, row: Column) -> Column:
            return F.struct(to.alias("route"), key, n.alias("n"), row.alias("row"))

        none = F.lit(None).cast(self.row_type)
        leaves = F.when(before.isNotNull() & ~before.eqNullSafe(route), message(before, none))
        return scan(
            keyed,
            keys=[f"k{i}" for i, _ in enumerate(self.keys)],
            state={"route": keyed.schema["route"].dataType, "n": F.lit(0).cast("bigint")},
            update={"route": route, "n": n},
            output=F.array_compact(F.array(leaves, message(route, row))),
        )

    def _met(self, sent: DataFrame) -> DataFrame:
        """By the foreign key: (key, n, row, other), an answer for each row that is concerned."""
        gone = F.lit(False) if self.deleted[1] is None else F.coalesce(self.deleted[1], F.lit(False))
        table_row = F.struct(*(named(name).alias(name, metadata={}) for name in self.values), F.lit(True).alias("_")).alias("said")
        theirs = self.other.where(_all_known(self.on)).select(self._route().alias("route"), gone.alias("gone"), table_row)
        both = theirs.unionByName(sent, allowMissingColumns=True)
        is_row, before = F.col("key").isNotNull(), F.col("state.said")
        now = F.when(is_row, before).otherwise(F.when(~F.col("gone"), F.col("said")))
        place = F.timestamp_micros(F.pmod(F.xxhash64("key"), F.lit(_SPREAD)))
        first, last = F.timestamp_micros(F.lit(0)), F.timestamp_micros(F.lit(_SPREAD))
        same = is_row & (F.col("bag.key") == F.col("key"))
        rows = Bag(
            add=["key", "n", "row", place.alias("place")],
            when=is_row & F.col("route").isNotNull() & F.col("row").isNotNull(),
            time="place",
            each=Each(
                between=(F.when(is_row, place).otherwise(first), F.when(is_row, place).otherwise(last)),
                remove=same,
                output=[F.col("bag.key"), F.col("bag.n"), F.col("bag.row"), now.alias("other")],
                when=~is_row,
            ),
        )
        return scan(
            both,
            keys="route",
            state={"said": both.schema["said"].dataType},
            update={"said": now},
            output=["key", "n", "row", F.when(F.col("route").isNotNull(), before).alias("other")],
            when=is_row & (F.col("route").isNull() | F.col("row").isNotNull()),
            bags={"rows": rows},
        )

    def _newest(self, answers: DataFrame) -> DataFrame:
        """By the key of the first table: the change, if the answer is of the newest version of its row."""
        keyed = answers.select(F.col("key"), F.col("n"), F.col("row"), F.col("other"))
        newest, shown = F.col("state.n"), F.col("state.shown")
        known = F.col("n") >= newest
        is_now = F.col("row").isNotNull() & (F.lit(True) if self.how == "left" else F.col("other").isNotNull())
        row, other = F.when(is_now, F.col("row")), F.when(is_now, F.col("other"))
        own = [name for name in self.df.columns if name not in self.keys]
        return scan(
            keyed,
            keys="key",
            order="n",
            state={"n": F.lit(0).cast("bigint"), "shown": False},
            update={"n": F.greatest(newest, F.col("n")), "shown": F.when(known, is_now).otherwise(shown)},
            output=[
                *(F.col("key")[name].alias(name) for name in self.keys), *(row[name].alias(name) for name in own),
                *(other[name].alias(name) for name in self.values), (~is_now).alias(DELETED),
            ],
            when=known & (is_now | shown),
        )  # fmt: skip

    def _route(self) -> Column:
        """The foreign key; null if a part of it is."""
        return F.when(_all_known(self.on), F.struct(*(named(name).alias(name, metadata={}) for name in self.on)))


def _all_known(names: Sequence[str]) -> Column:
    return reduce(and_, (named(name).isNotNull() for name in names))
