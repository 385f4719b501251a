"""What is measured, in bench/results/peers.json, and as tables in docs/benchmarks.md."""

from __future__ import annotations

import re
from typing import Any

from bench.peers.registry import SYSTEMS
from bench.reporting import report

RESULTS = report.RESULTS / "peers.json"
_BEGIN, _END = "<!-- made by bench/peers/tables.py from bench/results/peers.json -->", "<!-- end of peers -->"
_POINTS = ("p50", "p95", "p99", "p99.9", "max")


def in_order(systems: dict[str, Any]) -> dict[str, Any]:
    """They may have been measured in any order."""
    return {name: systems[name] for name in SYSTEMS if name in systems}


def load() -> report.Report:
    return report.load(RESULTS) or {"machine": report.machine(), "latency": {}, "throughput": {}}


def keep(*path: Any) -> None:
    """The last of the path is a finding; what was there stays, so that a run can be cut into pieces, and a failure loses nothing."""
    *names, last, finding = path
    whole = load()
    place = whole
    for name in names:
        place = place.setdefault(name, {})
    place[last] = finding
    report.save(whole, RESULTS)
    report.DOC.write_text(document(whole, report.DOC.read_text()))


def markdown(results: report.Report) -> str:
    lines = [_BEGIN]
    for rate, systems in sorted(results["latency"].items(), key=lambda item: int(item[0])):
        rows = {
            name: [*(f"{of['all'][point]:,.1f}" for point in _POINTS), of["seconds"], _loads(of)] for name, of in in_order(systems).items()
        }
        lines += _table([f"{int(rate):,} records/s", *(f"{point} ms" for point in _POINTS), "seconds", _LOADS], rows)
    drained = {
        name: [f"{of['events_per_s']:,}", f"{of['records']:,}", of["seconds_with_start"], _loads(of)]
        for name, of in in_order(results["throughput"]).items()
    }
    if drained:
        lines += _table(["two rules", "events/s", "records", "seconds, with start and warm-up", _LOADS], drained)
    return "\n".join([*lines, _END])


_LOADS = "load before, after"


def _loads(of: dict[str, Any]) -> str:
    return f"{of['load_before']}, {of['load_after']}"


def _table(head: list[str], rows: dict[str, list[Any]]) -> list[str]:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *([name, *map(str, row)] for name, row in rows.items())]
    return ["", *(f"| {' | '.join(line)} |" for line in lines), ""]


def document(results: report.Report, text: str) -> str:
    """The page with its tables renewed."""
    return re.sub(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", lambda _: markdown(results), text, flags=re.DOTALL)
