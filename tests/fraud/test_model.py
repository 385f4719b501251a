"""`headrace fraud learn`: the model says what river says by itself, and is scored as the rules are."""

from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from river import linear_model, preprocessing

from headrace_fraud.deciding import lines, model
from headrace_fraud.deciding.settings import Rules
from headrace_fraud.world import files, truth


def inputs(decision: dict[str, Any]) -> dict[str, float]:
    """What the model sees of a decision; what is not known is left out."""
    seen = {
        "size": math.log1p(decision["amount"]),
        "growth": decision["previous_max"] and decision["amount"] / decision["previous_max"],
        "haste": None if decision["gap_s"] is None else 10 / (decision["gap_s"] + 10),
        "way": None if decision["distance_km"] is None else math.log1p(decision["distance_km"]),
        "hour": float(datetime.fromisoformat(decision["ts"]).hour),
    }
    return {name: value for name, value in seen.items() if value is not None}


@pytest.mark.usefixtures("spark")
def test_the_model_says_what_river_says_and_both_are_scored_over_all_frauds(tmp_path: Path) -> None:
    given, decided, noted = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "truth.jsonl"
    files.write(given, events=6_000, seed=3, rate=50, truth_path=noted)
    lines.decide(given, "batch", decided, None, Rules())
    frauds = {(fraud.customer, fraud.tx_id) for fraud in truth.read(noted)}
    alone = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    said: list[tuple[str, str]] = []
    flagged: list[tuple[str, str]] = []
    for decision in map(json.loads, decided.read_text().splitlines()):
        transaction, seen = (decision["customer"], decision["tx_id"]), inputs(decision)
        said += [transaction] if alone.predict_one(seen) else []
        flagged += [transaction] if decision["flagged"] else []
        alone.learn_one(seen, transaction in frauds)
    assert said, "it has found something"
    assert model.compare(decided, noted) == {"rules": truth.overall(flagged, frauds), "model": truth.overall(said, frauds)}
