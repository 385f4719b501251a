"""The one stateful operator: for each record of a key, in order, `(state, record) -> (state', outputs)`.

Everything is a Spark column expression. It is resolved and checked here, compiled by Spark's code generator, and run inside
Spark's own `TransformWithState`, in batch, micro-batch and real-time mode alike; no Python runs per record.

    >>> import headrace as hr
    >>> from pyspark.sql import functions as F
    >>> words = hr.session().createDataFrame([("to",), ("be",), ("to",)], "word string")
    >>> counts = scan(words, keys="word", state={"n": F.lit(0)}, update={"n": F.col("state.n") + 1},
    ...               output=["word", (F.col("state.n") + 1).alias("n")])
    >>> sorted(tuple(row) for row in counts.collect())
    [('be', 1), ('to', 1), ('to', 2)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame

from headrace.errors import DefinitionError, user_line
from headrace.kernel import analysis, durations, given, jvm
from headrace.kernel.event_time import watermarked
from headrace.kernel.given import Condition

Output = Sequence[Column | str] | Column | str


@dataclass(frozen=True, kw_only=True)
class Timer:
    """An alarm of a key. It rings at the time `at`, a timestamp made of the state alone; null means no alarm.

    The rule: `at` is looked at after every change of the state, so changing the state moves the alarm. With `event_time` it
    rings after all records up to its time and before any later one; without, when the clock has passed it. One alarm rings
    once: it rings again only if `at` has become later, or the key was forgotten and began anew. Its expressions may use the
    key columns, `state.<field>` and `timer.time`; without `output` it rings in silence. What is still set at the end of the input, in a
    batch or with the trigger `finish`, rings then, one alarm after the other until none is set or the key has expired. (With `finish` only
    by event time: the clock has no end.) One that sets itself for ever fails there, after a hundred thousand times: give the scan `idle`.
    """

    at: Column | str
    update: Mapping[str, Any] = field(default_factory=dict)
    output: Output = ()
    when: Condition | None = None
    forget: Condition | None = None


class ScanOptions(TypedDict, total=False):
    """What `scan` takes besides keys, state, update and output; explained there."""

    when: Condition | None
    forget: Condition | None
    order: str | Sequence[str]
    event_time: str | None
    delay: str
    wait: bool
    timer: Timer | None
    idle: str | None
    initial: DataFrame | None


def scan(
    df: DataFrame,
    *,
    keys: str | Sequence[str],
    state: Mapping[str, Any],
    update: Mapping[str, Any],
    output: Output = (),
    when: Condition | None = None,
    forget: Condition | None = None,
    order: str | Sequence[str] = (),
    event_time: str | None = None,
    delay: str = "0 seconds",
    wait: bool = True,
    timer: Timer | None = None,
    idle: str | None = None,
    initial: DataFrame | None = None,
) -> DataFrame:
    """Carry a state along the records of each key.

    keys        one or more columns of any type that can be grouped; null is a key like any other.
    state       field -> first value: a column or literal, or a type such as `"double"`, which starts as null.
    update      field -> its next value, over the record and the state *before* it (`state.<field>`), or a plain value. Others stay as they
                are.
    output      columns of the one row that a record gives, over the same (`*` is all of the record); or one column of type
                `array<struct>`: as many rows as it has elements. Without it only the timer gives rows, and must have an output.
    when        a condition, as a column or as text; false or null: no row.
    forget      a condition; true: the key's state is dropped after this record.
    order       columns that order the records of a key within a micro-batch or batch; with `event_time`, those of equal times. Default,
                and between equal ones: arrival, which for a Kafka partition is the order of the log. (Between partitions a log has no
                order: key the topic as you key the scan.)
    event_time  take records in the order of this timestamp column, behind a watermark that trails the newest by `delay`.
                Records wait in the state until then. One that comes later than that goes out in the column `late`, and so does
                one without a time: nothing is dropped. (A column that has a watermark already keeps it, whatever `delay` says.)
                In a stream, what such a scan puts out is behind the watermark, so another by event time cannot follow it; it can
                follow one that does not `wait` and has no timer.
    wait        false: take records as they arrive all the same, in a batch too. For what does not depend on their order, such as sums: rows
                come at once and nothing is kept but the state. What is late is still by event time. Alarms ring, and idle keys are
                forgotten, when the watermark has passed their time, or a later record of the key comes before that.
    timer       an alarm; see Timer.
    idle        forget a key that had no record for so long: by event time if there is one (then every mode agrees), else by
                the clock, in streams only.
    initial     a batch table with the key columns and any fields of the state, to begin with. (A key that has a row there but no record
                rings its alarm in streams only: a batch does not visit it.)

    In a stream, a scan that goes by the clock (`idle` or `timer` without `event_time`) passes no watermark on: what follows has to say anew
    which column is the time.

    State: one row a key, as large as its fields; with `event_time` also the records that wait.
    """
    given.table("scan", df, fix="give a DataFrame; a stream has a method for it: stream.key_by('key').scan(state=…, update=…, output=…)")
    if not given.mapping("scan: state", state):
        raise DefinitionError(
            "scan: state: has no field", fix="give it one, state={'n': 0}, or use select and where, which keep nothing", where=user_line()
        )
    if timer is not None and not isinstance(timer, Timer):
        raise DefinitionError(f"scan: timer: {timer!r} is no Timer", fix="write Timer(at=…, output=[…])", where=user_line())
    spec = _Spec(df, jvm.package(df.sparkSession))
    outputs = [each for each in (output, () if timer is None else timer.output) if isinstance(each, Column) or each != ()]
    if not outputs:
        raise DefinitionError(
            "scan: output: there is none, of the records or of a timer", fix="give one of them a list of columns", where=user_line()
        )
    if len({isinstance(each, Column) for each in outputs}) > 1:
        raise DefinitionError(
            "scan: the timer's output and the records' output have different forms",
            fix="give both as a list of columns, or both as one array of structs",
            where=user_line(),
        )
    if event_time is not None and isinstance(outputs[0], Column):
        raise DefinitionError(
            "scan: with event_time the output must be a list of columns, because late records go out in a column of their own",
            fix="give a list of columns; explode an array column afterwards",
            where=user_line(),
        )
    durations.delay(delay, "scan: delay")
    return spec.plan(
        keys=given.names("scan: key", keys),
        order=given.names("scan: order", order),
        state=state,
        step=spec.step("scan: ", update, output, when, forget),
        timer=None if timer is None else spec.timer(timer),
        event_time=None if event_time is None else given.name("scan: event_time", event_time),
        delay=delay,
        wait=given.flag("scan: wait", wait),
        idle=0 if idle is None else durations.micros(idle, "scan: idle"),
        initial=None if initial is None else given.table("scan: initial", initial),
    )


@dataclass(frozen=True)
class _Spec:
    df: DataFrame
    scala: Any

    def step(self, at: str, update: Mapping[str, Any], output: Output, when: Condition | None, forget: Condition | None) -> Any:
        """`at` is what the parts of the step are called in an error: those of the records, or of the timer."""
        values = [given.value(f"{at}update.{name}", value) for name, value in given.mapping(f"{at}update", update).items()]
        rows = [output] if isinstance(output, Column) else given.columns(f"{at}output", output)
        conditions = [given.condition(f"{at}when", when), given.condition(f"{at}forget", forget)]
        columns = map(jvm.java_columns, (values, rows))
        return self.scala.Step(list(update), *columns, isinstance(output, Column), *jvm.java_columns(conditions))

    def timer(self, timer: Timer) -> Any:
        step = self.step("scan: timer.", timer.update, timer.output, timer.when, timer.forget)
        return self.scala.Alarm(jvm.java_column(given.expression("scan: timer.at", timer.at)), step)

    def plan(
        self,
        *,
        keys: list[str],
        order: list[str],
        state: Mapping[str, Any],
        step: Any,
        timer: Any,
        event_time: str | None,
        delay: str,
        wait: bool,
        idle: int,
        initial: DataFrame | None,
    ) -> DataFrame:
        df = self.df if event_time is None else watermarked(self.df, event_time, delay)
        first = jvm.java_columns(given.first_value(f"scan: state.{name}", value) for name, value in state.items())
        try:
            spec = self.scala.ScanSpec(
                keys, order, list(state), first, step, timer, event_time, wait, idle, None if initial is None else initial._jdf
            )
            return jvm.data_frame(self.scala.Scan.apply(df._jdf, spec), df.sparkSession)
        except IllegalArgumentException as failure:
            fields = {f"state.{name}": "of the state" for name in state}
            raise jvm.definition_error("scan", failure, analysis.types([df]) | fields) from None
