"""A stream by key: what keeps a state for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Unpack

from pyspark.sql import Column, DataFrame

from headrace.definitions import arguments
from headrace.fronts import hints
from headrace.fronts.changing import Tabled
from headrace.fronts.ranking import Ranked
from headrace.fronts.windowed import Windowed, WindowOptions
from headrace.kernel.python.scanning import PythonScanOptions, ports_of_python, scan_python
from headrace.kernel.scan import LATE, MAIN, ScanOptions, ports_of, scan
from headrace.ops import merging
from headrace.ops.features import ANSWERS, Feature, check_options, others_of, with_features
from headrace.ops.patterns.matching import MatchOptions, match, ports_of_match
from headrace.ops.patterns.pattern import Pattern
from headrace.ops.windows import Window

if TYPE_CHECKING:
    from headrace.fronts.stream import Stream


class Keyed(Ranked, Tabled):
    """A stream, taken apart by key; made by `Stream.key_by`. What follows is done for each value of the key on its own."""

    def __init__(self, stream: Stream, keys: tuple[str, ...]) -> None:
        self.stream, self.keys = stream, keys

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise hints.of_keyed(self, name, type(self.stream))

    def agg(self, *columns: Column) -> Stream:
        """Totals of each key, as Spark's `groupBy(…).agg(…)` has them: in a batch one row a key, in a micro-batch one for each key that
        changed in it (unless the job's `output_mode` says otherwise), in real time one for each record. The last row of a key is the same
        in all modes.

        State: one row for each key, for ever.
        """
        aggregates = arguments.aggregates("agg", columns)
        return self.stream._then("agg", lambda df: df.groupBy(*self.keys).agg(*aggregates))

    def with_features(
        self,
        *,
        time: str | None = None,
        order: str | Sequence[str] = (),
        event_time: str | None = None,
        delay: str = "0 seconds",
        wait: bool = True,
        idle: str | None = None,
        asked: Stream | None = None,
        **features: Feature,
    ) -> Stream:
        """Every record with what is known of its key: `running`, `within`, `previous`, `last_n`, `since`, `seen_before`, `latest`.

        >>> import headrace as hr
        >>> from pyspark.sql import functions as F
        >>> payments = hr.read.memory("customer string, amount double")
        >>> payments.key_by("customer").with_features(largest=hr.running(F.max("amount")))
        Stream[customer: string, amount: double, largest: double]

        All features of the key are one scan: one shuffle, one read and one write of state for each record. `time` is the column that
        `within` and `seen_before` measure by; the other options are those of `scan`. (`wait=False`: each record finds what came before it.)

        `asked` is a stream of questions, with the key and an `id`, such as the requests of a `drpc.Function`. Each gives a row of the port
        `answers`: the id, the key, and the features as they are at that moment. A question changes nothing.

        State: one row for each key, until it is `idle`: a few numbers for each feature, and the records of its time for `within`, so many
        for `last_n`. Every mode has it.
        """
        check_options(time=time, order=order, event_time=event_time, delay=delay, idle=idle)
        questions = [] if asked is None else [asked]
        others = [*(other.df for other in others_of(features)), *questions]
        for other in others:
            merging.check(other, type(self.stream), "a Stream (from hr.read)")

        def add(df: DataFrame, *more: DataFrame) -> DataFrame:
            latest, question = (more, None) if asked is None else (more[:-1], more[-1])
            return with_features(
                df, keys=self.keys, features=features, others=latest, time=time, order=order, event_time=event_time, delay=delay,
                wait=wait, idle=idle, asked=question,
            )  # fmt: skip

        ports = [MAIN, *(ANSWERS for _ in questions), *([LATE] if event_time else [])]
        return self.stream._then("with_features", add, *others)._parted("with_features", ports)

    def match(self, pattern: Pattern, **options: Unpack[MatchOptions]) -> Stream:
        """The matches of a pattern among the records of each key: `start`, `end`, the key and the `output`. The options are those of
        `headrace.match`.

        >>> import headrace as hr
        >>> payments = hr.read.memory("card string, amount double, at timestamp")
        >>> tested = hr.step("small", "amount < 1").times(2).followed_by("large", "amount > 500").within("10 minutes")
        >>> payments.key_by("card").match(tested, event_time="at", delay="1 minute", output=["large.amount"])
        Stream[start: timestamp, end: timestamp, card: string, amount: double]

        Its ports are streams: `.port("timed_out")` with `within`, `.late` with `event_time`.

        State: for each match on its way what its conditions and output ask for, and with `event_time` the records that wait for the
        watermark. Every mode has it; in real time matches by `event_time` come at the end of a batch, others with their last record.
        """
        matches = self.stream._then("match", lambda df: match(df, pattern, keys=self.keys, **options))
        return matches._parted("match", ports_of_match(pattern, options))

    def scan(self, **options: Unpack[ScanOptions]) -> Stream:
        """Carry a state along the records of each key; every part is a column expression. The options are those of `headrace.scan`.

        Its ports are streams: `.late` with `event_time`, `.port(name)` for one of its own.
        """
        arguments.options("scan", options, ScanOptions)
        return self.stream._then("scan", lambda df: scan(df, keys=self.keys, **options))._parted("scan", ports_of(options))

    def window(self, window: Window, **options: Unpack[WindowOptions]) -> Windowed:
        """Aggregates for each window of each key: `key_by("page").window(…)` is `window(…, by=["page"])`."""
        return Windowed(self.stream, window, self.keys, options)

    def scan_python(self, **options: Unpack[PythonScanOptions]) -> Stream:
        """Carry a state along the records of each key with a Python function, in every mode. See `headrace.scan_python`."""
        arguments.options("scan_python", options, PythonScanOptions)
        carried = self.stream._then("scan_python", lambda df: scan_python(df, keys=self.keys, **options))
        return carried._parted("scan_python", ports_of_python(options))
