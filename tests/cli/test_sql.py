"""`headrace sql`: statements one after the other, what they print, and what Tab completes."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

import headrace as hr
from headrace.cli.sql import Shell, statements
from headrace.errors import QueryError
from headrace.fronts.sql.catalog import Catalog
from headrace.fronts.sql.live_rows import LiveRows

WORDS = [("spark",), ("kafka",), ("spark",)]


def shell() -> tuple[Shell, Callable[[], str]]:
    """A prompt over the stream `words`, and what it has printed."""
    paper = io.StringIO()
    console = Console(file=paper, width=120, soft_wrap=True)
    return Shell(Catalog(words=hr.read.memory("word string", WORDS)), once=True, console=console), paper.getvalue


def test_a_statement_ends_with_a_semicolon_at_the_end_of_a_line() -> None:
    lines = ["SELECT 1;", "", "SELECT", "  ';' AS x", ";", "help", "quit", "SELECT 2;"]
    assert list(statements(lines)) == ["SELECT 1;", "SELECT\n  ';' AS x\n;", "help"]


def test_what_was_begun_before_ctrl_c_is_not_run() -> None:
    assert list(statements(["DROP", None, "SELECT 1;", ";", None, "SELECT 2;"])) == ["SELECT 1;", "SELECT 2;"]


@pytest.mark.usefixtures("spark")
def test_statements_build_on_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    prompt, printed = shell()
    prompt.run("CREATE STREAM counts AS SELECT word, count(*) AS n FROM words GROUP BY word;")
    prompt.run("SHOW STREAMS;")
    prompt.run("DESCRIBE counts;")
    prompt.run("SELECT * FROM counts WHERE n > 1;")
    prompt.run("DROP STREAM counts;")
    assert printed().count("counts  Stream[word: string, n: bigint]") == 2
    assert "1 row" in capsys.readouterr().out
    with pytest.raises(QueryError, match="there is no 'counts'"):
        prompt.run("DESCRIBE counts;")


@pytest.mark.usefixtures("spark")
def test_explain_shows_steps_modes_and_state() -> None:
    prompt, printed = shell()
    prompt.run("EXPLAIN SELECT word, count(*) AS n FROM words GROUP BY word;")
    lines = dict(line.split(maxsplit=1) for line in printed().splitlines())
    assert lines["steps"] == "read.memory → sql"
    assert lines["state"].startswith("Aggregate by word")
    assert lines["micro-batch"] == "yes"
    assert lines["real-time"].startswith("no: read.memory")


@pytest.mark.usefixtures("spark")
def test_explain_says_what_spark_would_refuse() -> None:
    prompt, printed = shell()
    prompt.run("EXPLAIN SELECT word FROM words ORDER BY word;")
    lines = dict(line.split(maxsplit=1) for line in printed().splitlines())
    assert lines["batch"] == "yes"
    assert lines["micro-batch"].startswith("no: Sorting is not supported")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("statement", "word", "fix"),
    [
        ("SELECT word FROM word;", "word", "the names are words; make one: CREATE STREAM name FROM kafka.topic"),
        ("SELECT 1;", "SELECT", "the names are words; make one"),
        ("DESCRIBE nothing;", "nothing", "the names are words"),
        ("SELECT word FROM words ORDER BY word;", "ORDER", "leave it out"),
        ("CREATE STREAM x FROM files.`/in` (word strin);", "word strin", "with types such as string"),
        ("CREATE STREAM x FROM files.`/in` (at timestamp) EVENT TIME att DELAY 5 seconds;", "att", "did you mean 'at'?"),
        ("CREATE STREAM x FROM files.`/in` (at timestamp) EVENT TIME at DELAY ten seconds;", "DELAY ten seconds", "such as '10 seconds'"),
        ("CREATE STREAM x AS INSERT INTO console SELECT word FROM words;", "INSERT INTO", "name the query"),
    ],
)
def test_a_mistake_points_at_the_word_with_a_fix_for_the_prompt(statement: str, word: str, fix: str) -> None:
    prompt, _ = shell()
    prompt.once = False
    with pytest.raises(QueryError) as mistaken:
        prompt.run(statement)
    marked = mistaken.value.what.splitlines()[-1].count("^")
    begin = mistaken.value.column - 1
    assert statement[begin : begin + marked].startswith(word)
    assert fix in mistaken.value.fix


@pytest.mark.usefixtures("spark")
def test_windows_are_shown_as_they_are_now_and_records_as_they_came() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    clicks = hr.read.memory("page string, at timestamp", *[[("home", noon + timedelta(seconds=second))] for second in (0, 1, 70)])
    timed = clicks.event_time("at", "10 seconds")
    windows = LiveRows(hr.sql("SELECT window_start, count(*) AS n FROM TUMBLE(timed, '1 minute') GROUP BY 1, window_end", timed=timed))
    records = LiveRows(hr.sql("SELECT page FROM timed", timed=timed))
    for name, rows in {"windows": windows, "records": records}.items():
        hr.Job(name, rows.output, output_mode=rows.output_mode).run(trigger="once")
    assert [line.split() for line in printed(windows)[:3]] == [
        ["window_start", "n"], ["2026-01-01", "12:00:00", "2"], ["2026-01-01", "12:01:00", "1"],
    ]  # fmt: skip
    assert printed(records)[-1].startswith("3 rows, ")


@pytest.mark.usefixtures("spark")
def test_an_order_of_the_query_stays() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    seen = hr.read.memory("page string, at timestamp", [("a", noon), ("b", noon + timedelta(days=1)), ("b", noon)])
    rows = LiveRows(hr.sql("SELECT page, max(at) AS last, count(*) AS n FROM seen GROUP BY page ORDER BY n DESC", seen=seen))
    hr.Job("ordered", rows.output, output_mode=rows.output_mode).run(trigger="once")
    assert [line.split()[0] for line in printed(rows)[1:3]] == ["b", "a"]


@pytest.mark.usefixtures("spark")
def test_the_best_of_each_key_are_shown_as_they_are_now() -> None:
    bids = hr.read.memory("item string, price int", [("b", 1), ("a", 5)], [("a", 7), ("a", 3)], [("a", 9)])
    ranked = "SELECT item, price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price DESC) AS rank FROM bids"
    rows = LiveRows(hr.sql(f"SELECT item, rank, price FROM ({ranked}) WHERE rank <= 2", bids=bids))
    hr.Job("best", rows.output, output_mode=rows.output_mode).run(trigger="once")
    assert [line.split() for line in printed(rows)[1:4]] == [["a", "1", "9"], ["a", "2", "7"], ["b", "1", "1"]]


def printed(rows: LiveRows) -> list[str]:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(rows)
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.usefixtures("spark")
def test_insert_into_runs_a_job() -> None:
    prompt, _ = shell()
    prompt.run("INSERT INTO memory.copy SELECT word FROM words;")


@pytest.mark.usefixtures("spark")
def test_tab_completes_words_names_and_columns() -> None:
    prompt, _ = shell()
    assert prompt.catalog.completions("wo") == ["words", "word"]
    assert "TUMBLE" in prompt.catalog.completions("tum")
    assert prompt.catalog.completions("words.w") == ["words.word"]
    assert prompt.catalog.completions("w.w") == ["w.word"], "an alias may be of any stream"


@pytest.mark.usefixtures("spark")
def test_files_are_a_stream(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"page": "home", "at": "2026-01-01T00:00:00Z"}\n')
    prompt, printed = shell()
    prompt.run(f"CREATE STREAM clicks FROM files.`{tmp_path}/in` (page string, at timestamp) EVENT TIME at DELAY 10 seconds;")
    assert "clicks  Stream[page: string, at: timestamp]" in printed()
    prompt.run("EXPLAIN SELECT count(*) AS n FROM TUMBLE(clicks, '1 minute') GROUP BY window_start, window_end;")
    assert "event_time → window" in printed()


def test_the_columns_of_a_topic_are_guessed(kafka: str, topic: Callable[..., str], spark: object) -> None:  # noqa: ARG001
    name = topic()
    hr.topics.send(name, [{"page": "home", "ms": 12, "at": "2026-01-01T00:00:00.000Z"}, {"page": "shop", "ms": 1.5}])
    prompt, printed = shell()
    assert f"kafka.{name}" in prompt.catalog.completions("kafka.test")
    prompt.run(f"CREATE STREAM clicks FROM kafka.`{name}`;")
    assert "clicks  Stream[at: timestamp, ms: double, page: string]" in printed()


class Terminal:
    """A prompt on a terminal of its own, as a person has it."""

    PROGRAM = """
