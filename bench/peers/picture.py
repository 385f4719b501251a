"""Latency over time, all systems in one picture: it shows where something is saved."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from bench.peers import tables
from bench.reporting import report

RATE = "1000"
_MEDIAN, _WORST = "#1f6f8b", "#c0392b"


def save(results: dict[str, Any]) -> None:
    systems = tables.in_order(results["latency"].get(RATE, {}))
    if not systems:
        return
    figure, axes = plt.subplots(
        len(systems), 1, figsize=(11, 1.35 * len(systems)), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for row, (name, of) in zip(axes[:, 0], systems.items(), strict=True):
        series, points = of["by_second"], of["all"]
        at = [second - of["warm_up_seconds"] for second in series["second"]]
        row.fill_between(at, series["p50"], series["max"], step="mid", color=_WORST, alpha=0.25, linewidth=0, label="worst of the second")
        row.plot(at, series["p50"], color=_MEDIAN, linewidth=1.4, label="median")
        row.set(yscale="log", ylabel="ms")
        row.yaxis.set_major_formatter("{x:g}")
        row.set_title(f"{name}:  p50 {points['p50']:.1f}   p99 {points['p99']:.1f}   worst {points['max']:.0f} ms", loc="left", fontsize=10)
        row.grid(visible=True, axis="y", alpha=0.3)
        row.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=2, frameon=False, fontsize=9)
    axes[-1, 0].set(xlabel=f"seconds since the warm-up; {int(RATE):,} records a second, every record counted")
    figure.savefig(report.DOC.with_name("peers.png"), dpi=90)
    plt.close(figure)
