"""Does decoding *and* keeping state take less time than Spark's `from_json` alone?

The ways: headrace's decoder and scan, with the two rules of `rules.py`; `from_json` with a timestamp field, and nothing else.

Held equal: as in `state_speed.py`. The scan's rows on the first 40,000 records must equal plain Python's, and the decoded records of
`from_json` must equal those of headrace's decoder.

To read: the ratio of events a second; above 1 the state costs nothing.
"""

from __future__ import annotations

from bench import rules, throughput
from bench.answers import Answer, at_least, memory


def ask(*, quick: bool) -> list[Answer]:
    size = throughput.QUICK if quick else throughput.FULL
    scanned = throughput.compare({"decode_scan": rules.with_scan}, rules.oracle, size)
    plain = throughput.compare({"from_json": rules.from_json, "decode": rules.decoded}, rules.records, size)
    found = scanned | plain
    rates = {name: done.value.events_per_s for name, done in found.items()}
    details = {
        "events_per_s": rates,
        "micro_batch": size.batch,
        "batch_seconds": {name: done.value.batches for name, done in found.items()},
    }
    return [
        Answer("decode_scan_vs_from_json", round(rates["decode_scan"] / rates["from_json"], 2), "x", at_least(1.2), details),
        memory("from_json", found["from_json"].peak_mb),
    ]
