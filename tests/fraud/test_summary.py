"""The last words of the demo: the steady state comes first, and the warm-up is not hidden."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from headrace_fraud.commands import _table


def report(**more: Any) -> dict[str, Any]:
    return {
        "sent": 1_010,
        "decided": 1_000,
        "duplicates": 6,
        "dead_letters": 4,
        "conserved": True,
        "rules": {"velocity": {"precision": 1.0, "recall": None}},
        "peak_memory_mb": 3_600,
        "seconds_to_first_decision": 31.4,
        "latency_from_s": 30.0,
        "latency_ms": {"p50": 7.9, "p99": 17.0, "max": 51.2},
        "latency_warm_up_ms": {"p50": 9.1, "p99": 3_798.0, "max": 3_950.0},
        "latency_overall_ms": {"p50": 8.0, "p99": 1_204.0, "max": 3_950.0},
        **more,
    }


def lines(found: dict[str, Any]) -> list[str]:
    console = Console(width=200, highlight=False)
    with console.capture() as capture:
        console.print(_table(found))
    return [" ".join(line.split()) for line in capture.get().splitlines()]


def test_the_last_lines_tell_steady_state_warm_up_and_overall_apart() -> None:
    assert lines(report())[-3:] == [
        "latency half within 7.9 ms, 99 % within 17 ms, all within 51 ms in the steady state, after 30 s of warm-up",
        "half within 9.1 ms, 99 % within 3,798 ms, all within 3,950 ms in the warm-up, the first 30 s",
        "half within 8.0 ms, 99 % within 1,204 ms, all within 3,950 ms overall",
    ]


def test_a_run_that_did_not_come_to_a_steady_state_says_so() -> None:
    nothing = dict.fromkeys(("p50", "p99", "max"))
    said = "latency no steady state: nothing was decided after the warm-up of 30 s"
    assert lines(report(latency_ms=nothing))[-3] == said
    assert lines(report(latency_ms=nothing, latency_warm_up_ms=nothing, latency_overall_ms=nothing))[-1] == said
