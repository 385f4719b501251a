"""The flagship's decisions into topics, files and a database, in one job that has secrets, and that fails of a record on demand."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame

import headrace as hr
from headrace_fraud.deciding import records, rules
from headrace_fraud.deciding.settings import Rules

BOOM = "boom"  # a customer


def job(prefix: str, place: str) -> hr.Job:
    secret = {"kafka.ssl.key.password": "env:CANARY_PASSWORD"}
    valid, refused = records.read(hr.read.kafka(f"{prefix}transactions", options=secret), Rules())
    decisions = rules.decide(valid, Rules())
    stored = decisions.select("tx_id", "customer", "card", "amount")
    return hr.Job(
        "canary",
        decisions.to.kafka(f"{prefix}decisions", key="customer", value=rules.DECISION, options=secret, name="decisions"),
        refused.to.kafka(f"{prefix}dead-letters", options=secret, name="dead-letters"),
        stored.to.files(f"{place}/decisions", name="files"),
        stored.to.database("env:CANARY_DATABASE", "decisions", key="tx_id", name="database"),
        stored.to.callback(fail, name="callback"),
        checkpoint=f"{place}/checkpoint",
        trigger="500 milliseconds",
    )


def fail(rows: DataFrame, batch: int) -> None:
    """As a careless function does: what it knows is in what it raises."""
    if (row := rows.where(rows.customer == BOOM).first()) is not None and "CANARY_CALM" not in os.environ:
        raise RuntimeError(f"batch {batch}: {row} cannot be sent with {os.environ['CANARY_PASSWORD']} to {os.environ['CANARY_DATABASE']}")
