"""Tables that change: `stream.key_by("currency").table()`, and what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from pyspark.sql import Column, DataFrame

from headrace.definitions import arguments
from headrace.errors import unknown_name
from headrace.ops.joins import checks, foreign, intervals, rules, tables
from headrace.ops.joins.sides import PORTS, together

if TYPE_CHECKING:
    from headrace.fronts.joining import Joining
    from headrace.fronts.stream import Stream

BY = ("time", "arrival")


class ChangingTable:
    """A stream as a table: the newest record of each key is the row of that key. Made by `key_by(…).table()`.

    For `stream.join(table, on=…)`, `table.join(other, on=…)`, and `key_by(…).with_rules(table)`.
    """

    def __init__(self, stream: Stream, keys: tuple[str, ...], deleted: Column | None) -> None:
        self.stream, self.keys, self.deleted = stream, keys, deleted

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_name("a table that changes", name, ["join", "stream", "keys"], {"to": "write its stream: table.stream.to.…"})

    def __repr__(self) -> str:
        return f"ChangingTable by {', '.join(self.keys)} of {self.stream!r}"

    def join(self, other: ChangingTable, on: str | Sequence[str], how: str = "inner", *, by: str = "time") -> Stream:
        """The changes of two tables, joined: for each record of either, the row that the joined table has now, or, with `deleted` true,
        that it has none any more.

        >>> import headrace as hr
        >>> users = hr.read.memory("id int, name string", [(1, "Ann"), (2, "Bob")]).key_by("id").table()
        >>> emails = hr.read.memory("id int, email string", [(1, "a@x.org")]).key_by("id").table(deleted="email IS NULL")
        >>> changed = users.join(emails, on="id", how="left", by="arrival").to.memory()
        >>> hr.Job("users", changed).run("batch")
        >>> sorted(str(tuple(row)) for row in changed.sink.rows)
        ["(1, 'Ann', 'a@x.org', False)", "(2, 'Bob', None, False)"]

        on   the key of both; or a foreign key: columns of this table that are the key of the other.
        how  "inner", "left" or "full"; by a foreign key "inner" or "left".
        by   "time": records of both are taken in the order of their `event_time`, and a change says in `changed` when it was. "arrival": as
             they come, and by a foreign key always so.

        The result is a stream of changes; `.key_by(…).table(deleted="deleted")` is a table again. See `headrace.ops.joins.tables` for the
        rules, and `headrace.ops.joins.foreign` for foreign keys, which need several states and are not in real time.
        """
        if not isinstance(other, ChangingTable):
            raise checks.refused("join", f"{arguments.shown(other)} is no table that changes", 'make it one: stream.key_by("id").table()')
        keys = arguments.names("join: on", on)
        arguments.one_of("join: by", by, BY)
        deleted = (self.deleted, other.deleted)
        if set(keys) != set(other.keys):
            raise checks.refused(
                "join", f"the other table is by {', '.join(other.keys)}, and not by {', '.join(keys)}",
                f"join on its key, {', '.join(other.keys)}; rename it before if it is called otherwise here",
            )  # fmt: skip
        if set(keys) != set(self.keys):
            return self._by_foreign_key(other, keys, how, by)
        checks.names("join", self.stream.step.preview, other.stream.step.preview, keys)
        times = times_of("join", self.stream, other.stream) if by == "time" else None
        joined = self.stream._then(
            "join",
            lambda df, more: tables.changes(together("join", df, more, keys, times, deleted=deleted), how),
            other.stream,
            row="join_tables", keys=keys, how=how, by=by,
        )  # fmt: skip
        return joined if times is None else joined._parted("join", PORTS)

    def _by_foreign_key(self, other: ChangingTable, keys: list[str], how: str, by: str) -> Stream:
        if by == "time":
            raise checks.refused("join", "by a foreign key tables are joined as their records arrive", 'say so: by="arrival"')
        deleted = (self.deleted, other.deleted)
        return self.stream._then(
            "join",
            lambda df, more: foreign.changes(df, more, keys=self.keys, on=keys, how=how, deleted=deleted),
            other.stream,
            row="join_foreign", keys=self.keys, on=keys, how=how,
        )  # fmt: skip


class Tabled:
    """The part of a keyed stream that makes a table of it, or sees one."""

    stream: Stream
    keys: tuple[str, ...]

    def table(self, *, deleted: str | Column | None = None) -> ChangingTable:
        """The stream as a table: the newest record of each key is its row. A record for which the condition `deleted` is true, such as
        `"price IS NULL"`, says that the key has no row any more."""
        if not self.keys:
            raise checks.refused("table", "there is no key", 'name one: key_by("id").table()')
        gone = None if deleted is None else arguments.expression("table: deleted", deleted)
        if gone is not None:
            self.stream.where(gone)  # refused here if it is no condition
        return ChangingTable(self.stream, self.keys, gone)

    def with_rules(self, table: ChangingTable, *, into: str = "rules", by: str = "time", copies: int = rules.COPIES) -> Stream:
        """Each record with all rows of a small table, as an array: rules that another stream changes while the job runs.

        >>> import headrace as hr
        >>> from pyspark.sql import functions as F
        >>> limits = hr.read.memory("name string, most int", [("day", 100), ("hour", 10), ("day", 50)]).key_by("name").table()
        >>> payments = hr.read.memory("card string, amount int", [("a", 7), ("b", 70)])
        >>> checked = payments.key_by("card").with_rules(limits, into="limits", by="arrival")
        >>> over = F.expr("transform(filter(limits, l -> amount > l.most), l -> l.name)")
        >>> broken = checked.select("card", over.alias("broken")).to.memory()
        >>> hr.Job("limits", broken).run("batch")
        >>> sorted((row.card, sorted(row.broken)) for row in broken.sink.rows)
        [('a', []), ('b', ['day', 'hour'])]

        by      "time": a record sees what the table was at its own time, its `event_time`; both streams need one. "arrival": what it is
                when the record comes.
        copies  the table is kept so many times, and the records are spread over them by their key.

        Late records come out of `.late`, late rules out of `.port("late_other")`. See `headrace.ops.joins.rules` for the rules of it.

        State: the table, `copies` times, and by time the records of the delay. Every mode has it; in real time by time at the end of
        a batch.
        """
        if not isinstance(table, ChangingTable):
            raise checks.refused(
                "with_rules", f"{arguments.shown(table)} is no table that changes", 'make one: rules.key_by("name").table()'
            )
        arguments.one_of("with_rules: by", by, BY)
        name = arguments.name("with_rules: into", into)
        times = times_of("with_rules", self.stream, table.stream) if by == "time" else None

        def see(df: DataFrame, more: DataFrame) -> DataFrame:
            return rules.with_rules(
                df, more, keys=self.keys, by=table.keys, into=name, times=times, deleted=table.deleted, copies=copies
            )  # fmt: skip

        seen = self.stream._then("with_rules", see, table.stream, keys=self.keys, rules=table.keys, by=by, copies=copies)
        return seen if times is None else seen._parted("with_rules", PORTS)


def times_of(operator: str, stream: Joining, other: Joining, instead: str = ', or by="arrival"') -> tuple[str, str]:
    """The times of two streams, which must have one; or what to write instead."""
    times = [intervals.event_times(each.step.preview.schema) for each in (stream, other)]
    for which, columns in zip(("this", "the other"), times, strict=True):
        if not columns:
            what = f"it is not known which column of {which} stream is the time"
            raise checks.refused(operator, what, f'.event_time("column", "10 minutes") before {operator}{instead}')
    return times[0][0], times[1][0]
