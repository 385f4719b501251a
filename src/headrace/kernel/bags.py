"""Bags: many rows that a scan keeps for a key, in the order of their time, of which a record visits some.

Each record with the values of its key in the three seconds before it:

    >>> import headrace as hr
    >>> from pyspark.sql import functions as F
    >>> beats = hr.session().sql("SELECT 'a' AS k, v, timestamp_seconds(v) AS at FROM VALUES (1), (3), (6), (7) AS t(v)")
    >>> at = F.col("at")
    >>> recent = Bag(add=["v", "at"], time="at", most=100,
    ...              each=Each(between=(at - F.expr("interval 3 seconds"), at), output=["v", F.col("bag.v").alias("before")]),
    ...              expire=Expire(after="3 seconds"))
    >>> pairs = hr.scan(beats, keys="k", bags={"recent": recent}, event_time="at")
    >>> [tuple(row) for row in hr.port(pairs, "main").collect()]
    [(3, 1), (6, 3), (7, 6)]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column

from headrace.definitions.arguments import Condition
from headrace.errors import DefinitionError, user_line
from headrace.kernel.ports import Columns, Port

MOST = 1_000_000
"""So many rows may a bag of one key have, unless it says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Each:
    """What a record does with each row of a bag that it visits, in the order of their time; those of equal times as they were added.

    between     the times of the rows to visit, from and to, both included: timestamps made of the record and the state. None: no bound on
                that side. If one of the two is null, this record visits no row.
    limit       so many rows at most: the first of those. Default: all of them.
    update      field of the state -> its next value. The next row, and then the record itself, see it.
    change      column of the bag -> its next value for this row. A row whose time changes moves there; this record does not visit it again.
    remove      a condition; true: the row goes.
    output, when, ports     rows that go out, as those of `scan`.

    Its expressions may use the row as `bag.<column>`, the record, `state.<field>` and, with event time, `scan.watermark`.
    """

    between: tuple[Column | str | None, Column | str | None] = (None, None)
    limit: int | None = None
    update: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, Any] = field(default_factory=dict)
    remove: Condition | None = None
    output: Columns = ()
    when: Condition | None = None
    ports: Mapping[str, Port] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Expire:
    """A row leaves its bag so long `after` its time, and may put out rows or change the state as it goes.

    The rule: it leaves after all records up to and including that time, and before any later one. With `event_time` it does so before the
    first later record of its key, or when the watermark has reached that time; where records are taken as they arrive (`wait=False`), when
    the watermark has; without `event_time`, when the clock has. Rows leave in the order of their time, before an alarm of the same time.
    At the end of the input, in a batch or with the trigger `finish`, all that are left leave.

    With `into`, the row goes over into the bag of that name, which has the same columns, with what `change` gives for some of them; it is
    visited and leaves as a row of that bag from then on. So something may happen to a row at two times.

    Its expressions may use the key columns, `bag.<column>` and `state.<field>`. With `together` all rows of one time leave at once, and
    they see these as `bag.rows`, an array of structs in the order in which they were added; they go over into no other bag.
    """

    after: str
    into: str | None = None
    change: Mapping[str, Any] = field(default_factory=dict)
    together: bool = False
    update: Mapping[str, Any] = field(default_factory=dict)
    output: Columns = ()
    when: Condition | None = None
    ports: Mapping[str, Port] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Bag:
    """Rows that each key keeps, ordered by a time. For a record, a scan first visits rows of its bags, one bag after the other; then it
    takes its own step, over the state as the visits left it; and then it adds rows to its bags, made of the record and that same state.

    add         the columns of the row to add; or one column of type array<struct>: as many rows as it has elements.
    when        a condition; false or null: this record adds nothing.
    time        the column of `add` that orders the rows, a timestamp. A row without a time is not kept.
    each        what a record does with the rows that it visits; see Each.
    expire      when a row leaves; see Expire. Default: never, unless a record removes it.
    most        so many rows may one key have. One more fails the job.

    To forget a key, with `forget` or `idle`, empties its bags; nothing is put out for what was in them. A key whose bags are empty, and
    whose state is as it began, is forgotten by itself, unless there is a timer: keys that come once do not pile up.

    A record costs as much as the rows that it visits and adds, however many are kept: they lie in the state store by key and time.
    """

    add: Columns
    when: Condition | None = None
    time: str
    each: Each | None = None
    expire: Expire | None = None
    most: int = MOST


def checked(at: str, bag: object) -> Bag:
    """A bag that can be used, or an error that says what is wrong with it."""
    if not isinstance(bag, Bag):
        raise _refused(at, f"{bag!r} is no Bag", "write Bag(add=[…], time='at', …)")
    if bag.each is None and bag.expire is None:
        raise _refused(at, "nothing is done with its rows", "give it each=Each(…), expire=Expire(after=…), or both")
    for part, kind in (("each", Each), ("expire", Expire)):
        if not isinstance(getattr(bag, part), kind | None):
            raise _refused(f"{at}.{part}", f"{getattr(bag, part)!r} is no {kind.__name__}", f"write {part}={kind.__name__}(…)")
    if bag.expire is not None and bag.expire.together and bag.expire.into is not None:
        raise _refused(f"{at}.expire", "rows that leave together go over into no other bag", "leave out together or into")
    _positive(f"{at}.most", bag.most)
    if bag.each is not None:
        if bag.each.limit is not None:
            _positive(f"{at}.each.limit", bag.each.limit)
        if not isinstance(bag.each.between, tuple) or len(bag.each.between) != 2:
            raise _refused(
                f"{at}.each.between", f"{bag.each.between!r} are not two times", "write between=(from, to), either of which may be None"
            )
    return bag


def _positive(at: str, number: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise _refused(at, f"{number!r} is not a number of rows", "give a whole number, 1 or more")


def _refused(at: str, what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"{at}: {what}", fix=fix, where=user_line())
