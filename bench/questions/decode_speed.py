"""Does decoding *and* keeping state take less time than Spark's `from_json` alone?

The ways: headrace's decoder and scan, with the two rules of `work/rules.py`; `from_json` with a timestamp field, and nothing else.

Held equal: as in `state_speed.py`, but both are kept warm and take turns of some seconds (`measuring/in_short_turns.py`). The rows of
each way on the first 40,000 records must equal plain Python's: the scan's flags, the decoder's records.

To read: the ratio of events a second, from the median batch of seven turns each; above 1, the state comes for free.
"""

from __future__ import annotations

from dataclasses import replace

from bench.measuring import in_short_turns, throughput
from bench.reporting.answers import Answer, at_least, memory
from bench.work import rules


def ask(*, quick: bool) -> list[Answer]:
    size = throughput.QUICK if quick else replace(throughput.FULL, warm_up=45, settle=1, seconds=5, rounds=1, turns=7)
    ways: dict[str, tuple[throughput.Way, throughput.Oracle]] = {
        "decode_scan": (rules.with_scan, rules.oracle),
        "from_json": (rules.from_json, rules.records),
    }
    rounds = throughput.compare(ways, size, in_short_turns.in_short_turns)
    ratio = throughput.ratio(rounds, "decode_scan", "from_json")
    return [
        Answer("decode_scan_vs_from_json", ratio, "x", at_least(1.2), throughput.details(rounds, size)),
        memory("from_json", throughput.peak_mb(rounds, "from_json")),
    ]
