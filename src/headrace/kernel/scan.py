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
from typing import Any, TypedDict, Unpack

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame

from headrace.definitions import arguments, durations, refusals
from headrace.definitions.arguments import Condition
from headrace.errors import DefinitionError, user_line
from headrace.kernel import bags, jvm, ports
from headrace.kernel.bags import Bag
from headrace.kernel.event_time import watermarked
from headrace.kernel.ports import LATE, MAIN, Columns, Port, port

__all__ = ["LATE", "MAIN", "Columns", "Port", "ScanOptions", "TimeOptions", "Timer", "port", "ports_of", "scan", "scan_by_call"]


@dataclass(frozen=True, kw_only=True)
class Timer:
    """An alarm of a key. It rings at the time `at`, a timestamp made of the state alone; null means no alarm.

    The rule: `at` is looked at after every change of the state, so changing the state moves the alarm. With `event_time` it
    rings after all records up to its time and before any later one; without, when the clock has passed it. One alarm rings
    once: it rings again only if `at` has become later, or the key was forgotten and began anew. Its expressions may use the
    key columns, `state.<field>` and `timer.time`; without `output` or `ports` it rings in silence. What is still set at the end of the
    input, in a batch or with the trigger `finish`, rings then, one alarm after the other until none is set or the key has expired. (With
    `finish` only by event time: the clock has no end.) One that sets itself for ever fails there, after a hundred thousand times: give the
    scan `idle`.
    """

    at: Column | str
    update: Mapping[str, Any] = field(default_factory=dict)
    output: Columns = ()
    when: Condition | None = None
    forget: Condition | None = None
    ports: Mapping[str, Port] = field(default_factory=dict)


class TimeOptions(TypedDict, total=False):
    """What any scan, native or in Python, is told of order, time and beginnings. This is the only place that lists it.

    order       columns that order the records of a key within a micro-batch or batch; with `event_time`, those of equal times. Default,
                and between equal ones: arrival, which for a Kafka partition is the order of the log. (Between partitions a log has no
                order: key the topic as you key the scan.)
    event_time  take records in the order of this timestamp column, behind a watermark that trails the newest by `delay`.
                Records wait in the state until then. One that comes later than that goes out of the port `late`, and so does
                one without a time: nothing is dropped. (A column that has a watermark already keeps it, whatever `delay` says.)
    late_after  a record is late when this time (default: its event time) is not after the watermark. A record that the watermark has
                passed, but that is not late, is taken when it comes. Allowed lateness of a window is `window_end + lateness`.
    wait        false: take records as they arrive all the same, in a batch too. For what does not depend on their order, such as sums: rows
                come at once and nothing is kept but the state. What is late is still by event time. Alarms ring, and idle keys are
                forgotten, when the watermark has passed their time, or a later record of the key comes before that.
    time_out    the column of the main rows that is their time, for whatever by event time follows. Without it, it is the record's own, if
                that is passed on. It must not be before the record, the alarm or the leaving row of a bag that the row comes from, or the
                row is late there, but by `time_behind` at most. With `time_out_exclusive`, windows that follow take it for the moment
                just before it, as they do for the end of a window.
    time_behind what follows by event time waits so much longer. With `time_out` only.
    idle        forget a key that had no record for so long: by event time if there is one (then every mode agrees), else by
                the clock, in streams only.
    initial     a batch table with the key columns and any fields of the state, to begin with. (A key that has a row there but no record
                rings its alarm in streams only: a batch does not visit it.)
    """

    order: str | Sequence[str]
    event_time: str | None
    delay: str
    late_after: Column | str | None
    wait: bool
    time_out: str | None
    time_out_exclusive: bool
    time_behind: str
    idle: str | None
    initial: DataFrame | None


