"""The results as one picture: bars of rates, latency by rate, and the cost of a batch by the size of the state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

_OURS, _ALSO, _THEIRS, _LIMIT = "#1f6f8b", "#d68910", "#b8b8b8", "#c0392b"
_SWEEPS = {"realtime_max_rate": "two rules", "fraud_max_rate": "the whole demo"}


def save(report: dict[str, Any], place: Path) -> None:
    results = report["results"]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    if "scan_vs_row_state" in results:
        _rates(left, results)
    _latency(middle, {name: results[key]["details"] for key, name in _SWEEPS.items() if key in results})
    if "batch_cost_1e6_vs_1e3_keys" in results:
        _state(right, results["batch_cost_1e6_vs_1e3_keys"]["details"])
    figure.savefig(place, dpi=110)
    plt.close(figure)


def _rates(axes: Any, results: dict[str, Any]) -> None:
    rates = dict(results.get("decode_scan_vs_from_json", {"details": {"events_per_s": {}}})["details"]["events_per_s"])
    rates |= results["scan_vs_row_state"]["details"]["events_per_s"]
    rates = dict(sorted(rates.items(), key=lambda item: item[1]))
    bars = axes.barh(list(rates), list(rates.values()), color=[_OURS if "scan" in way else _THEIRS for way in rates])
    axes.bar_label(bars, [f" {rate:,}" for rate in rates.values()])
    axes.set(title="two rules per key, JSON from Kafka", xlabel="events a second")
    axes.margins(x=0.25)


def _latency(axes: Any, sweeps: dict[str, dict[str, Any]]) -> None:
    for (name, details), color in zip(sweeps.items(), (_OURS, _ALSO), strict=False):
        rates = [step["rate"] for step in details["sweep"]]
        for point, style in (("p50", "-"), ("p99", "--")):
            axes.plot(rates, [step[point] for step in details["sweep"]], style, marker="o", color=color, label=f"{name}, {point}")
        axes.axhline(details["limit_ms"], color=_LIMIT, linewidth=1)
    axes.set(title="real time: Kafka to Kafka through keyed state", xlabel="events a second", ylabel="ms", xscale="log", yscale="log")
    if sweeps:
        axes.legend()


def _state(axes: Any, details: dict[str, Any]) -> None:
    times = details["batch_seconds"]
    axes.boxplot(list(times.values()), tick_labels=[f"{int(keys):,}" for keys in times], showfliers=False)
    axes.set(title="the same micro-batch, more state", xlabel="keys in the state", ylabel="seconds a batch", ylim=(0, None))
