"""The results as one picture: bars of rates, latency by rate, and the cost of a batch by the size of the state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

_OURS, _THEIRS, _LIMIT = "#1f6f8b", "#b8b8b8", "#c0392b"


def save(report: dict[str, Any], place: Path) -> None:
    results = report["results"]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    if "scan_vs_row_state" in results:
        _rates(left, results)
    if "realtime_max_rate" in results:
        _latency(middle, results["realtime_max_rate"]["details"])
    if "batch_cost_1e6_vs_1e3_keys" in results:
        _state(right, results["batch_cost_1e6_vs_1e3_keys"]["details"])
    figure.savefig(place, dpi=110)
    plt.close(figure)


def _rates(axes: Any, results: dict[str, Any]) -> None:
    rates = dict(results.get("decode_scan_vs_from_json", {"details": {"events_per_s": {}}})["details"]["events_per_s"])
    rates |= results["scan_vs_row_state"]["details"]["events_per_s"]
    rates = dict(sorted(rates.items(), key=lambda item: item[1]))
    bars = axes.barh(list(rates), list(rates.values()), color=[_OURS if "scan" in way or way == "decode" else _THEIRS for way in rates])
    axes.bar_label(bars, [f" {rate:,}" for rate in rates.values()])
    axes.set(title="two rules per key, JSON from Kafka", xlabel="events a second")
    axes.margins(x=0.25)


def _latency(axes: Any, details: dict[str, Any]) -> None:
    sweep = details["sweep"]
    rates = [step["rate"] for step in sweep]
    for point, style in (("p50", "-"), ("p99", "--")):
        axes.plot(rates, [step[point] for step in sweep], style, marker="o", color=_OURS, label=point)
    axes.axhline(details["limit_ms"], color=_LIMIT, linewidth=1)
    axes.set(title="real time: Kafka to Kafka through keyed state", xlabel="events a second", ylabel="ms", xscale="log", yscale="log")
    axes.legend()


def _state(axes: Any, details: dict[str, Any]) -> None:
    times = details["batch_seconds"]
    axes.boxplot(list(times.values()), tick_labels=[f"{int(keys):,}" for keys in times], showfliers=False)
    axes.set(title="the same micro-batch, more state", xlabel="keys in the state", ylabel="seconds a batch", ylim=(0, None))
