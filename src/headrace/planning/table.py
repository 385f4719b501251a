"""Which operator, source and sink works in which mode, and with which guarantee: the one table.

`headrace modes` prints it, the reference page is made from it, and `modes.check` applies it before anything starts. An operator of headrace
names its row. What a user's function is made of is recognised in Spark's plan, whatever it is called.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.definitions.guarantees import MODES, YES, Guarantee, Mode, No, Yes
from headrace.io.callback import CallbackSink
from headrace.io.connectors import Sink, Source
from headrace.io.console import ConsoleSink
from headrace.io.database.connector import DatabaseSink
from headrace.io.files import FilesSink, FilesSource
from headrace.io.kafka.connector import KafkaSink, KafkaSource
from headrace.io.memory import MemorySink, MemorySource
from headrace.io.rate import RateSource
from headrace.io.receiver import ReceiverSource
from headrace.io.socket import SocketSource
from headrace.planning.plans import STATEFUL

__all__ = ["MODES", "OPERATORS", "SINKS", "SOURCES", "TWO_STATES", "Mode", "No", "Row", "Yes", "of_connector", "of_operator"]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    kinds      connectors' kinds, or the names of Spark's operators that it is made of: so what a user's own function does is recognised
    operators  the operators of headrace that name this row as theirs
    stateful   whether such an operator keeps something between records
    """

    name: str
    kinds: frozenset[str]
    batch: Yes | No
    micro_batch: Yes | No
    real_time: Yes | No
    operators: frozenset[str] = frozenset()
    stateful: bool = False

    def cell(self, mode: Mode) -> Yes | No:
        return {"batch": self.batch, "micro-batch": self.micro_batch, "real-time": self.real_time}[mode]


def _row(name: str, kinds: str, batch: Yes | No = YES, micro_batch: Yes | No = YES, real_time: Yes | No = YES) -> Row:
    return Row(name, frozenset(kinds.split()), batch, micro_batch, real_time)


def _operator(
    operators: str, kinds: str = "", name: str = "", *, batch: Yes | No = YES, micro_batch: Yes | No = YES, real_time: Yes | No = YES
) -> Row:
    """The row of operators of headrace, called by their names unless it has one of its own."""
    made_of = frozenset(kinds.split())
    return Row(
        name or ", ".join(operators.split()), made_of, batch, micro_batch, real_time, frozenset(operators.split()), bool(made_of & STATEFUL)
    )


_AT_ONCE = Yes("at once; by event time at the end of a batch")


def _scan(operators: str, name: str = "", *, batch: Yes | No = YES, micro_batch: Yes | No = YES, real_time: Yes | No = _AT_ONCE) -> Row:
    """The row of operators that are made of a scan."""
    return _operator(operators, "TransformWithState", name=name, batch=batch, micro_batch=micro_batch, real_time=real_time)


_MICRO = "run it as micro-batch"
_PYTHON = No(
    "a Python process would make records wait for the end of the batch",
    f"use map, flat_map, filter or scan_python, or {_MICRO}",
)
_GROUPS = No("it would see the records of one batch and not of the group", "use scan_python, features or agg, or a batch run")
_SORTED = No("it would need all records of the stream, sorted", "use the features `previous`, `running` and `last_n`, or a batch run")
_TWO_STREAMS = No("Spark joins two streams batch by batch", f"use the stream's own join, or {_MICRO}")


def of_connector(connector: type[Source] | type[Sink]) -> Row:
    """What a connector states of itself."""
    return _row(connector.kind, connector.kind, *(connector.support(mode) for mode in MODES))


_SOURCES: tuple[type[Source], ...] = (KafkaSource, FilesSource, MemorySource, ReceiverSource, SocketSource, RateSource)
SOURCES = tuple(map(of_connector, _SOURCES))

TWO_STATES = _row(
    "several operators with state before one output",
    "",  # no single operator's: `check_real_time` counts them
    real_time=No(
        "a query has one state there",
        f"ask for all features of a key in one with_features, make one scan of them, put a Kafka topic between them, or {_MICRO}",
    ),
)

