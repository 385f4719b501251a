"""What a job promises: the weakest of source, state and sink in a mode; and what it is refused for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.definitions.guarantees import MODES, Guarantee, Mode, Yes, weakest
from headrace.errors import DefinitionError, ModeError
from headrace.planning import guarantees, table
from headrace.planning.table import No

pytestmark = pytest.mark.usefixtures("spark")

MOST, LEAST, EXACTLY = Guarantee
TOPIC = "no-topic-is-asked-for"

SOURCES: dict[str, Callable[[], hr.Stream]] = {
    "kafka": lambda: hr.read.kafka(TOPIC),
    "memory": lambda: hr.read.memory("value string"),
    "socket": lambda: hr.read.socket("localhost", 9),
    "rate": lambda: hr.read.rate(),
}
SINKS: dict[str, Callable[[hr.Stream], Any]] = {
    "files": lambda stream: stream.to.files("/no/such/place"),
    "memory": lambda stream: stream.to.memory(),
    "callback": lambda stream: stream.to.callback(lambda rows, batch: None),  # noqa: ARG005
    "console": lambda stream: stream.to.console(),
    "kafka": lambda stream: stream.to.kafka("out", value="value"),
}


@pytest.mark.parametrize(("source", "sink", "mode"), list(product(SOURCES, SINKS, MODES)))
def test_a_promise_is_that_of_the_weakest_link(source: str, sink: str, mode: Mode) -> None:
    """The rule, written out once more over the table itself."""
    output = SINKS[sink](SOURCES[source]())
    cells = [row.cell(mode) for rows, kind in ((table.SOURCES, source), (table.SINKS, sink)) for row in rows if row.name == kind]
    stated = [cell.guarantee for cell in cells if isinstance(cell, Yes)]
    if any(isinstance(cell, No) for cell in cells):
        return
    assert guarantees.best(output, mode).guarantee is weakest(stated)


# source, sink, mode, asked -> what it gets, or the link that it is refused for
ASKED: list[tuple[str, str, Mode, Guarantee, Guarantee | str]] = [
    ("memory", "files", "micro-batch", EXACTLY, EXACTLY),
    ("memory", "files", "micro-batch", LEAST, LEAST),
    ("memory", "files", "micro-batch", MOST, MOST),
    ("memory", "callback", "micro-batch", LEAST, LEAST),
    ("memory", "callback", "micro-batch", EXACTLY, "to.callback is at-least-once"),
    ("socket", "files", "micro-batch", EXACTLY, "read.socket is at-most-once"),
    ("socket", "files", "micro-batch", LEAST, "read.socket is at-most-once"),
    ("socket", "callback", "micro-batch", MOST, MOST),
    ("kafka", "kafka", "micro-batch", EXACTLY, EXACTLY),
    ("kafka", "kafka", "micro-batch", LEAST, LEAST),
    ("kafka", "kafka", "real-time", LEAST, LEAST),
    ("kafka", "kafka", "real-time", EXACTLY, "to.kafka is at-least-once"),
    ("kafka", "kafka", "real-time", MOST, "a batch that is done again there has other records"),
]


@pytest.mark.parametrize(("source", "sink", "mode", "asked", "gets"), ASKED)
def test_a_job_gets_what_it_asks_for_or_is_refused(source: str, sink: str, mode: Mode, asked: Guarantee, gets: Guarantee | str) -> None:
    output = SINKS[sink](SOURCES[source]())
    if isinstance(gets, Guarantee):
        assert guarantees.promise([output], mode, asked)[output.name].guarantee is gets
        return
    with pytest.raises(ModeError) as refused:
        guarantees.promise([output], mode, asked)
    assert refused.value.what == f"{output.name}: {asked} cannot be had in {mode} mode, because {gets}"
    assert str(refused.value.where).startswith(__file__)


def test_a_job_that_cannot_promise_what_it_must_does_not_start(tmp_path: Path) -> None:
    seen: list[int] = []
    output = hr.read.memory("n int", [(1,)]).to.callback(lambda rows, batch: seen.append(batch))  # noqa: ARG005
    with pytest.raises(ModeError) as refused:
        hr.Job("strict", output, guarantee="exactly-once", checkpoint=tmp_path).run(trigger=hr.once)
    assert 'guarantee="at-least-once"' in refused.value.fix
    assert (seen, list(tmp_path.iterdir())) == ([], [])


def test_what_a_job_promises_is_told_when_it_starts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    numbers = hr.read.memory("n int", [(1,)])
    outputs = numbers.to.files(tmp_path / "out", name="kept"), numbers.to.callback(lambda rows, batch: None, name="called")  # noqa: ARG005
    with caplog.at_level(logging.INFO, "headrace"), hr.Job("told", *outputs, trigger=hr.once).start() as running:
        assert running.guarantees == {"kept": EXACTLY, "called": LEAST}
    told = [record.getMessage() for record in caplog.records]
    assert {"job 'told': kept: exactly-once", "job 'told': called: at-least-once"} <= set(told)


def test_there_are_three_guarantees() -> None:
    with pytest.raises(DefinitionError) as refused:
        hr.Job("j", hr.read.memory("v int").to.memory(), guarantee="twice")  # type: ignore[arg-type]
    assert refused.value.what == "there is no guarantee 'twice'"
    assert refused.value.fix == "use one of at-most-once, at-least-once, exactly-once"
