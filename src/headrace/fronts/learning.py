"""A model for each key that predicts, then learns, record by record, with the models of river.

    from headrace import learning
    from river import linear_model, metrics, preprocessing

    scored = learning.learn(
        payments.key_by("customer"),
        model=preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        inputs=["amount", "hour"], target="fraud", metric=metrics.Accuracy(),
    )

Each record comes out with what the model said *before* it saw the answer, so the metric over time is an honest one. The model lives in the
state of its key: it is saved with the batch, and goes on after a crash where it was. Every mode has it, as Python in the scan.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from pyspark.sql import types as T

from headrace.definitions import arguments, seals
from headrace.embedded import places
from headrace.errors import DefinitionError, SetupError, user_line
from headrace.fronts.keyed import Keyed
from headrace.fronts.stream import Stream
from headrace.kernel.scan import TimeOptions

if TYPE_CHECKING:
    from river import base, metrics

__all__ = ["learn", "model_of"]

MODELS = "models"
"""The port of the models that are exported."""

_ADDED = ("prediction", "metric", "drift", "seen")
_STATE = "learned binary, seen long"
_MOST_OPEN = 1_000  # models that a worker has open; others are opened again from the state


def learn(
    keyed: Keyed,
    *,
    model: base.Estimator,
    inputs: Sequence[str],
    target: str | None = None,
    metric: metrics.base.Metric | None = None,
    drift: base.DriftDetector | None = None,
    renew: bool = False,
    export: int | None = None,
    **time: Unpack[TimeOptions],
) -> Stream:
    """Every record with what a model of its key predicts, and the model taught with it.

    model     a model of river's: a classifier, a regressor, a clusterer or an anomaly detector, or a pipeline that ends in one. Each key
              begins with a copy of it.
    inputs    the columns that it sees. One that is null is not shown to it.
    target    the column that it learns to predict; for a clusterer or an anomaly detector, none. A record whose target is null gets a
              prediction and teaches nothing.
    metric    of river's; its value after this record, over all records of the key with a target.
    drift     a drift detector of river's. It watches the errors: 0 or 1 of a classifier, the distance of a regressor; of an anomaly
              detector, the score.
    renew     begin with a new model when the detector has seen a drift.
    export    with every so many records of a key, put the model out of the port "models", for `model_of`.

    The rows are the records with four columns more: `prediction` (of a classifier in the type of the target, null before it knows any; of
    a regressor or an anomaly detector a double; of a clusterer an int), `metric` (a double), `drift` (whether it was seen at this record),
    and `seen` (how many records taught the model). `order`, `event_time`, `delay` and `idle` are those of `scan`.

    State: the model, its metric and its detector, pickled and sealed, in one row for each key until it is `idle`. A record costs a
    pickling, some 40 microseconds for a small one. The seal's secret is in this user's data directory (`learning/models.secret`): a
    checkpoint that moves to another machine needs it there.

    >>> import headrace as hr
    >>> from headrace import learning
    >>> from river import dummy, stats
    >>> rows = hr.read.memory("k string, x double, y double", [("a", 1.0, 3.0), ("a", 1.0, 5.0), ("a", 1.0, None)])
    >>> means = learning.learn(rows.key_by("k"), model=dummy.StatisticRegressor(stats.Mean()), inputs=["x"], target="y")
    >>> [(row.prediction, row.seen) for row in means.head()]
    [(0.0, 1), (3.0, 2), (4.0, 2)]
    """
    schema = keyed.stream.schema
    _check_columns(schema, inputs, target)
    kind = _kind(model, target)
    if export is not None:
        arguments.whole("learn: export", export, least=1)
    secret = seals.secret_of("models", places.data() / "learning")
    answer = T.StructType([
        *schema,
        T.StructField("prediction", kind.prediction or schema[str(target)].dataType),
        T.StructField("metric", T.DoubleType()),
        T.StructField("drift", T.BooleanType()),
        T.StructField("seen", T.LongType()),
    ])  # fmt: skip
    model_row = T.StructType(
        [*(schema[key] for key in keyed.keys), T.StructField("seen", T.LongType()), T.StructField("model", T.BinaryType())]
    )
    begin = Learned(model, metric, drift)
    _check_pickles(begin)
    function = Learner(begin, kind.name, tuple(keyed.keys), tuple(inputs), target, renew, export, secret)
    ports = {} if export is None else {MODELS: model_row}
    return keyed.scan_python(state=_STATE, function=function, output=answer, ports=ports, **time)


def model_of(exported: bytes) -> Any:
    """The model of a row of the port "models". ValueError if it was not exported by this user."""
    return Learned(*seals.opened(seals.secret_of("models", places.data() / "learning"), bytes(exported))).model


@dataclass
class Learned:
    """What is kept of a key."""

    model: Any
    metric: Any
    drift: Any

    @property
    def parts(self) -> tuple[Any, Any, Any]:
        """What is pickled: this class travels to workers by value, and a pickle names classes."""
        return self.model, self.metric, self.drift


@dataclass
class Learner:
    """The function of the scan. It stays in its worker, with the models that it has open; the state is what counts."""

    begin: Learned
    kind: str
    keys: tuple[str, ...]
    inputs: tuple[str, ...]
    target: str | None
    renew: bool
    export: int | None
    secret: bytes
    _open: dict[tuple[Any, ...], tuple[bytes, Learned]] = field(default_factory=dict)

    def open(self) -> None:
        """Stay in the worker from batch to batch."""

    def __call__(self, state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        key, seen = tuple(record[name] for name in self.keys), state["seen"] or 0
        learned = self._learned(key, state["learned"])
        shown = {name: record[name] for name in self.inputs if record[name] is not None}
        answer = record[self.target] if self.target is not None else None
        prediction = self._predict(learned.model, shown)
        drifted = False
        if self.target is None or answer is not None:
            drifted = self._judge(learned, answer, prediction)
            if drifted and self.renew:
                learned.model = copy.deepcopy(self.begin.model)
            seen += 1
            learned.model.learn_one(shown) if self.target is None else learned.model.learn_one(shown, answer)
        sealed = self._sealed(key, learned)
        value = learned.metric.get() if learned.metric is not None else None
        row = record | {"prediction": prediction, "metric": value, "drift": drifted if learned.drift is not None else None, "seen": seen}
        new = {"learned": sealed, "seen": seen}
        if self.export is None:
            return new, [row]
        due = seen % self.export == 0 and seen > (state["seen"] or 0)
        models = [dict(zip(self.keys, key, strict=True)) | {"seen": seen, "model": sealed}] if due else []
        return new, {"main": [row], MODELS: models}

    def _learned(self, key: tuple[Any, ...], sealed: bytes | None) -> Learned:
        """Out of the state, unless that very model is open."""
        if sealed is None:
            return copy.deepcopy(self.begin)
        before = self._open.pop(key, None)
        if before is not None and before[0] == sealed:
            return before[1]
        return Learned(*seals.opened(self.secret, sealed))

    def _sealed(self, key: tuple[Any, ...], learned: Learned) -> bytes:
        sealed = seals.sealed(self.secret, pickle.dumps(learned.parts, pickle.HIGHEST_PROTOCOL))
        if len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]  # the one that was used longest ago
        self._open[key] = (sealed, learned)
        return sealed

    def _predict(self, model: Any, shown: Mapping[str, Any]) -> Any:
        if self.kind == "anomaly detector":
            return float(model.score_one(shown))
        try:
            prediction = model.predict_one(shown)
        except KeyError:  # k-means and others know no place before their first record
            return None
        if prediction is None:
            return None
        return {"regressor": float, "clusterer": int}.get(self.kind, lambda label: label)(prediction)

    def _judge(self, learned: Learned, answer: Any, prediction: Any) -> bool:
        """Whether the detector sees a drift at this record."""
        if self.target is not None and prediction is None:
            return False
        if learned.metric is not None and self.target is not None:
            learned.metric.update(answer, prediction)
        if learned.drift is None or prediction is None:
            return False
        error = (
            prediction if self.target is None else float(answer != prediction) if self.kind == "classifier" else abs(answer - prediction)
        )
        learned.drift.update(error)
        return bool(learned.drift.drift_detected)

    def _error(self, answer: Any, prediction: Any) -> float:
        return float(answer != prediction) if self.kind == "classifier" else abs(answer - prediction)


@dataclass(frozen=True)
class _Kind:
    name: str
    prediction: T.DataType | None
    """The type of what it predicts; None: that of the target."""


def _kind(model: Any, target: str | None) -> _Kind:
    try:
        from river import base
    except ImportError:
        raise SetupError("learn needs river, which is not installed", fix="pip install 'headrace[learning]'") from None
    kinds = {
        base.Classifier: _Kind("classifier", None),
        base.Regressor: _Kind("regressor", T.DoubleType()),
        base.Clusterer: _Kind("clusterer", T.IntegerType()),
        base.AnomalyDetector: _Kind("anomaly detector", T.DoubleType()),
    }
    kind = next((kind for river, kind in kinds.items() if isinstance(model, river)), None)
    if kind is None:
        raise _refused(
            f"model: {arguments.shown(model)} is none that this can teach",
            "give a classifier, regressor, clusterer or anomaly detector of river's, or a pipeline that ends in one",
        )
    taught = kind.name in ("classifier", "regressor")
    if taught and target is None:
        raise _refused(f"a {kind.name} needs something to learn", "name its column: target=…")
    if not taught and target is not None:
        raise _refused(f"a {kind.name} learns without a target", "leave target= out")
    return kind


def _check_columns(schema: T.StructType, inputs: Sequence[str], target: str | None) -> None:
    names = arguments.names("learn: inputs", inputs)
    if not names:
        raise _refused("inputs: there is none", "name the columns that the model sees")
    for name in (*names, *([] if target is None else arguments.names("learn: target", target))):
        if name not in schema.names:
            raise _refused(f"there is no column '{name}'", f"name one that there is: {', '.join(schema.names)}")
    if target in names:
        raise _refused(f"the target '{target}' is also an input", "take it out of inputs: the model would see the answer")
    for name in _ADDED:
        if name in schema.names:
            raise _refused(f"the column '{name}' would be there twice", f"rename it: stream.rename({{'{name}': …}})")


def _check_pickles(begin: Learned) -> None:
    try:
        pickle.dumps(begin.parts)
    except Exception as error:  # whatever a class raises that cannot be pickled
        raise _refused(f"the model cannot be kept: {error}", "give a model, metric and detector that can be pickled") from None


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"learn: {what}", fix=fix, where=user_line())