class ScanOptions(TimeOptions, total=False):
    """What a scan is told besides its keys, and what `TimeOptions` lists. One with bags needs no `state` and no `update`.

    state       field -> first value: a column or literal, or a type such as `"double"`, which starts as null.
    update      field -> its next value, over the record and the state *before* it (`state.<field>`), or a plain value. Others stay as they
                are.
    output      columns of the one row that a record gives, over the same (`*` is all of the record); or one column of type
                array<struct>: as many rows as it has elements. It may be left out where a timer or a port puts out rows.
    when        a condition, as a column or as text; false or null: no row.
    ports       name -> Port: rows that go out under another name, each with columns of their own. A record may give rows to several.
    forget      a condition; true: the key's state is dropped after this record.
    settled     one more row for a key, over its key columns and the state, when its records that came together have been taken: once in a
                micro-batch or batch, in real time after each record. It is of the main port, and of that kind.
    timer       an alarm; see Timer.
    clock       an alarm by the clock, in a scan by event time that does not wait. It never rings in a batch.
    bags        name -> Bag: rows that a key keeps in the order of their time, of which a record visits some; see Bag.
    """

    state: Mapping[str, Any]
    update: Mapping[str, Any]
    output: Columns
    when: Condition | None
    ports: Mapping[str, Port]
    forget: Condition | None
    settled: Port | None
    timer: Timer | None
    clock: Timer | None
    bags: Mapping[str, Bag]


def scan(df: DataFrame, *, keys: str | Sequence[str], **options: Unpack[ScanOptions]) -> DataFrame:
    """Carry a state along the records of each key. The options are those of `ScanOptions`.

    `keys` are one or more columns of any type that can be grouped; null is a key like any other.

    The result has the columns of `output`. With several ports (`event_time` brings `late`) it has a struct column for each, `main`, `late`
    and so on, of which one is not null in each row: `port(result, "late")` are the rows of one.

    The expressions of a record may use `scan.now`, the time of the clock: that of the micro-batch, in real time that of the record, in a
    batch null. With event time, they may use `scan.watermark`: the time up to which everything is taken to have arrived; in a
    batch, the first day of year one; when the trigger `finish` has ended the input, the last day of year 9999.

    In a stream, a scan that goes by the clock (`idle` or `timer` without `event_time`) passes no watermark on: what follows has to say anew
    which column is the time.

    State: one row a key, as large as its fields; the rows of its bags; with `event_time` also the records that wait.
    """
    arguments.table(
        "scan", df, fix="give a DataFrame; a stream has a method for it: stream.key_by('key').scan(state=…, update=…, output=…)"
    )
    return _Spec(_timed("scan", df, options)).plan(arguments.names("scan: key", keys), options)


def _timed(operator: str, df: DataFrame, options: TimeOptions) -> DataFrame:
    event_time, delay = options.get("event_time"), options.get("delay", "0 seconds")
    durations.delay(delay, f"{operator}: delay")
    return df if event_time is None else watermarked(df, arguments.name(f"{operator}: event_time", event_time), delay)


def scan_by_call(
    df: DataFrame,
    *,
    keys: list[str],
    call: Column,
    ring: Column | None,
    options: ScanOptions,
    operator: str = "scan_python",
    maps: Sequence[str] = (),
) -> DataFrame:
    """A scan whose expressions use the answer of a `call`, made once for each record, as `scan.call`; at an alarm, that of `ring`. A call
    may ask for entries of the `maps` of the key, and the last field of its answer is what changes in them."""
    return _Spec(_timed(operator, df, options), operator, call, ring, maps=maps).plan(keys, options)


def scan_with_values(df: DataFrame, *, keys: list[str], values: Mapping[str, Column], options: ScanOptions) -> DataFrame:
    """A scan in which some columns of `df`, those that `promise` gave it, stand for expressions over the record and the state."""
    return _Spec(_timed("scan", df, options), values=values).plan(keys, options)


def promise(df: DataFrame, state: Mapping[str, Any], name: str, value: Column) -> DataFrame:
    """`df` with a column that will be this expression over the record and such a state, in `scan_with_values`. Until then it is null."""
    first = jvm.java_columns(arguments.first_value(name, value) for name, value in state.items())
    try:
        return jvm.data_frame(jvm.package(df.sparkSession).Scan.promise(df._jdf, list(state), first, name, value._jc), df.sparkSession)
    except IllegalArgumentException as failure:
        raise jvm.definition_error("with_features", failure, refusals.types([df])) from None


