"""Windows: a stream is cut into parts, each is aggregated, and panes of it go out when its trigger says so.

    stream.key_by("page").window(hr.tumbling("1 minute"), lateness="10 minutes", early="10 seconds").agg(n=F.count("*"))

**What is in a window.** See `kinds` and `policies`: a window's start is in it, its end is not.

**When it ends.** A window [start, end) ends when the watermark W has reached its end, W >= end; with an allowed lateness L it takes records
until W >= end + L. That is Spark's rule, and, one tick of the watermark's meaning aside, Flink's, Beam's and that of Kafka Streams. A
record that is in several windows is taken by those that are still there. What no window takes comes out of the port `late`, as it came, and
so does a record without a time: nothing is dropped. (Beam and Flink drop it, or have an output for it.)

**When it puts out a pane.** Without a trigger, as the job's `output_mode` says: "append" when the window has ended, "update" after each
batch that changed it, "complete" all windows each time. With `early`, `late`, `lateness` or `trigger`, by Beam's rules: early panes, one
pane on time (also if nothing is new), late panes, and, when the lateness is over, a last one if something has been in none. Flink has no
such last pane, and repeats early ones without new records. A window that never had a record has no pane.

**What is in a pane.** All records of the window (`panes="accumulating"`), those since the last pane ("discarding"), or all, and before them
the last pane once more, with `pane.retracted` true ("retracting"). The column `pane` says which it is: `timing` ("early", "on_time",
"late"), `index` from 0 on, `first`, `last`. It is there if a window may have several.

**State.** One row for each key and window that has not ended, lateness included: the buffers of the aggregates, some counters. Without a
watermark a window never ends. A stream that is finished (`hr.finish`), like a batch, ends all its windows.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame

from headrace.errors import DefinitionError, user_line
from headrace.kernel.ports import LATE, MAIN
from headrace.ops.windows import assigning, decided, fixed, merged, sparks
from headrace.ops.windows.aggregates import OwnFold, fold, named
from headrace.ops.windows.kinds import Fixed, Window, cumulating, forever, sessions, sliding, tumbling
from headrace.ops.windows.panes import ACCUMULATIONS, Accumulation
from headrace.ops.windows.policies import Keeping, Until, keeping, until
from headrace.ops.windows.python_folds import fold_python
from headrace.ops.windows.triggers import (
    Trigger,
    after_all,
    after_any,
    after_each,
    after_records,
    after_time,
    after_watermark,
    or_finally,
    repeatedly,
    trigger,
)
from headrace.ops.windows.windowing import Windowing, final, put_out

__all__ = [
    "ACCUMULATIONS", "Accumulation", "Fixed", "OwnFold", "Trigger", "Window", "Windowing", "after_all", "after_any", "after_each",
    "after_records", "after_time", "after_watermark", "aggregate", "cumulating", "final", "fold", "fold_python", "forever", "keeping",
    "named", "or_finally", "ports_of", "put_out", "repeatedly", "sessions", "sliding", "trigger", "tumbling", "until",
]  # fmt: skip


def aggregate(df: DataFrame, windowing: Windowing, aggregates: Mapping[str, Column | OwnFold]) -> DataFrame:
    """The panes of the windows of `df`. With a time the columns are the ports, `main` and `late`; else those of the panes."""
    if windowing.on is not None:
        assigning.check_time(df, windowing.on)
    names = ["start", "end", "pane", *windowing.by, *aggregates]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DefinitionError(
            f"window: there would be two columns {twice[0]!r}",
            fix="rename it before, .rename(…), or give the aggregate another name",
            where=user_line(),
        )
    if windowing.mode == "complete" and windowing.trigger is None:
        return sparks.aggregate(df, windowing, aggregates)
    if isinstance(windowing.window, Until | Keeping):
        return decided.aggregate(df, windowing, aggregates)
    if windowing.window.merges:
        return merged.aggregate(df, windowing, aggregates)
    return fixed.aggregate(df, windowing, aggregates)


def ports_of(windowing: Windowing) -> list[str]:
    """The names of what windows put out."""
    return [MAIN] if windowing.on is None else [MAIN, LATE]
