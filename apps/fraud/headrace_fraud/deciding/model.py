"""A model beside the rules, and how good both are: `headrace demo --model`, and `headrace fraud learn` over a file.

The model is one of river's. For each decision it says whether it takes it for fraud, then is told what it was, and learns. It sees the
evidence that the rules weigh, as numbers of about one size; what is not known is left out. It is told at once: a bank knows weeks later.
Needs the extra `learning`. Whoever does not ask for it pays nothing: neither the jobs nor the page know of it.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import SetupError
from headrace_fraud.world import truth

DECISION = (
    "tx_id string, customer string, ts timestamp, amount double, rules array<string>, gap_s double, previous_max double, distance_km double"
)

LABEL = "customer STRING NOT NULL, tx_id STRING NOT NULL, ts TIMESTAMP NOT NULL, fraud BOOLEAN NOT NULL"
LATEST = "4 minutes"  # a transaction that is sent longer after its time is not scored

INPUTS = {
    "size": "log1p(amount)",
    "growth": "amount / previous_max",
    "haste": "10 / (gap_s + 10)",
    "way": "log1p(distance_km)",
    "hour": "double(hour(ts))",
}


def require() -> None:
    """Raise SetupError if there is no river."""
    if find_spec("river") is None:
        raise SetupError("the model needs the package river", fix="pip install 'headrace[fraud,learning]'")


def labelled(decisions: hr.Stream, labels: hr.Stream) -> hr.Stream:
    """Each decision with `fraud`, what it was, as soon as both are there. State: those of the last minutes."""
    known = labels.rename(ts="told").event_time("told", LATEST)
    return decisions.event_time("ts", LATEST).join(known, on=["customer", "tx_id"], between=("0 seconds", "0 seconds"))


def scored(known: hr.Stream) -> hr.Stream:
    """Decisions of which `fraud` is known, with `prediction`, what the model had said. State: the model."""
    from river import linear_model, preprocessing

    from headrace import learning

    seen = known.with_columns(all=F.lit(0), **{name: F.expr(sql) for name, sql in INPUTS.items()})
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    return learning.learn(seen.key_by("all"), model=model, inputs=list(INPUTS), target="fraud")


def compare(decisions: Path, frauds: Path) -> dict[str, dict[str, float | int | None]]:
    """Precision and recall of any rule and of the model, over all frauds."""
    require()
    decided = hr.read.files(decisions, format="json", schema=DECISION)
    known = decided.join(hr.table(frauds, format="json"), on=["customer", "tx_id"], how="left").with_columns(
        fraud=F.col("kind").isNotNull()
    )
    rows = scored(known).select("customer", "tx_id", F.col("prediction").alias("model"), (F.size("rules") > 0).alias("rules"))
    output = rows.to.memory("model")
    hr.Job("fraud-model", output).run("batch")
    answers = output.sink.rows  # type: ignore[attr-defined]
    all_frauds = [(fraud.customer, fraud.tx_id) for fraud in truth.read(frauds)]
    return {who: truth.overall(((row.customer, row.tx_id) for row in answers if row[who]), all_frauds) for who in ("rules", "model")}
