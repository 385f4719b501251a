"""Windows in FROM and in GROUP BY, as the values that headrace has for them.

| written                                                            | window                                            |
|--------------------------------------------------------------------|---------------------------------------------------|
| `TUMBLE(TABLE bid, DESCRIPTOR(at), INTERVAL '10' SECOND)`          | `tumbling("10 seconds")`; a fourth argument is the offset |
| `HOP(TABLE bid, DESCRIPTOR(at), slide, size)`                      | `sliding(size, slide)`                            |
| `CUMULATE(TABLE bid, DESCRIPTOR(at), step, size)`                  | `cumulating(step, size)`                          |
| `SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(at), gap)`      | `sessions(gap)`                                   |
| `TUMBLE(bid, '10 seconds')`                                        | the same, with the time of the stream's `event_time` |
| `GROUP BY window(at, '10 seconds', '2 seconds')`                   | Spark's: `tumbling`, or `sliding` with a slide    |
| `GROUP BY session_window(at, '5 minutes')`                         | `sessions`                                        |
| `proctime()` in the place of the time                              | the clock                                         |
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.fronts.sql.reading.durations import duration
from headrace.fronts.sql.reading.tokens import Query, Token, split
from headrace.fronts.stream import Stream
from headrace.fronts.windowed import Clock, clock
from headrace.kernel.event_time import time_columns
from headrace.ops.merging import named
from headrace.ops.windows import Fixed, Window, assigning, cumulating, sessions, sliding, tumbling

BORDERS = ("window_start", "window_end", "window_time")
ENDS = "headrace.window_end"
"""What is noted at a column that is the end of the window of each row: a ranking of that window is final when it is over."""

_CLOCKS = ("PROCTIME", "CURRENT_TIMESTAMP", "NOW")


@dataclass(frozen=True)
class Cut:
    """How a relation is cut into windows: by which column (None: its event time), and where the query says so."""

    window: Window
    on: str | Clock | None
    at: list[Token]
    by: list[Token] = field(default_factory=list)

    def time(self, stream: Stream, query: Query) -> str | Clock:
        """The time that it is cut by."""
        if self.on is not None:
            if isinstance(self.on, str) and self.on not in stream.columns:
                near = [name for name in stream.columns if name.lower() == self.on.lower()]
                if not near:
                    raise query.error(self.at, f"there is no column {self.on!r}", f"the columns are {', '.join(stream.columns)}")
                return near[0]
            return self.on
        if not (times := time_columns(stream.step.preview)):
            raise query.error(
                self.at[0], "it is not known which column is the time",
                'name it: DESCRIPTOR(at); or declare it where the stream is made: stream.event_time("at", "10 seconds")',
            )  # fmt: skip
        return times[0]


def of_relation(name: Token, arguments: list[Token], query: Query) -> tuple[list[Token], Cut]:
    """The relation, and how it is cut, of a window function in FROM."""
    parts = [_unnamed(part) for part in split(arguments)]
    if not parts or not parts[0]:
        raise query.error(name, f"{name.word} names no stream", f"write {_USAGE[name.word]}")
    relation, by = parts[0], []
    if relation[0].word == "TABLE":
        relation = relation[1:]
    for i, token in enumerate(relation):
        if token.word == "PARTITION" and i + 1 < len(relation) and relation[i + 1].word == "BY":
            relation, by = relation[:i], relation[i + 2 :]
            break
    rest = parts[1:]
    on: str | Clock | None = None
    if rest and (column := _time(rest[0])) is not None:
        on, rest = column, rest[1:]
    return relation, Cut(_window(name, rest, query), on, [name, *arguments], by)


def of_group(call: list[Token], query: Query) -> Cut | None:
    """The windows of an item of GROUP BY; None if it is none."""
    if len(call) < 4 or call[1].text != "(" or call[-1].text != ")":
        return None
    name, parts = call[0], split(call[2:-1])
    if name.word not in ("WINDOW", "SESSION_WINDOW", "TUMBLE", "HOP", "SESSION", "CUMULATE"):
        return None
    on = _time(parts[0])
    if on is None:
        raise query.error(
            parts[0] or [name], "the time of a window is a column, and this is an expression",
            f"compute it in a subquery: FROM (SELECT *, … AS at FROM …); then {name.text}(at, …)",
        )  # fmt: skip
    if name.word == "WINDOW":
        spans = [duration(part, query, "a window's length") for part in parts[1:]]
        if not 1 <= len(spans) <= 3:
            raise query.error(call, "a window has a time, a length, and maybe a slide and an offset", "write window(at, '10 minutes')")
        with query.pointing(call):
            offset = spans[2] if len(spans) == 3 else "0 seconds"
            window = tumbling(spans[0], offset=offset) if len(spans) == 1 else sliding(spans[0], spans[1], offset=offset)
        return Cut(window, on, call)
    word = name.become("SESSION", "word") if name.word == "SESSION_WINDOW" else name
    return Cut(_window(word, parts[1:], query), on, call)


def _unnamed(part: list[Token]) -> list[Token]:
    """An argument without its name: SIZE => INTERVAL …"""
    return part[2:] if len(part) > 2 and part[1].text == "=>" else part


def _time(part: list[Token]) -> str | Clock | None:
    """The column of a descriptor, or the clock."""
    inner = part[2:-1] if part and part[0].word == "DESCRIPTOR" else part
    if inner and inner[0].word in _CLOCKS:
        return clock
    if inner and inner[-1].is_name and inner[0].word != "INTERVAL" and len(inner) in (1, 3):
        return inner[-1].name
    return None


_USAGE = {
    "TUMBLE": "TUMBLE(TABLE bid, DESCRIPTOR(at), INTERVAL '10' SECOND)",
    "HOP": "HOP(TABLE bid, DESCRIPTOR(at), INTERVAL '2' SECOND, INTERVAL '10' SECOND): first the slide, then the size",
    "CUMULATE": "CUMULATE(TABLE bid, DESCRIPTOR(at), INTERVAL '1' HOUR, INTERVAL '1' DAY): first the step, then the size",
    "SESSION": "SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(at), INTERVAL '5' MINUTE)",
}


def _window(name: Token, parts: list[list[Token]], query: Query) -> Window:
    spans = [duration(part, query, "an argument") for part in parts]
    wanted = {"TUMBLE": (1, 2), "HOP": (2, 3), "CUMULATE": (2, 3), "SESSION": (1, 1)}[name.word]
    if not wanted[0] <= len(spans) <= wanted[1]:
        raise query.error([name, *(token for part in parts for token in part)], f"{name.word} has other arguments", _USAGE[name.word])
    with query.pointing([name]):
        match name.word:
            case "TUMBLE":
                return tumbling(spans[0], **({"offset": spans[1]} if len(spans) == 2 else {}))
            case "HOP":
                return sliding(spans[1], spans[0], **({"offset": spans[2]} if len(spans) == 3 else {}))
            case "CUMULATE":
                return cumulating(spans[0], spans[1], **({"offset": spans[2]} if len(spans) == 3 else {}))
        return sessions(spans[0])


def assign(stream: Stream, cut: Cut, query: Query) -> Stream:
    """Each record with `window_start` and `window_end` of each window that it is in."""
    time, window = cut.time(stream, query), cut.window
    if not isinstance(window, Fixed) or not isinstance(time, str):
        raise query.error(
            cut.at[0], "how long such a window is, is known when it is over, and not with each record",
            "aggregate it: GROUP BY window_start, window_end",
        )  # fmt: skip
    if taken := [name for name in stream.columns if name.lower() in BORDERS]:
        raise query.error(cut.at[0], f"the rows have a column {taken[0]!r} already", "rename it in a subquery")

    def apply(df: DataFrame) -> DataFrame:
        assigning.check_time(df, time)
        at = assigning.assign(df.where(named(time).isNotNull()), window, assigning.micros(df, time))
        columns = [named(name) for name in df.columns]
        return at.df.select(*columns, F.col(at.start).alias("window_start"), F.col(at.end).alias("window_end", metadata={ENDS: True}))

    with query.pointing(cut.at[0]):
        return stream._then("sql", apply, row="select")
