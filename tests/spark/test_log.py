"""What Spark writes into its log on this machine."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from tests.waiting import eventually

from headrace.spark import launch

CARD = "4111-1111-1111-1111"


def test_a_password_and_a_card_number_are_starred_in_messages_and_exceptions(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    log = jvm.org.apache.logging.log4j.LogManager.getLogger("headrace.canary")
    log.error(
        f'paid by {CARD} with sasl.jaas.config = x password="hunter2";', jvm.java.lang.Exception(f"{CARD} and ssl.key.password: hunter3")
    )
    log.error("the last word")
    text = launch.log().read_text
    assert eventually(lambda: "canary: the last word" in text())
    assert [secret for secret in (CARD, "hunter2", "hunter3") if secret in text()] == []
    first = next(line for line in text().splitlines() if "canary: paid" in line)
    assert first.endswith('canary: paid by **************** with sasl.jaas.config = x password="***";')
    assert text().count("java.lang.Exception: **************** and ssl.key.password: ***") == 1
