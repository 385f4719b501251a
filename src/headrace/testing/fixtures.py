"""pytest fixtures. To have them, write in the project's top `conftest.py`:

    pytest_plugins = ["headrace.testing.fixtures"]

and then, for a test that runs once in every execution shape:

    def test_a_customer_is_counted(shape):
        assert_table(shape.run(count_by_customer, EVENTS, latest_by=("customer",)), '''...''')
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headrace.spark.session import session
from headrace.testing import shapes


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The headrace session, one for the whole test run."""
    return session()


@pytest.fixture(params=shapes.ALL, ids=str)
def shape(request: pytest.FixtureRequest, spark: SparkSession) -> shapes.Shape:  # noqa: ARG001 - the session must be there first
    """Each execution shape in turn."""
    value: shapes.Shape = request.param
    return value
