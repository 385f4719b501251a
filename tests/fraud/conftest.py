from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.fraud import postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A real server; started once, stopped at the end."""
    with postgres.running() as server:
        yield server
