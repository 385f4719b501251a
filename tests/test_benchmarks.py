"""The numbers in the documentation are those of the last committed run, and the run answers all that was asked."""

from __future__ import annotations

import json
import operator
from typing import Any

import numpy as np
import pytest
from bench.measuring import host, load, throughput
from bench.measuring.processes import Done
from bench.peers import latency, tables
from bench.peers import throughput as drained
from bench.peers.programs import work
from bench.reporting import report
from bench.work import rules

# What the project promises to measure, and the target where it set itself one.
ASKED = {
    "scan_vs_row_state": "≥ 6",
    "scan_vs_pandas_state": "≥ 15",
    "decode_scan_vs_from_json": "≥ 1.2",
    "realtime_p50_ms": "≤ 10",
    "realtime_p99_ms": "≤ 15",
    "realtime_p999_ms": "≤ 150",
    "realtime_worst_ms": None,
    "realtime_10s_p99_ms": "≤ 60",
    "realtime_10s_worst_ms": "≤ 250",
    "realtime_max_rate": None,
    "batch_cost_1e6_vs_1e3_keys": "≤ 2",
    "record_cost_1e4_vs_10_rows_of_a_key": "≤ 3",
    "peak_memory_bag_10_rows_mb": None,
    "peak_memory_bag_1e4_rows_mb": None,
    "peak_memory_scan_mb": None,
    "peak_memory_row_state_mb": None,
    "peak_memory_pandas_state_mb": None,
    "peak_memory_realtime_mb": None,
    "peak_memory_from_json_mb": None,
    "peak_memory_state_1e3_keys_mb": None,
    "peak_memory_state_1e6_keys_mb": None,
    "peak_memory_fraud_batch_mb": None,
    "peak_memory_fraud_demo_mb": None,
    "fraud_batch_per_s": None,
    "fraud_p50_ms": "≤ 10",
    "fraud_p99_ms": "≤ 30",
    "fraud_p99_all_ms": None,
    "fraud_p999_all_ms": None,
    "fraud_max_rate": None,
}


def holds(result: report.Report) -> bool | None:
    if result["target"] is None:
        return None
    sign, bound = result["target"].split()
    return bool({"≥": operator.ge, "≤": operator.le}[sign](result["value"], float(bound)))


@pytest.fixture
def last() -> report.Report:
    found = report.load(report.LATEST)
    assert found is not None, f"there is no run in {report.LATEST.name}: make bench"
    return found


def test_the_page_has_the_table_of_the_last_run(last: report.Report) -> None:
    page = report.DOC.read_text()
    assert report.document(last, page) == page
    assert report.markdown(last) in page


def test_the_last_run_answers_what_was_asked(last: report.Report) -> None:
    assert {name: last["results"].get(name, {"target": "not measured"})["target"] for name in ASKED} == ASKED


def test_met_is_what_value_and_target_say(last: report.Report) -> None:
    results = last["results"]
    assert {name: result["met"] for name, result in results.items()} == {name: holds(result) for name, result in results.items()}


@pytest.mark.parametrize(
    ("at", "quiet"),
    [(0.0, True), (3.0, True), (4.4, True), (4.7, False), (5.0, False), (5.4, False), (6.2, True), (10.0, True)],
)
def test_a_moment_is_undisturbed_if_the_host_took_next_to_nothing_in_the_second_around_it(at: float, quiet: bool) -> None:
    """Two cores; at five seconds the host takes 30 ms of them, and 10 ms twice elsewhere."""
    seen = [(i / 10, 0.01 * (i >= 20) + 0.03 * (i >= 50) + 0.01 * (i >= 80)) for i in range(101)]
    assert host.quiet(np.array([at]), np.array(seen), cores=2).tolist() == [quiet]


@pytest.mark.parametrize(
    ("ours", "theirs", "ratio"),
    [
        ([600], [200], 3.0),
        ([600, 300, 800], [200, 100, 400], 3.0),  # a machine that is half as fast for a round is so for both
        ([600, 600, 600], [200, 100, 300], 3.0),  # nor does one odd round decide
    ],
)
def test_the_ratio_of_two_ways_is_the_median_of_their_rounds(ours: list[int], theirs: list[int], ratio: float) -> None:
    def rounds(rates: list[int]) -> list[Done[throughput.Rate]]:
        return [Done(throughput.Rate([], rate, [], None), 0) for rate in rates]

    assert throughput.ratio({"ours": rounds(ours), "theirs": rounds(theirs)}, "ours", "theirs") == ratio


def test_the_page_has_the_tables_of_the_peers() -> None:
    found, page = tables.load(), report.DOC.read_text()
    assert tables.document(found, page) == page
    assert tables.markdown(found) in page


def test_the_python_peers_do_the_same_work_as_the_oracle() -> None:
    """Records of two customers, the amounts up and down, the pauses around ten seconds."""
    seconds, amounts = [0, 4, 9.999, 14, 20.0, 24.001, 50], [5, 9, 6, 9, 7, 9.5, 8]
    values = [
        json.dumps({"tx_id": f"t{i}", "customer": f"c{i % 2}", "amount": amount, "ts": f"2026-01-01T00:00:{second:06.3f}Z"}).encode()
        for i, (second, amount) in enumerate(zip(seconds, amounts, strict=True))
    ]
    memory: dict[str, Any] = {}
    rows = []
    for record in map(json.loads, values):
        memory[record["customer"]], row = work.rules(memory.get(record["customer"]), record)
        rows.append(tuple(row.values()))
    assert rows == rules.oracle(values)
    assert {row[2:] for row in rows} == {(high, quick) for high in (True, False) for quick in (True, False)}


SENT = load.Sent(first=0, rate=1_000, records=3, start=0, late=[])
COUNTED = [b'{"customer": "c%d", "n": 1, "due": %d}' % (i * 7919 % rules.CUSTOMERS, SENT.due(i)) for i in range(3)]


@pytest.mark.parametrize("values", [COUNTED[:2], [*COUNTED, COUNTED[0]], [*COUNTED[:2], COUNTED[2].replace(b'"n": 1', b'"n": 2')]])
def test_no_time_counts_of_a_system_that_loses_repeats_or_miscounts(values: list[bytes]) -> None:
    latency.check([SENT], COUNTED[::-1])
    with pytest.raises(SystemExit, match="no time counts"):
        latency.check([SENT], values)


def test_the_rate_of_a_full_topic_begins_where_the_warm_up_ends() -> None:
    seen = [(0.0, 0), (20.0, 90), (21.0, 100), (22.0, 150), (23.0, 300)]
    assert drained.rate(seen, warm_up=100) == 100
