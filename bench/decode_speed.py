"""Does decoding *and* keeping state take less time than Spark's `from_json` alone?

The ways: headrace's decoder and scan, with the two rules of `rules.py`; `from_json` with a timestamp field, and nothing else.

Held equal: as in `state_speed.py`, but both run at the same time, each on a core of its own (`side_by_side.py`). The rows of each way on
the first 40,000 records must equal plain Python's: the scan's flags, the decoder's records.

To read: the ratio of events a second, the median of four rounds; above 1, the state comes for free.
"""

from __future__ import annotations

from dataclasses import replace

from bench import rules, side_by_side, throughput
from bench.answers import Answer, at_least, memory


def ask(*, quick: bool) -> list[Answer]:
    size = replace(throughput.QUICK, seconds=6) if quick else replace(throughput.FULL, seconds=25, rounds=4)
    ways: dict[str, tuple[throughput.Way, throughput.Oracle]] = {
        "decode_scan": (rules.with_scan, rules.oracle),
        "from_json": (rules.from_json, rules.records),
    }
    found = throughput.compare(ways, size, side_by_side.side_by_side)
    ratio = throughput.ratio(found, "decode_scan", "from_json")
    return [
        Answer("decode_scan_vs_from_json", ratio, "x", at_least(1.2), throughput.details(found, size)),
        memory("from_json", throughput.peak_mb(found, "from_json")),
    ]
