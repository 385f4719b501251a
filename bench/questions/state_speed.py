"""How many times as fast are rules about each key as a scan, against PySpark's own ways to keep state?

The work: two rules about each of 10,000 customers, JSON from Kafka (`work/rules.py`). The ways: headrace's decoder and scan; the same
with a Python function in the scan; `from_json` and `transformWithState`, a processor of rows; `from_json` and
`transformWithStateInPandas`, vectorised within a key.

Held equal: the records and their order, the session and its settings (`local[2]`, two shuffle partitions, two Kafka partitions, RocksDB),
the size of a micro-batch, the sink (none), a fresh JVM each. Each way's rows on the first 40,000 records must equal plain Python's.

To read: events a second of the median batch, without the warm-up and the topic's last batch, and the median ratio of three rounds. Each
way runs for about the same time, not over the same number of records.
"""

from __future__ import annotations

from bench.measuring import throughput
from bench.reporting.answers import Answer, at_least, memory
from bench.work import rules


def ask(*, quick: bool) -> list[Answer]:
    size = throughput.QUICK if quick else throughput.FULL
    ways = {
        "scan": rules.with_scan,
        "python_scan": rules.with_python_scan,
        "row_state": rules.with_row_state,
        "pandas_state": rules.with_pandas_state,
    }
    rounds = throughput.compare({name: (way, rules.oracle) for name, way in ways.items()}, size)
    return [
        Answer("scan_vs_row_state", throughput.ratio(rounds, "scan", "row_state"), "x", at_least(6), throughput.details(rounds, size)),
        Answer("scan_vs_pandas_state", throughput.ratio(rounds, "scan", "pandas_state"), "x", at_least(15)),
        Answer("python_scan_vs_row_state", throughput.ratio(rounds, "python_scan", "row_state"), "x", at_least(1)),
        *(memory(name, throughput.peak_mb(rounds, name)) for name in rounds),
    ]
