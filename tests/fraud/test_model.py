"""The model beside the rules: it says what river says by itself, is scored as the rules are, and is a job of the demo if asked for."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from river import linear_model, preprocessing

import headrace as hr
from headrace_fraud.deciding import jobs, lines, model, topics
from headrace_fraud.deciding.settings import Rules
from headrace_fraud.demo import rehearsal
from headrace_fraud.page import Board
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


class Decided(NamedTuple):
    decisions: Path
    truth: Path

    def frauds(self) -> set[tuple[str, str]]:
        return {(fraud.customer, fraud.tx_id) for fraud in truth.read(self.truth)}

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.decisions.read_text().splitlines()]


@pytest.fixture(scope="module")
def decided(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Decided:  # noqa: ARG001
    place = tmp_path_factory.mktemp("decided")
    files.write(place / "in.jsonl", events=6_000, seed=3, rate=50, truth_path=place / "truth.jsonl")
    lines.decide(place / "in.jsonl", "batch", place / "out.jsonl", None, Rules())
    return Decided(place / "out.jsonl", place / "truth.jsonl")


def test_the_model_says_what_river_says_and_both_are_scored_over_all_frauds(decided: Decided) -> None:
    frauds = decided.frauds()
    alone = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    said: list[tuple[str, str]] = []
    flagged: list[tuple[str, str]] = []
    for decision in decided.rows():
        transaction, seen = (decision["customer"], decision["tx_id"]), inputs(decision)
        said += [transaction] if alone.predict_one(seen) else []
        flagged += [transaction] if decision["flagged"] else []
        alone.learn_one(seen, transaction in frauds)
    assert said, "it has found something"
    assert model.compare(*decided) == {"rules": truth.overall(flagged, frauds), "model": truth.overall(said, frauds)}


def test_as_a_job_it_scores_each_decision_that_it_is_told_of_once(decided: Decided, kafka: str, tmp_path: Path) -> None:
    """Half of the labels come in a second run, which goes on where the first one was; some decisions come again, as after a crash."""
    prefix, frauds, decisions = "learn-test-", decided.frauds(), decided.rows()[:2_000]
    names = [prefix + name for name in ("decisions", *jobs.LEARNING)]
    keys = [(decision["customer"], decision["tx_id"]) for decision in decisions]
    written = [
        rehearsal.Message("decisions", json.dumps(decision).encode(), key[0], f"transactions/0/{number}")
        for number, (key, decision) in enumerate(zip(keys, decisions, strict=True))
    ]
    labels = [
        rehearsal.Message("labels", json.dumps({"customer": c, "tx_id": t, "ts": d["ts"], "fraud": (c, t) in frauds}).encode(), c)
        for (c, t), d in zip(keys, decisions, strict=True)
    ]
    topics.create(kafka, names, partitions=1)
    try:
        for messages in ([*written, *labels[:1_000]], [*written[-50:], *labels[1_000:]]):
            rehearsal._send(kafka, prefix, messages)
            jobs.learn(prefix=prefix, checkpoint=tmp_path / "checkpoint", servers=kafka).run("micro-batch", trigger=hr.once)
        board = Board(model=True)
        scores = list(hr.topics.read(f"{prefix}scores", servers=kafka))
        for score in scores:
            board.take("scores", 0, score.offset, None, score.value, score.headers, 0.0)
    finally:
        topics.remove(kafka, names)
    known = [json.loads(score.value or b"") for score in scores]
    assert Counter((each["customer"], each["tx_id"]) for each in known) == Counter(keys)
    assert {(each["customer"], each["tx_id"]) for each in known if each["fraud"]} == frauds & set(keys)
    shown = board.model()
    assert shown is not None
    flagged = [key for key, decision in zip(keys, decisions, strict=True) if decision["flagged"]]
    overall = truth.overall(flagged, frauds & set(keys))
    assert shown["scored"] == len(keys)
    assert {name: shown["rules"][name] for name in ("precision", "recall", "alerts")} == {
        name: overall[name] for name in ("precision", "recall", "alerts")
    }
    assert shown["model"]["alerts"], "it has found something"
