"""Each law accepts a good operator and rejects its broken ones."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headrace.errors import DefinitionError
from headrace.kernel.scan import scan
from headrace.testing import broken, laws, shapes
from headrace.testing.laws import Bound, BrokenLawError
from headrace.testing.microbatches import Operator

SCHEMA = "customer string, amount double"
ROWS: list[tuple[Any, ...]] = [("ann", 1.0), ("bob", 2.0), ("ann", 3.0), (None, 1.0), ("ann", 1.0), ("ann", None)]
MANY = [(customer, float(n)) for n in range(12) for customer in ("ann", "bob")]
FEW = MANY[:6]  # three records of each customer, one in each of three parts
QUICK = (shapes.BATCH, shapes.RECORD_PER_BATCH)

BOUND = Bound(("customer",), 1, characters_per_key=30)
LATEST: dict[str, Any] = {"latest_by": ("customer",)}

LAWS: dict[str, Callable[..., None]] = {
    "same_in_every_shape": lambda *a, **k: laws.same_in_every_shape(*a, shapes=QUICK, **k),
    "restart_loses_and_repeats_nothing": laws.restart_loses_and_repeats_nothing,
    "state_stays_within": lambda *a, **k: laws.state_stays_within(*a, bound=BOUND, **k),
    "bears_nulls_and_nothing": laws.bears_nulls_and_nothing,
    "conserves_records": lambda *a, **k: laws.conserves_records(*a, id="amount", ids=lambda row: [row.amount], shapes=QUICK, **k),
}


def count(df: DataFrame) -> DataFrame:
    return df.groupBy("customer").count()


# on which rows a law is tried, and how its broken operators are read
GIVEN: dict[str, tuple[list[tuple[Any, ...]], dict[str, Any]]] = {
    "same_in_every_shape": (ROWS, {}),
    "restart_loses_and_repeats_nothing": (FEW, LATEST),
    "state_stays_within": (MANY, {}),
    "bears_nulls_and_nothing": (ROWS, {}),
    "conserves_records": (ROWS, {}),
}


@pytest.mark.parametrize("law", [law for law in LAWS if law != "conserves_records"])
def test_a_law_accepts_a_good_operator(law: str, spark: SparkSession) -> None:
    LAWS[law](count, GIVEN[law][0], SCHEMA, **LATEST, spark=spark)


def test_an_operator_that_passes_records_on_conserves_them(spark: SparkSession) -> None:
    LAWS["conserves_records"](lambda df: df.select("amount"), ROWS, SCHEMA, spark=spark)


@pytest.mark.parametrize(
    ("operator", "how"),
    [
        (broken.drops_without_a_word, "batch: lost [None], came out once too often []"),
        (broken.repeats, "batch: lost [], came out once too often [1.0, 2.0]"),
    ],
)
def test_the_law_of_conservation_names_what_was_lost_and_what_came_twice(operator: Operator, how: str, spark: SparkSession) -> None:
    rows = [("ann", 1.0), ("ann", None)] if operator is broken.drops_without_a_word else [("ann", 1.0), ("bob", 2.0)]
    with pytest.raises(BrokenLawError) as error:
        LAWS["conserves_records"](operator, rows, SCHEMA, spark=spark)
    assert error.value.how == how


@pytest.mark.parametrize("operator", [broken.reads_one_partition, broken.forgets_at_restart])
def test_what_is_right_in_one_partition_or_until_a_restart_is_found_out(operator: Operator, spark: SparkSession) -> None:
    laws.same_in_every_shape(operator, FEW, SCHEMA, shapes=(*QUICK, shapes.REAL_TIME), **LATEST, spark=spark)
    with pytest.raises(BrokenLawError) as error:
        laws.same_in_every_shape(operator, FEW, SCHEMA, shapes=(shapes.BATCH, shapes.RESTARTED), **LATEST, spark=spark)
    assert error.value.how.startswith("the rows differ")


@pytest.mark.parametrize(("law", "operator"), [(law, operator) for law, found in broken.BROKEN.items() for operator in found])
def test_a_law_rejects_its_broken_operators(law: str, operator: Operator, spark: SparkSession) -> None:
    rows, options = GIVEN[law]
    with pytest.raises(BrokenLawError) as error:
        LAWS[law](operator, rows, SCHEMA, **options, spark=spark)
    assert error.value.law == law
    assert error.value.given.schema.names == ["customer", "amount"]


def test_every_law_has_a_broken_operator() -> None:
    assert broken.BROKEN.keys() == LAWS.keys()


@pytest.mark.parametrize(
    ("operator", "found"), [(broken.forgets_at_restart, "in all"), (broken.guesses_until_it_is_sure, "after the crash")]
)
def test_what_is_right_in_every_shape_is_found_out_when_it_starts_again(operator: Operator, found: str, spark: SparkSession) -> None:
    laws.same_in_every_shape(operator, FEW, SCHEMA, shapes=QUICK, **LATEST, spark=spark)
    with pytest.raises(BrokenLawError) as error:
        laws.restart_loses_and_repeats_nothing(operator, FEW, SCHEMA, **LATEST, spark=spark)
    assert error.value.how.startswith(f"{found}, the rows differ")


def distrusts_topics(df: DataFrame) -> DataFrame:
    """Nothing of what comes from Kafka, as in real time all does."""
    return count(df.where(F.lit("kafka" not in df._jdf.queryExecution().analyzed().toString().lower())))


def test_what_is_right_but_in_real_time_is_found_out(spark: SparkSession) -> None:
    laws.same_in_every_shape(distrusts_topics, FEW, SCHEMA, shapes=QUICK, **LATEST, spark=spark)
    with pytest.raises(BrokenLawError) as error:
        laws.check(
            distrusts_topics, FEW, SCHEMA, exempt=dict.fromkeys(("random-cuts(8)", "restarted"), "to be quick"), **LATEST, spark=spark
        )
    assert error.value.how.startswith("the rows differ: 2 only batch, 0 only real-time")


def test_a_broken_law_shows_both_results_and_the_input(spark: SparkSession) -> None:
    with pytest.raises(BrokenLawError) as error:
        laws.same_in_every_shape(broken.counts_once_a_batch, [("ann", 1.0)] * 2, SCHEMA, shapes=QUICK, spark=spark)
    assert str(error.value).splitlines() == [
        "same_in_every_shape: the rows differ: 0 only batch, 1 only record-per-batch",
        "batch                record-per-batch",
        "customer | count     customer | count",
        "ann      | 2      =  ann      | 2",
        "                  >  ann      | 1",
        "on the input",
        "customer | amount",
        "ann      | 1.0   ",
        "ann      | 1.0   ",
    ]


def test_the_state_is_measured_after_each_batch_and_not_only_at_the_end(spark: SparkSession) -> None:
    def forgets_at_last(df: DataFrame) -> DataFrame:
        kept = {"all": F.array_append("state.all", F.col("amount"))}
        state = {"all": F.array().cast("array<double>")}
        return scan(df, keys="customer", state=state, update=kept, output=["customer"], forget=F.col("amount") == 11)

    with pytest.raises(BrokenLawError, match="characters of state for one key after 8 records"):
        laws.state_stays_within(forgets_at_last, MANY, SCHEMA, bound=Bound(("customer",), characters_per_key=25), spark=spark)


def test_an_exempt_shape_is_not_run(spark: SparkSession) -> None:
    exempt = {"record-per-batch": "it is broken on purpose"}
    laws.same_in_every_shape(broken.counts_once_a_batch, ROWS, SCHEMA, shapes=QUICK, exempt=exempt, spark=spark)


def test_an_exemption_needs_a_reason(spark: SparkSession) -> None:
    with pytest.raises(DefinitionError) as error:
        laws.same_in_every_shape(count, ROWS, SCHEMA, exempt={"real-time": " "}, spark=spark)
    assert error.value.what == "an exemption has no reason"


def test_check_accepts_a_good_operator(spark: SparkSession) -> None:
    laws.check(count, FEW, SCHEMA, bound=BOUND, exempt=dict.fromkeys(("random-cuts(8)", "restarted"), "to be quick"), **LATEST, spark=spark)


# of each law one that obeys the others on `FEW`
ONLY: dict[str, Operator] = {
    "same_in_every_shape": broken.draws_at_random,
    "restart_loses_and_repeats_nothing": broken.guesses_until_it_is_sure,
    "state_stays_within": broken.keeps_every_amount,
    "bears_nulls_and_nothing": broken.throws_on_null,
}


@pytest.mark.parametrize("law", ONLY)
def test_check_holds_every_law_against_an_operator(law: str, spark: SparkSession) -> None:
    exempt = dict.fromkeys(("real-time", "restarted", "random-cuts(8)"), "to be quick")
    with pytest.raises(BrokenLawError) as error:
        laws.check(ONLY[law], FEW, SCHEMA, bound=BOUND, exempt=exempt, **LATEST, spark=spark)
    assert error.value.law == law


def test_the_rows_of_the_null_law_have_each_column_null_in_turn(spark: SparkSession) -> None:
    seen: list[list[Row]] = []

    def watched(df: DataFrame) -> DataFrame:
        seen.append(df.collect())
        return df

    laws.bears_nulls_and_nothing(watched, ROWS, SCHEMA, shapes=(shapes.BATCH,), spark=spark)
    assert [[tuple(row) for row in rows] for rows in seen] == [[], [(None, 1.0), ("ann", None), (None, None), ("ann", 1.0)]]
