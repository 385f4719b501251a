"""The jobs of the flagship, and the topics between them.

decide   transactions, locations     ->  decisions, alerts, duplicates, dead-letters    real-time
windows  decisions                   ->  windows, late                                  micro-batch
store    decisions, alerts, windows  ->  Parquet and a database                         micro-batch
learn    decisions, labels           ->  scores: a model's, if it is asked for          micro-batch

Every row of an output carries its `id`, the place of the record that it was made from (topic/partition/offset), as a header. The decision
job is at-least-once: after a crash it writes some rows again, with the same ids; who reads them counts by id.

`prefix` stands before the name of every topic: a rehearsal has topics of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace_fraud.deciding import model, records, rules, windows
from headrace_fraud.deciding.settings import Rules

INPUTS = ("transactions", "locations")
DECIDED = ("decisions", "alerts", "duplicates", "dead-letters")
OUTPUTS = (*DECIDED, "windows", "late")
LEARNING = ("labels", "scores")  # of the model: only there if it is

# Each topic has so many partitions, and the decision job so many parts of its state: more than a demo on two cores needs would cost it
# threads that wait for each other.
PARTITIONS = 1

# A real-time job saves where it is at the end of each batch; records wait for that, and after a crash a batch is done again.
SAVE_EVERY = "5 minutes"


def decide(settings: Rules, *, prefix: str = "", checkpoint: Path | None = None, servers: str | None = None) -> hr.Job:
    """A decision on each transaction, in milliseconds."""
    inputs = (prefix + topic for topic in INPUTS)
    valid, refused = records.read(hr.read.kafka(*inputs, servers=servers), settings)
    transactions = rules.decide(valid, settings)
    decisions = transactions.where("NOT duplicate")
    id = {"id": F.concat_ws("/", "topic", "partition", "offset")}
    answer: dict[str, Any] = {"key": "customer", "headers": {**id, "sent": F.unix_millis("timestamp")}}  # sent: the producer's clock
    outputs: dict[str, tuple[hr.Stream, dict[str, Any]]] = {
        "decisions": (decisions, {"value": rules.DECISION, **answer}),
        "alerts": (decisions.where("flagged"), {"value": rules.DECISION, **answer}),
        "duplicates": (transactions.where("duplicate"), {"value": ("tx_id", "customer", "ts"), **answer}),
        "dead-letters": (refused, {"headers": id}),
    }
    return hr.Job(
        "fraud-decide",
        *(
            rows.to.kafka(prefix + topic, name=topic, servers=servers, options={"kafka.linger.ms": 1}, **how)
            for topic, (rows, how) in outputs.items()
        ),
        trigger=hr.every(SAVE_EVERY),
        checkpoint=checkpoint,
    )


def totals(*, prefix: str = "", checkpoint: Path | None = None, servers: str | None = None) -> hr.Job:
    """Totals per minute, renewed every few seconds."""

    def publish(rows: DataFrame, batch: int) -> None:  # noqa: ARG001 - the last row of a minute holds, however often it comes
        options = {"kafka.bootstrap.servers": servers or hr.topics.servers(), "topic": f"{prefix}windows"}
        windows.newest(rows).write.format("kafka").options(**options).save()

    minutes, late = windows.totals(windows.decisions(f"{prefix}decisions", servers=servers))
    return hr.Job(
        "fraud-windows",
        minutes.to.callback(publish, name="windows"),
        late.to.kafka(f"{prefix}late", key="customer", value=rules.DECISION, headers={"id": "id"}, servers=servers),
        trigger=hr.every("10 seconds"),
        checkpoint=checkpoint,
    )


def store(place: Path, url: str, *, prefix: str = "", checkpoint: Path | None = None, servers: str | None = None) -> hr.Job:
    """Decisions to Parquet files, alerts and windows to a database."""
    decisions = windows.decisions(f"{prefix}decisions", servers=servers).with_columns(day=F.to_date("ts"))
    alerts = windows.decisions(f"{prefix}alerts", servers=servers).with_columns(rules=F.concat_ws(",", "rules")).drop("flagged")
    # A null is equal to nothing, so `merchant` (null over all) cannot be in a key; nor can a text of any length be in PostgreSQL's index.
    merchant_key = F.coalesce(F.sha2("merchant", 256), F.lit(""))
    minutes = hr.read.kafka(f"{prefix}windows", schema=windows.ROW, servers=servers).with_columns(merchant_key=merchant_key)
    return hr.Job(
        "fraud-store",
        decisions.to.files(place / "decisions", partition_by="day", name="parquet"),
        alerts.to.database(url, "alerts", key="id", name="alerts"),
        # A minute that was sent again after a crash may be an older one: closed is newer than open, and more transactions than fewer.
        minutes.to.database(url, "windows", key=["minute", "merchant_key"], newest=["closed", "transactions"], name="windows"),
        trigger=hr.every("20 seconds"),
        checkpoint=checkpoint,
        guarantee="exactly-once",
    )


def learn(*, prefix: str = "", checkpoint: Path | None = None, servers: str | None = None) -> hr.Job:
    """What a model says of each decision before it is told what it was: see `model`."""
    labels = hr.read.kafka(f"{prefix}labels", schema=model.LABEL, servers=servers)
    known = model.labelled(windows.decisions(f"{prefix}decisions", servers=servers), labels)
    predictions = model.scored(known).with_columns(model=F.coalesce("prediction", F.lit(False)))
    return hr.Job(
        "fraud-learn",
        predictions.to.kafka(
            f"{prefix}scores", name="scores", key="customer", value=("customer", "tx_id", "ts", "flagged", "model", "fraud"),
            headers={"id": "id"}, servers=servers,
        ),
        trigger=hr.every("5 seconds"),
        checkpoint=checkpoint,
    )  # fmt: skip