def ports_of(options: ScanOptions) -> list[str]:
    """The names of what a scan with these options puts out; of one alone, its result has the columns as they are."""
    timer, bags = options.get("timer"), [bag for bag in options.get("bags", {}).values() if isinstance(bag, Bag)]
    alarms = [alarm for alarm in (timer, options.get("clock"), options.get("settled")) if isinstance(alarm, Timer | Port)]
    steps = [*alarms, *(part for bag in bags for part in (bag.each, bag.expire))]
    named = ports.names(options.get("output", ()), options.get("ports", {}))
    named += [name for step in steps if step is not None for name in ports.names(step.output, getattr(step, "ports", {}))]
    late = [LATE] if options.get("event_time") is not None else []
    return list(dict.fromkeys([*named, *late]))


@dataclass(frozen=True)
class _Spec:
    """The options as the kernel takes them."""

    df: DataFrame
    operator: str = "scan"
    call: Column | None = None
    ring: Column | None = None
    values: Mapping[str, Column] = field(default_factory=dict)
    maps: Sequence[str] = ()

    @property
    def scala(self) -> Any:
        return jvm.package(self.df.sparkSession)

    def plan(self, keys: list[str], options: ScanOptions) -> DataFrame:
        state, bags = arguments.mapping("scan: state", options.get("state", {})), arguments.mapping("scan: bags", options.get("bags", {}))
        if "update" not in options and not bags:
            raise DefinitionError("scan: there is no update=", fix="give it: update={'n': F.col('state.n') + 1}", where=user_line())
        if not state and bags:
            state = {"nothing": "int"}  # Spark wants a column
        if not state:
            raise DefinitionError(
                "scan: state: has no field", fix="give it one, state={'n': 0}, or use select and where, which keep nothing",
                where=user_line(),
            )  # fmt: skip
        timer, event_time, idle = options.get("timer"), options.get("event_time"), options.get("idle")
        if timer is not None and not isinstance(timer, Timer):
            raise DefinitionError(f"scan: timer: {timer!r} is no Timer", fix="write Timer(at=…, output=[…])", where=user_line())
        clock, settled = options.get("clock"), options.get("settled")
        self._check_clock(clock, options)
        late_after, initial = options.get("late_after"), options.get("initial")
        main = Port(output=options.get("output", ()), when=options.get("when"))
        forget = arguments.condition("scan: forget", options.get("forget"))
        chosen = {
            "keys": keys,
            "order": arguments.names("scan: order", options.get("order", ())),
            "state_names": list(state),
            "state_values": jvm.java_columns(arguments.first_value(f"scan: state.{name}", value) for name, value in state.items()),
            "step": self._step("scan: ", options.get("update", {}), main, options.get("ports", {}), forget, self.call),
            "alarm": None if timer is None else self._alarm("timer", timer),
            "clock": None if clock is None else self._alarm("clock", clock),
            "settled": None if settled is None else self._step("scan: settled.", {}, settled, {}, None, None),
            "event_time": event_time,
            "late_after": None if late_after is None else jvm.java_column(arguments.expression("scan: late_after", late_after)),
            "wait": arguments.flag("scan: wait", options.get("wait", True)),
            "time_out": options.get("time_out"),
            "timed_ports": [
                name for name, own in arguments.mapping("scan: ports", options.get("ports", {})).items() if getattr(own, "timed", False)
            ],
            "time_out_exclusive": arguments.flag("scan: time_out_exclusive", options.get("time_out_exclusive", False)),
            "time_behind": durations.delay(options.get("time_behind", "0 seconds"), "scan: time_behind"),
            "idle": None if idle is None else durations.micros(idle, "scan: idle"),
            "initial": None if initial is None else arguments.table("scan: initial", initial)._jdf,
            "bags": [self._bag(name, bag) for name, bag in bags.items()],
            "maps": list(self.maps),
            "value_names": list(self.values),
            "value_columns": jvm.java_columns(self.values.values()),
        }
        try:
            spec = self.scala.ScanSpec({name: value for name, value in chosen.items() if value is not None})
            return jvm.data_frame(self.scala.Scan.apply(self.df._jdf, spec), self.df.sparkSession)
        except IllegalArgumentException as failure:
            fields = {f"state.{name}": "of the state" for name in state}
            raise jvm.definition_error(self.operator, failure, refusals.types([self.df]) | fields) from None

    def _bag(self, name: str, bag: Bag) -> Any:
        at = f"scan: bags.{arguments.name('scan: bags', name)}"
        each, expire = bags.checked(at, bag).each, bag.expire
        chosen = {
            "add": self._port(f"{at}.", MAIN, Port(output=bag.add, when=bag.when), "add"),
            "time": arguments.name(f"{at}.time", bag.time),
            "most": bag.most,
        }
        if each is not None:
            low, high = each.between
            remove, change = arguments.condition(f"{at}.each.remove", each.remove), arguments.mapping(f"{at}.each.change", each.change)
            chosen |= {
                "each": self._step(f"{at}.each.", each.update, Port(output=each.output, when=each.when), each.ports, remove, None),
                "low": None if low is None else jvm.java_column(arguments.expression(f"{at}.each.between", low)),
                "high": None if high is None else jvm.java_column(arguments.expression(f"{at}.each.between", high)),
                "limit": each.limit,
                "change_names": list(change),
                "change_values": jvm.java_columns(arguments.value(f"{at}.each.change.{column}", value) for column, value in change.items()),
            }
        if expire is not None:
            leaving = Port(output=expire.output, when=expire.when)
            chosen |= {
                "expire": durations.delay(expire.after, f"{at}.expire.after"),
                "into": expire.into,
                "leave_change_names": list(expire.change),
                "leave_change_values": jvm.java_columns(
                    arguments.value(f"{at}.expire.change.{column}", value) for column, value in expire.change.items()
                ),
                "leave": self._step(f"{at}.expire.", expire.update, leaving, expire.ports, None, None),
                "together": arguments.flag(f"{at}.expire.together", expire.together),
            }
        return self.scala.BagSpec(name, {key: value for key, value in chosen.items() if value is not None})

    def _check_clock(self, clock: Timer | None, options: ScanOptions) -> None:
        if clock is None:
            return
        if not isinstance(clock, Timer):
            raise DefinitionError(f"scan: clock: {clock!r} is no Timer", fix="write Timer(at=…, output=[…])", where=user_line())
        if options.get("event_time") is None or options.get("wait", True) or options.get("time_out") is not None:
            raise DefinitionError(
                "scan: clock: an alarm by the clock beside one by event time needs event_time= and wait=False, and passes no time on",
                fix="give these, and no time_out=; without event_time, timer= goes by the clock", where=user_line(),
            )  # fmt: skip

    def _alarm(self, at: str, timer: Timer) -> Any:
        main, forget = Port(output=timer.output, when=timer.when), arguments.condition(f"scan: {at}.forget", timer.forget)
        step = self._step(f"scan: {at}.", timer.update, main, timer.ports, forget, self.ring if at == "timer" else None)
        return self.scala.Alarm(jvm.java_column(arguments.expression(f"scan: {at}.at", timer.at)), step)

    def _step(
        self, at: str, update: Mapping[str, Any], main: Port, others: Mapping[str, Port], leaves: Column | None, call: Column | None
    ) -> Any:
        """`at` is what the parts of the step are called in an error: those of the records, or of the timer."""
        values = [arguments.value(f"{at}update.{name}", value) for name, value in arguments.mapping(f"{at}update", update).items()]
        emitted = [self._port(at, MAIN, main)] if ports.has_rows(main.output) else []
        for name, other in arguments.mapping(f"{at}ports", others).items():
            if name in (MAIN, LATE):
                raise DefinitionError(
                    f"{at}ports: '{name}' is a port that scans have anyway", fix="give it another name", where=user_line()
                )
            if not isinstance(other, Port):
                raise DefinitionError(f"{at}ports.{name}: {other!r} is no Port", fix="write Port(output=[…])", where=user_line())
            emitted.append(self._port(f"{at}ports.{name}.", name, other))
        return self.scala.StepSpec(list(update), jvm.java_columns(values), emitted, jvm.java_column(leaves), jvm.java_column(call))

    def _port(self, at: str, name: str, port: Port, part: str = "output") -> Any:
        rows = [port.output] if isinstance(port.output, Column) else arguments.columns(f"{at}{part}", port.output)
        when = jvm.java_column(arguments.condition(f"{at}when", port.when))
        return self.scala.Port(name, jvm.java_columns(rows), isinstance(port.output, Column), when)
