"""Which front runs in which mode: the last part of the table. What a program of theirs is made of has the rows of its operators, too."""

from __future__ import annotations

from headrace.definitions.guarantees import YES, No, Yes
from headrace.planning.table import Row, of_operator

_OPERATORS = Yes("as the operators it is made of")
_BATCHES = "run it as micro-batch"


def _front(name: str, batch: Yes | No = YES, micro_batch: Yes | No = YES, real_time: Yes | No = YES) -> Row:
    return Row(name, frozenset(), batch, micro_batch, real_time)


def _like(operator: str, name: str) -> Row:
    """A front whose programs are one operator."""
    row = of_operator(operator)
    return _front(name, row.batch, row.micro_batch, row.real_time)


FRONTS = (
    _front("headrace.sql, headrace sql, %%sql", *[_OPERATORS] * 3),
    _like("storm", "headrace.storm, headrace.heron"),
    _front(
        "headrace.trident",
        batch=No("a state goes from one numbered batch to the next, and a batch run has just one", _BATCHES),
        real_time=No("what a batch had is logged when it is over, and a state must know it before", _BATCHES),
    ),
    _front(
        "headrace.dstreams",
        batch=No("its batches come by the clock", "call the same functions with an RDD, or write it in headrace's own words"),
        real_time=No("its batches come by the clock", "write it in headrace's own words"),
    ),
    _front("headrace.samza", real_time=Yes("without bootstrap streams")),
    _front("headrace.flink", real_time=Yes("with one state")),
    _front("headrace.beam", real_time=Yes("with one GroupByKey, from Kafka to Kafka")),
    _front("headrace.summingbird", Yes("the batch half"), Yes("the online half"), Yes("the online half, into a KafkaStore")),
    _front("headrace.drpc", batch=Yes("what has been asked by then")),
    _like("scan_python", "headrace.learning"),
)
