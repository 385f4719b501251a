"""The command line: what it prints, and with which code it exits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.embedded import jars, kafka, places
from headrace.spark import class_archive


def headrace(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which headrace never ran."""
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "file"))
    return tmp_path / "file"


def states(result: Result) -> dict[str, str]:
    return {finding["name"]: finding["state"] for finding in json.loads(result.stdout)}


@pytest.mark.usefixtures("empty")
def test_doctor_on_a_new_machine_says_what_comes_later_and_is_content() -> None:
    result = headrace("doctor", "--json")
    assert result.exit_code == 0
    assert states(result) == {
        "python": "found",
        "spark": "found",
        "java": "found",
        "cache": "found",
        "data": "found",
        "connector jars": "later",
        "broker jars": "later",
        "kernel": "later",
        "kafka": "later",
    }


@pytest.mark.usefixtures("spark", "kafka")
def test_doctor_finds_what_is_there() -> None:
    found = states(headrace("doctor", "--json"))
    classes = found.pop("classes", None)  # which only `headrace prepare` makes, where Java can have them
    assert classes == {True: "found", False: "later", None: None}[class_archive.prepared()]
    assert set(found.values()) == {"found"}


@pytest.mark.parametrize(
    ("variable", "value", "name", "fix"),
    [
        ("SPARK_HOME", "/nowhere", "spark", "unset SPARK_HOME"),
        (kafka.ADDRESS, "127.0.0.1:1", "kafka", f"unset {kafka.ADDRESS}"),
    ],
)
def test_doctor_names_what_is_missing_with_the_fix_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str, fix: str
) -> None:
    monkeypatch.setenv(variable, value)
    as_json, as_text = headrace("doctor", "--json"), headrace("doctor")
    assert (as_json.exit_code, as_text.exit_code) == (1, 1)
    assert states(as_json)[name] == "missing"
    assert fix in as_text.stdout


_CONNECTOR = jars._read(jars._HERE / "connector.lock")

# what is there in place of what should be -> the finding, and what it says
IN_THE_WAY = [
    ("data/kafka", Path.touch, "kafka", "headrace cannot write to {path}: File exists"),
    ("data/kafka/supervisor.lock", Path.mkdir, "kafka", "headrace cannot use {path}: Is a directory"),
    (f"cache/jars/{_CONNECTOR[0].name}/{_CONNECTOR[1][0].file}", Path.mkdir, "jars", "{path} cannot be read: Is a"),
]


@pytest.mark.parametrize(("place", "make", "name", "detail"), IN_THE_WAY, ids=[Path(place).name for place, *_ in IN_THE_WAY])
def test_doctor_tells_of_files_that_cannot_be_used(
    place: str, make: Callable[[Path], None], name: str, detail: str, empty: Path
) -> None:  # fmt: skip
    (empty / place).parent.mkdir(parents=True)
    make(empty / place)
    result = headrace("doctor", "--json")
    assert result.exit_code == 1
    (missing,) = [finding for finding in json.loads(result.stdout) if finding["state"] == "missing"]
    assert missing["name"] == name
    assert detail.format(path=empty / place) in missing["detail"]
    assert "HEADRACE_HOME" in missing["fix"]


def test_an_error_is_printed_as_words_without_a_traceback(unwritable: Path) -> None:
    result = headrace("kafka", "up")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"error headrace cannot write to {unwritable}/data: Not a directory",
        "  fix  make it writable, or set HEADRACE_HOME to a directory that is",
    ]


@pytest.mark.usefixtures("empty")
def test_status_of_no_broker_exits_with_3() -> None:
    result = headrace("kafka", "status")
    assert (result.exit_code, result.stdout) == (3, "not running\n")


@pytest.mark.usefixtures("empty")
def test_down_without_a_broker_is_no_error() -> None:
    result = headrace("kafka", "down")
    assert (result.exit_code, result.stdout) == (0, "it was not running\n")


def test_status_shows_where_the_broker_is(kafka: str) -> None:
    result = headrace("kafka", "status")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{kafka}  as long as a program uses it\n")
    shown = json.loads(headrace("kafka", "status", "--json").stdout)
    assert shown["bootstrap"] == kafka
    assert shown["data"] == str(places.data() / "kafka" / "log")


def test_a_configured_address_is_pointed_out(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_KAFKA", "broker.example:9092")
    assert "programs use broker.example:9092: HEADRACE_KAFKA is set" in headrace("kafka", "status").stdout
    assert kafka != "broker.example:9092"


def test_a_setting_of_sparks_is_one_of_the_session_in_which_the_job_runs(spark: SparkSession, tmp_path: Path) -> None:
    name, out = "spark.sql.shuffle.partitions", tmp_path / "out"
    file = tmp_path / "program.py"
    file.write_text(
        "import headrace as hr\nfrom pathlib import Path\n"
        f"job = hr.Job('j', hr.read.memory('n int', [(1,)]).to.callback(lambda rows, _: Path({str(out)!r})"
        f".write_text(rows.sparkSession.conf.get({name!r}))))\n"
    )
    before = spark.conf.get(name)
    try:
        result = headrace("run", str(file), "--mode", "batch", "--conf", f"{name}=5", "--conf", "spark.sql.session.timeZone=UTC")
    finally:
        spark.conf.set(name, str(before))
    assert (result.exit_code, out.read_text()) == (0, "5")


@pytest.mark.usefixtures("spark")
def test_what_is_refused_once_the_program_is_loaded_has_no_line_of_it(topic: Callable[..., str], tmp_path: Path) -> None:
    file, given, out = tmp_path / "program.py", topic(partitions=9), topic()
    file.write_text(f"import headrace as hr\njob = hr.Job('many', hr.read.kafka({given!r}).to.kafka({out!r}, value='value'))\n")
    result = headrace("run", str(file), "--mode", "real-time")
    assert result.exit_code == 1
    what, fix = result.stderr.splitlines()
    assert what.startswith("error real-time mode needs 9 task slots at once")
    assert fix.startswith("  fix  run with --master local[9] (slots are threads, not cores), or with fewer partitions")
