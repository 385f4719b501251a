"""Models that learn from each record: the same predictions as in plain Python, in every mode."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from river import anomaly, cluster, drift, dummy, linear_model, metrics, preprocessing, stats

import headrace as hr
from headrace import learning
from headrace.errors import DefinitionError

SCHEMA = "k string, a double, b double, y boolean"


def records(count: int) -> list[tuple[str, float, float, bool | None]]:
    """Two keys, whose rule turns around in the middle; every tenth answer is not known."""
    dice = random.Random(7)
    rows: list[tuple[str, float, float, bool | None]] = []
    for n in range(count):
        a, b = dice.uniform(-1, 1), dice.uniform(-1, 1)
        answer = (a + b > 0) == (n < count / 2)
        rows.append(("k" if n % 3 else "other", a, b, None if n % 10 == 9 else answer))
    return rows


def classifier() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def plain(rows: list[Any], key: str) -> list[tuple[Any, ...]]:
    """What river says, without headrace."""
    model, accuracy, detector, seen, result = classifier(), metrics.Accuracy(), drift.ADWIN(delta=0.1), 0, []
    for _, a, b, answer in (row for row in rows if row[0] == key):
        prediction, drifted = model.predict_one({"a": a, "b": b}), False
        if answer is not None:
            if prediction is not None:
                accuracy.update(answer, prediction)
                detector.update(float(answer != prediction))
                drifted = detector.drift_detected
            model.learn_one({"a": a, "b": b}, answer)
            seen += 1
        result.append((prediction, accuracy.get(), drifted, seen))
    return result


def learned(stream: hr.Stream, **more: Any) -> hr.Stream:
    return learning.learn(
        stream.key_by("k"),
        model=classifier(),
        inputs=["a", "b"],
        target="y",
        metric=metrics.Accuracy(),
        drift=drift.ADWIN(delta=0.1),
        **more,
    )


ROWS = records(600)


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_every_prediction_metric_and_drift_is_that_of_plain_python(mode: Any) -> None:
    result = learned(hr.read.memory(SCHEMA, *(ROWS[start : start + 200] for start in range(0, 600, 200)))).to.memory()
    hr.Job(f"learned-{mode}", result).run(mode, trigger=None if mode == "batch" else "once")
    for key in ("k", "other"):
        got = [(row.prediction, row.metric, row.drift, row.seen) for row in result.sink.rows if row.k == key]
        assert got == plain(ROWS, key)
    assert any(row.drift for row in result.sink.rows)


def test_in_real_time_too(topic: Callable[..., str], tmp_path: Any) -> None:
    source, target = topic(), topic()
    hr.topics.send(source, [{"k": k, "a": a, "b": b, "y": y} for k, a, b, y in ROWS[:90]])
    out = learned(hr.read.kafka(source, schema=SCHEMA, start="earliest")).to.kafka(target, key="k")
    with hr.Job("learned-live", out, checkpoint=tmp_path / "checkpoint").start("real-time"):
        rows = [json.loads(record.value) for record in hr.topics.read(target, limit=90, follow=True)]
    for key in ("k", "other"):
        assert [row.get("prediction") for row in rows if row["k"] == key] == [prediction for prediction, *_ in plain(ROWS[:90], key)]


def test_a_new_model_begins_at_a_drift_and_is_better_than_the_old_one() -> None:
    def accuracy(renew: bool) -> float:
        rows = learned(hr.read.memory(SCHEMA, ROWS), renew=renew).to_pandas(600)
        return float((rows.prediction == rows.y)[rows.y.notna()][-100:].mean())

    assert accuracy(renew=True) > accuracy(renew=False)


def test_what_is_exported_is_the_model() -> None:
    stream = learned(hr.read.memory(SCHEMA, ROWS), export=100)
    main, models = stream.to.memory(), stream.port("models").to.memory(name="models")
    hr.Job("exported", main, models).run("batch")
    exported = {(row.k, row.seen): learning.model_of(row.model) for row in models.sink.rows}
    assert sorted(exported) == [("k", 100), ("k", 200), ("k", 300), ("other", 100)]
    after = next(row for row in main.sink.rows if row.k == "other" and row.seen == 101)
    assert exported["other", 100].predict_one({"a": after.a, "b": after.b}) == after.prediction
    with pytest.raises(ValueError, match="was not sealed"):
        learning.model_of(b"x" * 16 + b"cos\nsystem\n.")


@pytest.mark.parametrize(("model", "kind"), [
    (cluster.KMeans(n_clusters=2, seed=1), "int"),
    (anomaly.HalfSpaceTrees(seed=1), "double"),
])  # fmt: skip
def test_what_needs_no_answer_learns_from_every_record(model: Any, kind: str) -> None:
    stream = learning.learn(hr.read.memory(SCHEMA, ROWS[:50]).key_by("k"), model=model, inputs=["a", "b"])
    rows = stream.head(50)
    assert stream.schema["prediction"].dataType.simpleString() == kind
    assert max(row.seen for row in rows) == sum(row[0] == "k" for row in ROWS[:50])
    assert rows[-1].prediction is not None


MEAN = dummy.StatisticRegressor(stats.Mean())


@pytest.mark.parametrize(("options", "what"), [
    ({"model": MEAN, "inputs": ["a"]}, "a regressor needs something to learn"),
    ({"model": MEAN, "inputs": ["c"], "target": "b"}, "there is no column 'c'"),
    ({"model": MEAN, "inputs": [], "target": "b"}, "inputs: there is none"),
    ({"model": MEAN, "inputs": ["a", "b"], "target": "b"}, "the target 'b' is also an input"),
    ({"model": cluster.KMeans(), "inputs": ["a"], "target": "b"}, "a clusterer learns without a target"),
    ({"model": "a model", "inputs": ["a"], "target": "b"}, "model: 'a model' is none that this can teach"),
    ({"model": MEAN, "inputs": ["a"], "target": "b", "export": 0}, "export: 0 is no number that it can take"),
])  # fmt: skip
def test_a_mistake_is_told_where_it_is_made(options: dict[str, Any], what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        learning.learn(hr.read.memory(SCHEMA).key_by("k"), **options)
    assert what in refused.value.what
    assert refused.value.where is not None
    assert "test_learning.py" in refused.value.where