OPERATORS = (
    _operator("select where with_columns drop rename sample port", "Project Filter Generate Expand"),
    _operator("decode"),
    _operator("union", "Union"),
    _operator("join_table", "Join", "join with a static table"),
    _row(
        "join with a static table that is not by equal keys, or not broadcast",
        "ComparingJoin",
        real_time=No("Spark looks rows up by their key there", f"join by equality with F.broadcast(table), or {_MICRO}"),
    ),
    _row("observe", "CollectMetrics"),
    _row("repartition", "Repartition RepartitionByExpression", real_time=Yes("a task slot for each partition")),
    _row("coalesce", "Coalesce", real_time=No("Spark does not merge partitions that do not end", f"leave it out, or {_MICRO}")),
    _operator("event_time", "EventTimeWatermark", batch=Yes("no record is late")),
    _scan("scan"),
    _scan("scan_python"),
    _scan("with_features"),
    _scan("top changes distinct rate_limit"),
    _scan("match", "match: patterns"),
    _operator(
        "map flat_map filter",
        "MapInArrow",
        "map, flat_map, filter: Python functions of a record",
        batch=Yes("many at a time"),
        micro_batch=Yes("many at a time"),
        real_time=Yes("one by one"),
    ),
    _operator(
        "storm",
        "DeserializeToObject MapPartitions",
        "headrace.storm: a level of bolts",
        batch=No("bolts keep their memory in processes that a batch does not have", "use headrace.storm.complete_topology"),
        micro_batch=Yes(guarantee=Guarantee.AT_LEAST_ONCE),  # what a bolt keeps in its own memory goes with its process
        real_time=Yes("tuple by tuple", Guarantee.AT_LEAST_ONCE),
    ),
    _row("PySpark's own Python state", "TransformWithStateInPySpark FlatMapGroupsInPandasWithState", real_time=_PYTHON),
    _operator(
        "agg",
        "Aggregate",
        "key_by().agg",
        batch=Yes("final rows"),
        micro_batch=Yes("rows that changed"),
        real_time=Yes("a row for each record"),
    ),
    _scan(
        "window",
        "tumbling, sliding and cumulating windows",
        batch=Yes("final rows"),
        micro_batch=Yes("rows that changed, or windows that ended"),
        real_time=Yes("a row for each record, or at the end of a batch windows that ended"),
    ),
    _scan(
        "session_window",
        "session windows",
        batch=Yes("final rows"),
        micro_batch=Yes("sessions that ended"),
        real_time=Yes("sessions that ended, at the end of a batch"),
    ),
    _scan(
        "panes",
        "windows with triggers: early, on time, late",
        batch=Yes("on time, and early by records"),
        real_time=Yes("early and late at once, on time at the end of a batch"),
    ),
    _scan("policy_window", "windows that records decide on: until, keeping"),
    _row(
        "Spark's session_window",
        "SessionWindow",
        real_time=No("Spark does not merge sessions record by record", f"use stream.window(hr.sessions(…)), or {_MICRO}"),
    ),
    _row("dropDuplicates", "Deduplicate"),
    _row(
        "dropDuplicatesWithinWatermark",
        "DeduplicateWithinWatermark",
        No("without a stream there is no watermark", "use dropDuplicates"),
        Yes(),
        No("Spark does not expire duplicates record by record", f"use dropDuplicates, or {_MICRO}"),
    ),
    _scan(
        "join_streams",
        "join of two streams",
        micro_batch=Yes("pairs with their second record; what has no partner when the watermark has passed its bound"),
        real_time=Yes("pairs at once; what has no partner at the end of a batch"),
    ),
    _scan(
        "join_windows cogroup",
        "join of two streams by window, cogroup",
        batch=Yes("at the end of each window"),
        micro_batch=Yes("windows that ended"),
        real_time=Yes("windows that ended, at the end of a batch"),
    ),
    _scan(
        "join_changing",
        "join of a stream with a table that changes, by arrival",
        batch=Yes("the table's records come first"),
        real_time=YES,
    ),
    _scan("join_tables", "join of tables that change"),
    _scan(
        "join_foreign",
        "join of tables that change by a foreign key",
        real_time=No("it needs three states, and a query has one there", f"join by the same key, or {_MICRO}"),
    ),
    _scan("with_rules", "with_rules: a small table that every record sees"),
    _scan("as_of", "as_of: the nearest of another stream", real_time=Yes("by event time, at the end of a batch")),
    _row("DataFrame.join of two streams, inner or semi", "StreamStreamJoin", real_time=_TWO_STREAMS),
    _row(
        "DataFrame.join of two streams, outer",
        "StreamStreamOuterJoin",
        micro_batch=Yes("rows without a partner when the watermark has passed their bound"),
        real_time=_TWO_STREAMS,
    ),
    _row(
        "Python functions (UDFs, mapInPandas, …)",
        "BatchEvalPython ArrowEvalPython BatchEvalPythonUDTF ArrowEvalPythonUDTF MapInPandas MapInArrow",
        real_time=_PYTHON,
    ),
    _row(
        "Python functions of a group (applyInPandas, …)",
        "FlatMapGroupsInPandas FlatMapGroupsInArrow FlatMapCoGroupsInPandas FlatMapCoGroupsInArrow",
        micro_batch=_GROUPS,
        real_time=_GROUPS,
    ),
    _row(
        "sort",
        "Sort",
        micro_batch=Yes("after an aggregate, in complete mode"),
        real_time=No("a stream that does not end cannot be sorted", "sort where it is read"),
    ),
    _row(
        "limit",
        "GlobalLimit",
        micro_batch=Yes("the first records of the stream, in append mode"),
        real_time=No("Spark counts rows batch by batch", f"use a scan that counts, or {_MICRO}"),
    ),
    _row(
        "functions over a window of rows (lag, row_number, …)",
        "Window",
        micro_batch=_SORTED,
        real_time=_SORTED,
    ),
    TWO_STATES,
)

_SINKS: tuple[type[Sink], ...] = (KafkaSink, FilesSink, DatabaseSink, MemorySink, CallbackSink, ConsoleSink)
SINKS = tuple(map(of_connector, _SINKS))


def of_operator(name: str) -> Row:
    """The row that an operator of headrace names as its own."""
    return next(row for row in OPERATORS if name in row.operators)
