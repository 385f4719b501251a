"""Latency over time, all systems in one picture: it shows where something is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt


def save(found: dict[str, Any], place: Path) -> None:
    systems = found["systems"]
    figure, rows = plt.subplots(
        len(systems), 1, figsize=(11, 1.9 * len(systems)), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axes, (name, of) in zip(rows[:, 0], systems.items(), strict=True):
        series = of["by_second"]
        axes.plot(series["second"], series["max"], color="#c0392b", linewidth=0.9, label="worst of the second")
        axes.plot(series["second"], series["p50"], color="#1f6f8b", linewidth=1.2, label="median")
        axes.set(yscale="log", ylabel="ms", title=f"{name}: p50 {of['all']['p50']}, p99 {of['all']['p99']}, worst {of['all']['max']} ms")
        axes.grid(visible=True, axis="y", alpha=0.3)
    rows[0, 0].legend(loc="upper right")
    rows[-1, 0].set(xlabel=f"seconds since the first record, {found['rate']:,} records a second")
    figure.savefig(place, dpi=100)
    plt.close(figure)
