"""Requests and answers: what is asked is answered, refused or timed out, in words."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F
from typer.testing import CliRunner

import headrace as hr
from headrace import drpc
from headrace.cli import app
from headrace.errors import DefinitionError, JobError
from headrace.planning.recipe import Output
from headrace.planning.triggers import Trigger

pytestmark = pytest.mark.usefixtures("spark", "kafka")

_PATIENCE = 60.0  # a busy machine


def test_a_program_may_begin_with_a_function(kafka: str) -> None:
    """There is no session yet."""
    program = "from headrace import drpc; print(drpc.Function('first', 'text string not null').requests)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env={**os.environ, "HEADRACE_KAFKA": kafka})
    assert (done.returncode, done.stdout) == (0, "Stream[id: string, text: string]\n"), done.stderr


def exclaim(function: drpc.Function) -> list[Output]:
    return [function.answer(function.requests.select("id", F.concat("text", F.lit("!!!")).alias("result")))]


def squares(function: drpc.Function) -> list[Output]:
    """As Storm's case: a tuple for each of n times n, which are counted together when all are there."""
    count = F.col("n") * F.col("n")
    parts = function.requests.select(
        "id", count.alias("count"), F.explode_outer(F.when(count > 0, F.sequence(F.lit(1), count))).alias("part")
    )
    seen, total = F.col("state.seen") + 1, F.col("state.total") + F.col("part").isNotNull().cast("int")
    whole = seen >= F.greatest("count", F.lit(1))
    squared = parts.key_by("id").scan(
        state={"seen": 0, "total": 0},
        update={"seen": seen, "total": total},
        output=["id", total.alias("square")],
        when=whole,
        forget=whole,
    )
    return [function.answer(squared)]


def halves(function: drpc.Function) -> list[Output]:
    def halve(record: dict[str, Any]) -> dict[str, Any]:
        if record["n"] % 2:
            raise ValueError(f"{record['n']} is odd")
        return {"id": record["id"], "half": record["n"] // 2}

    halved = function.requests.map(halve, output="id string, half int", errors="dead_letters")
    return [function.answer(halved), function.refuse(halved.dead_letters)]


@contextmanager
def answering(name: str, request: str, define: Callable[[drpc.Function], list[Output]], trigger: Trigger, place: Path) -> Iterator[Any]:
    """The function, answered in real time; the first request waits for the job."""
    function = drpc.Function(name, request)
    with hr.Job(name, *define(function), trigger=trigger, checkpoint=place).start("real-time") as running:
        running.wait(0)
        yield function


def test_a_request_is_answered_from_python_and_from_the_command_line(short_batches: Trigger, tmp_path: Path) -> None:
    with answering("exclaim", "text string not null", exclaim, short_batches, tmp_path) as function:
        assert function.ask(text="aaa", seconds=_PATIENCE) == {"result": "aaa!!!"}
        assert drpc.ask("exclaim", text="b", seconds=_PATIENCE) == {"result": "b!!!"}
        ran = CliRunner().invoke(app, ["ask", "exclaim", "text=c", "--seconds", str(_PATIENCE), "--json"])
        assert (ran.exit_code, ran.stdout) == (0, '{"result": "c!!!"}\n')


def test_requests_from_many_threads_get_their_own_answers(short_batches: Trigger, tmp_path: Path) -> None:
    with answering("squares", "n int not null", squares, short_batches, tmp_path) as function:
        wanted = {2: 4, 10: 100, 0: 0, 7: 49}
        answers: dict[int, Any] = {}
        threads = [threading.Thread(target=lambda n=n: answers.update({n: function.ask(n=n, seconds=_PATIENCE)})) for n in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == {n: {"square": square} for n, square in wanted.items()}
        many = function.ask_all([{"n": n} for n in range(12)], seconds=_PATIENCE)
        assert [answer["square"] for answer in many] == [n * n for n in range(12)]


def test_an_error_reaches_who_asked(short_batches: Trigger, tmp_path: Path) -> None:
    with answering("halves", "n int not null", halves, short_batches, tmp_path) as function:
        assert function.ask(n=4, seconds=_PATIENCE) == {"half": 2}
        with pytest.raises(JobError) as refused:
            function.ask(n=3, seconds=_PATIENCE)
    assert refused.value.what == "the function refused the request: ValueError: 3 is odd"


def test_what_is_known_of_a_key_is_asked_through_the_scan_that_knows_it(
    short_batches: Trigger, tmp_path: Path, topic: Callable[..., str]
) -> None:
    source, sink, bank = topic(), topic(), drpc.Function("bank", "customer string not null")
    payments = hr.read.kafka(source, schema="customer string not null, amount double not null")
    known = payments.key_by("customer").with_features(
        asked=bank.requests,
        payments=hr.running(F.count("*"), inclusive=True),
        total=hr.running(F.sum("amount"), inclusive=True),
        before=hr.previous("amount"),
    )
    outputs = known.to.kafka(sink), bank.answer(known.port("answers"))
    hr.topics.send(source, [{"customer": "ann", "amount": 70.0}, {"customer": "bob", "amount": 5.0}, {"customer": "ann", "amount": 30.0}])
    with hr.Job("bank", *outputs, trigger=short_batches, checkpoint=tmp_path).start("real-time") as running:
        assert len(list(hr.topics.read(sink, follow=True, limit=3))) == 3  # they are taken
        ann = {"customer": "ann", "payments": 2, "total": 100.0, "before": 30.0}
        assert bank.ask(customer="ann", seconds=_PATIENCE) == ann
        assert bank.ask(customer="ann", seconds=_PATIENCE) == ann  # a question changes nothing
        assert bank.ask(customer="zoe", seconds=_PATIENCE) == {"customer": "zoe", "payments": 0}
        assert len(running.snapshot()) == 1  # one query, one state
        assert sum(1 for _ in hr.topics.read(sink)) == 3  # and gives no row of its own


def test_a_question_has_no_event_time() -> None:
    timed = hr.read.memory("customer string, at timestamp")
    with pytest.raises(DefinitionError) as refused:
        timed.key_by("customer").with_features(
            asked=hr.read.memory("id string, customer string"), event_time="at", n=hr.running(F.count("*"))
        )
    assert refused.value.what == "with_features: asked: a question has no event time, so it would wait for ever"


def test_a_request_that_nobody_answers_ends_in_words() -> None:
    function = drpc.Function("deaf", "n int")
    assert function.requests.columns == ["id", "n"]
    with pytest.raises(JobError) as late:
        function.ask(n=1, seconds=0.5)
    assert late.value.what == "no answer came within 0.5 s to a request in topic 'deaf-requests'"
    assert late.value.fix.startswith("see that the job that answers is running")


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(JobError, match="topic 'nothing-requests' does not exist"):
        drpc.ask("nothing", n=1)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "a field of the id's name": (lambda: drpc.Function("f", "id int").requests, "drpc: 'id' is the request's own"),
    "an answer without its id": (
        lambda: (f := drpc.Function("g", "n int")).answer(f.requests.select("n")),
        "answer: there is no column 'id', so nobody knows whose answer a row is",
    ),
    "letters that are none": (
        lambda: (f := drpc.Function("h", "n int")).refuse(f.requests),
        "refuse: these are no dead letters of requests",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_a_function_is_refused_where_it_is_defined(case: str) -> None:
    define, what = WRONG[case]
    with pytest.raises(DefinitionError) as refused:
        define()
    assert refused.value.what == what
    assert str(refused.value.where).startswith(__file__)