import fcntl, os, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C is one
from headrace.cli import app
app(["sql"])
"""

    def __init__(self, home: Path) -> None:
        self._own, other = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM], stdin=other, stdout=other, stderr=other,
            env={**os.environ, "HEADRACE_HOME": str(home), "TERM": "xterm"},
        )  # fmt: skip
        os.close(other)
        self._shown = ""
        self.wait("sql> ")

    def type(self, keys: str, then: str) -> None:
        """Keys, and what is to be seen of them before the next ones."""
        os.write(self._own, keys.encode())
        self.wait(then)

    def wait(self, words: str, again: bytes = b"") -> None:
        """Until it is seen; `again` is what is pressed every second until then."""
        deadline, pressed = time.monotonic() + 60, time.monotonic()
        while words not in self._shown:
            assert time.monotonic() < deadline, f"{words!r} did not come; there is {self._shown!r}"
            if again and time.monotonic() > pressed + 1:
                os.write(self._own, again)
                pressed = time.monotonic()
            if select.select([self._own], [], [], 0.2)[0]:
                self._shown += os.read(self._own, 4096).decode(errors="replace")
        self._shown = self._shown.partition(words)[2]

    def interrupt(self) -> None:
        """Ctrl-C. Python overlooks one that comes in the moment between the prompt and its wait for keys."""
        os.write(self._own, b"\x03")
        self.wait("sql> ", again=b"\x03")

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._own, b"\x04")
        try:
            assert self._process.wait(30) == 0
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._own)


def test_on_a_terminal_tab_completes_ctrl_c_drops_what_was_begun_and_lines_are_remembered(tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.type("CRE\t", "CREATE")
        terminal.type("\n", "...> ")
        terminal.interrupt()
        terminal.type("help\n", "A statement ends with a semicolon.")
        terminal.wait("sql> ")
        terminal.type("SHOW STREAMS;\n", "none yet")
        terminal.wait("sql> ")
        terminal.type("DROP nothing;\n", "there is no 'nothing'")
        terminal.wait("sql> ")
    with Terminal(tmp_path) as again:
        again.type("\x1b[A\x1b[A", "SHOW STREAMS;")  # the line before the last
        again.type("\n", "none yet")
        again.wait("sql> ")
