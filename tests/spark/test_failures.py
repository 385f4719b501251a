"""What of a chain of Java's exceptions is told."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headrace.spark import failures

FILE = "/data/decide/checkpoint/state/0/1/7_a.changelog"

# the messages, the outermost first -> what is told
CHAINS: dict[str, tuple[list[str], str]] = {
    "the innermost": (["Job aborted.", "Task failed", "/ by zero"], "/ by zero"),
    "that names a damaged file": (["Job aborted.", f"File file:{FILE} does not exist", "null"], f"File file:{FILE} does not exist"),
    "not that which only names a file": (["Job aborted.", f"RocksDB at {FILE} was closed", "/ by zero"], "/ by zero"),
    "that it is the state": (
        ["[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] …", f"Error loading {FILE}", "Stream is ended"],
        "[CANNOT_LOAD_STATE_STORE] Stream is ended",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "told"), CHAINS.values(), ids=list(CHAINS))
def test_of_a_chain_is_told(messages: list[str], told: str) -> None:
    thrown = None
    for message in reversed(messages):
        thrown = SimpleNamespace(getMessage=lambda said=message: said, getCause=lambda cause=thrown: cause)
    assert failures.root_cause(thrown) == told
