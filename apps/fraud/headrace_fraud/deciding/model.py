"""A model beside the rules, and how good both are: `headrace fraud learn`.

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

INPUTS = {
    "size": "log1p(amount)",
    "growth": "amount / previous_max",
    "haste": "10 / (gap_s + 10)",
    "way": "log1p(distance_km)",
    "hour": "double(hour(ts))",
}


def scored(decisions: hr.Stream, frauds: hr.Table) -> hr.Stream:
    """Each decision with `fraud`, what it was, and `prediction`, what the model had said."""
    from river import linear_model, preprocessing

    from headrace import learning

    known = decisions.join(frauds, on=["customer", "tx_id"], how="left").with_columns(
        fraud=F.col("kind").isNotNull(), all=F.lit(0), **{name: F.expr(sql) for name, sql in INPUTS.items()}
    )
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    return learning.learn(known.key_by("all"), model=model, inputs=list(INPUTS), target="fraud")


def compare(decisions: Path, frauds: Path) -> dict[str, dict[str, float | int | None]]:
    """Precision and recall of any rule and of the model, over all frauds."""
    if find_spec("river") is None:
        raise SetupError("the model needs the package river", fix="pip install 'headrace[fraud,learning]'")
    rows = scored(hr.read.files(decisions, format="json", schema=DECISION), hr.table(frauds, format="json")).select(
        "customer", "tx_id", F.col("prediction").alias("model"), (F.size("rules") > 0).alias("rules")
    )
    said = rows.to.memory("model")
    hr.Job("fraud-model", said).run("batch")
    answers = said.sink.rows  # type: ignore[attr-defined]
    known = [(fraud.customer, fraud.tx_id) for fraud in truth.read(frauds)]
    return {who: truth.overall(((row.customer, row.tx_id) for row in answers if row[who]), known) for who in ("rules", "model")}
