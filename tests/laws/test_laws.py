"""Every operator under every law. More examples of the generated kind: `make soak`."""

from __future__ import annotations

import os
import zlib
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import Row
from tests.laws.conserving import CONSERVING, RECORDS, Conserving
from tests.laws.operators import CASES, FEATURES, TOLD, Case
from tests.laws.records import SCHEMA

import headrace as hr
from headrace.testing import laws, shapes
from headrace.testing.clocks import START
from headrace.testing.strategies import rows

pytestmark = pytest.mark.usefixtures("spark")
each_case = pytest.mark.parametrize("case", CASES, ids=str)
EXAMPLES = int(os.environ.get("HEADRACE_LAW_EXAMPLES", "1"))

EXTREMES = (
    shapes.BATCH,
    shapes.ONE_BATCH,
    shapes.RECORD_PER_BATCH,
    shapes.RESTARTED,
)  # between them: generated, by `make soak`

# In order, in disorder, at the same time; null keys and values; the largest comes twice.
TYPICAL = [
    ("ann", 5.0, START),
    ("bob", -1.0, START + timedelta(seconds=1)),
    ("ann", -2.5, START + timedelta(seconds=1)),
    (None, 1.0, START + timedelta(seconds=2)),
    ("ann", 5.0, START + timedelta(seconds=9)),
    ("ann", None, START + timedelta(seconds=4)),
]
MANY = [
    (customer, float(-n - 1 if n % 5 == 0 else n), START + timedelta(seconds=5 * n)) for n in range(24) for customer in ("ann", "bob")
]  # every amount differs: what remembers them all is found out


BY_LAW = ("same_in_every_shape", "bears_nulls_and_nothing")


def test_every_public_operator_has_a_case() -> None:
    run = {
        "read",
        "table",
        "sql",  # whose operators are these
        "Receiver",
        "Stream",
        "Sink",
        "Writer",
        "Run",
        "Guarantee",
        "Job",
        "session",
        "topics",
        "data_directory",
        "every",
        "once",
        "finish",
        "errors",
        "HeadraceError",
    }
    parts = {"Timer", "PythonTimer", "Bag", "Each", "Expire", "Port", "port"}  # of a scan
    parts |= {
        "clock",
        "fold",
        "fold_python",
        "repeatedly",
        "or_finally",
        *(name for name in hr.__all__ if name.startswith("after_")),
    }  # of windows
    parts |= {"step", "group"}  # of patterns
    operators = set(hr.__all__) - run - parts
    assert operators <= {case.name.split(",")[0].split()[0] for case in (*CASES, *FEATURES)}


def obeys(case: Case, law: str) -> bool:
    return law not in case.exempt


@pytest.mark.parametrize("case", [case for case in CASES if obeys(case, "same_in_every_shape")], ids=str)
def test_same_in_every_shape(case: Case) -> None:
    ways = (*EXTREMES, shapes.FINISH) if "closing" in case.options else EXTREMES  # the others have nothing that waits for an end
    laws.same_in_every_shape(case.operator, TYPICAL, SCHEMA, shapes=ways, exempt=case.exempt, **case.options)


@pytest.mark.soak
@pytest.mark.parametrize("case", [case for case in CASES if obeys(case, "same_in_every_shape")], ids=str)
def test_same_however_it_is_cut(case: Case) -> None:
    @seed(zlib.crc32(case.name.encode()))  # else every operator would see the same examples
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),  # to shrink an example would take a Spark run for each step
        suppress_health_check=list(HealthCheck),
    )
    @given(made=rows(SCHEMA, keys=("customer",), min_size=8, max_size=10), cuts=st.integers(0, 99))
    def holds(made: list[Row], cuts: int) -> None:
        assume(len({row.customer for row in made}) > 1)  # not the simplest, which hypothesis tries first: one record, again and again
        laws.same_in_every_shape(case.operator, made, SCHEMA, shapes=(shapes.BATCH, shapes.random_cuts(cuts)), **case.options)

    holds()


@each_case
def test_restart_loses_and_repeats_nothing(case: Case) -> None:
    against = shapes.BATCH if obeys(case, "same_in_every_shape") else shapes.in_parts(3)
    laws.restart_loses_and_repeats_nothing(case.operator, TYPICAL, SCHEMA, against=against, **case.options)


@pytest.mark.parametrize("case", [*CASES, *FEATURES], ids=str)
def test_state_stays_within_its_bound(case: Case) -> None:
    laws.state_stays_within(case.operator, MANY, SCHEMA, bound=case.bound, **case.options)


@pytest.mark.parametrize("case", [case for case in CASES if obeys(case, "bears_nulls_and_nothing")], ids=str)
def test_nulls_and_nothing_are_borne(case: Case) -> None:
    laws.bears_nulls_and_nothing(case.operator, TYPICAL, SCHEMA, exempt=case.exempt, **case.options)


CONSERVED = (shapes.BATCH, shapes.RECORD_PER_BATCH, shapes.RESTARTED)
ONE_OF_EACH = (
    "scan with two ports",
    "scan with a bag",
    "windows, early and late",
    "join of two streams",
    "match",
    "scan_python by event time",
)


def conserves(case: Conserving, *ways: shapes.Shape) -> None:
    laws.conserves_records(case.operator, RECORDS, SCHEMA, id="amount", ids=case.ids, shapes=ways, **case.options)


@pytest.mark.parametrize("case", [case for case in CONSERVING if not case.exempt], ids=str)
def test_each_record_comes_out_once_as_taken_late_or_refused(case: Conserving) -> None:
    conserves(case, shapes.BATCH, shapes.RECORD_PER_BATCH)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if case.name in ONE_OF_EACH else pytest.mark.soak) for case in CONSERVING if not case.exempt],
    ids=str,
)
def test_so_it_does_in_real_time_restarted(case: Conserving) -> None:
    conserves(case, shapes.RESTARTED)


@pytest.mark.parametrize("case", [case for case in CONSERVING if case.exempt], ids=str)
def test_what_does_not_conserve_records_is_seen_to_lose_them(case: Conserving) -> None:
    for shape in CONSERVED:
        assert case.exempt[shape.name].strip()
        with pytest.raises(laws.BrokenLawError, match=r"lost .*113"):
            conserves(case, shape)


def test_nulls_and_nothing_are_borne_in_real_time() -> None:
    (features,) = [case for case in CASES if case.name == "features"]  # one for all: a law in real time takes seconds
    laws.bears_nulls_and_nothing(features.operator, TYPICAL, SCHEMA, shapes=(shapes.BATCH, shapes.REAL_TIME), **features.options)


@pytest.mark.parametrize(("case", "name"), [(case, name) for case in CASES for name in case.exempt], ids=str)
def test_an_exemption_is_still_needed_for_its_reason(case: Case, name: str) -> None:
    law = laws.bears_nulls_and_nothing if name == "bears_nulls_and_nothing" else laws.same_in_every_shape
    ways = shapes.ALL if name in BY_LAW else [shape for shape in shapes.ALL if shape.name in ("batch", name)]
    with pytest.raises(laws.BrokenLawError) as broken:
        law(case.operator, TYPICAL, SCHEMA, shapes=ways, **case.options)
    assert broken.value.law == law.__name__
    assert TOLD[case.exempt[name]] in broken.value.how
