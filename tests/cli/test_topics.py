"""`headrace topics`: what it prints, for people and for machines, and what it says when something is wrong. No Spark."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import headrace as hr
from headrace.cli import app

Make = Callable[..., str]


def headrace(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["topics", *arguments], input=given)


def printed(*arguments: str, given: str | None = None) -> str:
    result = headrace(*arguments, given=given)
    assert result.exit_code == 0, result.output
    return result.stdout


def records(*arguments: str) -> list[Any]:
    return [json.loads(line) for line in printed("read", *arguments, "--json").splitlines()]


def test_a_topic_from_its_making_to_its_end(topic: Make) -> None:
    name = f"{topic()}-orders"
    assert printed("create", name, "--partitions", "2", "--config", "retention.ms=60000") == f"made {name}\n"
    assert printed("send", name, "a", "b", "--key", "ann", "--header", "id=7", "--partition", "1") == "sent 2 records\n"

    listed = {each["name"]: each for each in json.loads(printed("list", "--json"))}
    assert listed[name] == {"name": name, "partitions": 2, "records": 2}
    assert re.search(rf"^ *{name} +2 +2 *$", printed("list"), re.MULTILINE)

    described = json.loads(printed("describe", name, "--json"))
    assert (described["name"], described["records"], described["config"]) == (name, 2, {"retention.ms": "60000"})
    assert described["partitions"][1] == {"number": 1, "leader": 1, "replicas": [1], "begin": 0, "end": 2}
    shown = printed("describe", name)
    assert re.search(r"^ *1 +0 +2 +2 +1 +1 *$", shown, re.MULTILINE)
    assert shown.endswith("retention.ms=60000\n")

    assert [(each["partition"], each["offset"], each["key"], each["value"], each["headers"]) for each in records(name)] == [
        (1, 0, "ann", "a", [["id", "7"]]),
        (1, 1, "ann", "b", [["id", "7"]]),
    ]
    assert re.fullmatch(r"1/0  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  ann  a  id=7\n", printed("read", name, "--limit", "1"))

    refused = headrace("delete", name, given="n\n")
    assert (refused.exit_code, refused.stdout.splitlines()[0]) == (1, f"Delete {name} with 2 records? [y/N]: n")
    assert headrace("delete", name).exit_code == 1  # nobody answers
    assert printed("delete", name, "--yes") == f"deleted {name}\n"
    assert name not in printed("list")


def test_lines_of_standard_input_are_records_as_they_are(topic: Make) -> None:
    name = topic()
    assert printed("send", name, given="a\n\n b \nlast") == "sent 4 records\n"
    assert [(each["key"], each["value"]) for each in records(name)] == [(None, "a"), (None, ""), (None, " b "), (None, "last")]


def test_what_is_read_as_json_is_sent_as_it_was(topic: Make) -> None:
    source, copy = topic(partitions=2), topic(partitions=2)
    given = [
        hr.topics.Record(b"\xff\x00", b"\xfe", (("id", b"\xfd"), ("id", None)), 1),
        hr.topics.Record(None, b"gone", (), 0),
        hr.topics.Record("å\n".encode(), None, (), 0),
    ]
    hr.topics.send(source, given)
    printed("send", copy, "--json", given=printed("read", source, "--json"))
    assert sorted(map(str, hr.topics.read(copy))) == sorted(map(str, hr.topics.read(source)))
    assert {(each.value, each.key, each.headers, each.partition) for each in hr.topics.read(copy)} == {
        (each.value, each.key, each.headers, each.partition) for each in given
    }


def test_a_record_of_json_needs_no_more_than_its_value(topic: Make) -> None:
    name = topic()
    assert printed("send", name, '{"value": "a"}', '{"value": null, "key": "k", "headers": {"h": "x"}}', "--json") == "sent 2 records\n"
    assert [(each["key"], each["value"], each["headers"]) for each in records(name)] == [(None, "a", []), ("k", None, [["h", "x"]])]


def test_reading_begins_where_it_is_told(topic: Make) -> None:
    name = topic(partitions=2)
    times = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")
    lines = [
        json.dumps({"value": f"{time[9]}{partition}", "timestamp": time, "partition": partition}) for time in times for partition in (0, 1)
    ]
    printed("send", name, "--json", *lines)
    cases: dict[tuple[str, ...], list[str]] = {
        (): ["10", "11", "20", "21", "30", "31"],
        ("--from", "earliest", "--partition", "1"): ["11", "21", "31"],
        ("--from", "2026-01-02"): ["20", "21", "30", "31"],
        ("--from", "2026-01-02T01:00:00+01:00"): ["20", "21", "30", "31"],
        ("--from", "2026-01-02 00:00:00.001"): ["30", "31"],
        ("--from", "2027-01-01"): [],
        ("--from", "latest"): [],
    }
    assert {case: sorted(each["value"] for each in records(name, *case)) for case in cases} == cases
    assert len(records(name, "--limit", "4")) == 4


def test_a_terminal_is_not_steered_by_what_is_read(topic: Make) -> None:
    name = topic()
    hr.topics.send(name, ["\x1b[31mred[bold]\r\n", b"\xff"])
    assert [line.split("  ", 2)[2] for line in printed("read", name).splitlines()] == [r"\x1b[31mred[bold]\r\n", "0xff"]


def test_what_is_followed_comes_until_ctrl_c(topic: Make, kafka: str) -> None:
    name = topic()
    hr.topics.send(name, ["before"])
    command = [
        sys.executable,
        "-c",
        "from headrace.cli import app; app()",
        "topics",
        "read",
        name,
        "--follow",
        "--json",
        "--servers",
        kafka,
    ]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    first = json.loads(running.stdout.readline())
    hr.topics.send(name, ["after"])
    second = json.loads(running.stdout.readline())
    running.send_signal(signal.SIGINT)
    rest, errors = running.communicate(timeout=60)
    assert (first["value"], second["value"], rest, errors, running.returncode) == ("before", "after", "", "", 0)


# the command, with {there} and {gone} for topics -> what is said, and what to do
MISTAKES = {
    "read {gone}": ("topic '{gone}' does not exist at ", "or create it: headrace topics create {gone}"),
    "describe {gone}": ("topic '{gone}' does not exist at ", "name one that is there"),
    "send {gone} a": ("topic '{gone}' does not exist at ", "name one that is there"),
    "delete {gone} --yes": ("topic '{gone}' does not exist at ", "name one that is there"),
    "delete {gone}": ("topic '{gone}' does not exist at ", "name one that is there"),
    "create {gone} {there}": ("topic '{there}' exists already at ", "delete it first: headrace topics delete {there}"),
    "create {there}/x": ("topic '{there}/x': Kafka at ", "what the message names"),
    "create {gone} --config retention.hours=1": ("Unknown topic config name: retention.hours", "what the message names"),
    "create {gone} --config retention.ms": ("--config retention.ms has no value", "--config name=value"),
    "send {there} a --header id": ("--header id has no value", "--header name=value"),
    "send {there} a --partition 5": ("topic '{there}' has no partition 5", "it has 1, counted from 0"),
    "read {there} --partition 5": ("topic '{there}' has no partition 5", "it has 1, counted from 0"),
    "read {there} --from yesterday": ("--from yesterday is no position", "--from 2026-01-31T09:00"),
    "send {there} --json x": ("record 1 is not one: Expecting value", '{"value": "…"}'),
    "send {there} --json []": ('record 1 is not one: there is no "value"', '{"value": "…"}'),
    """send {there} --json '{"value": "a"}' '{"value": 1}'""": ("record 2 is not one: 1 is neither text nor null", '{"value": "…"}'),
    """send {there} --json '{"value": "a", "kye": "b"}'""": ("record 1 is not one: there is no 'kye' in a record", '{"value": "…"}'),
    """send {there} --json '{"value": {"base64": "?"}}'""": ("record 1 is not one: '?' is no base64", '{"value": "…"}'),
    "send {there} --json {} --key k": ("with --json each record has its own key", "into the JSON"),
    "list --option no.such=1": ('No such configuration property: "no.such"', "as librdkafka does"),
    "list --option sasl.password=hunter2": ("sasl.password is a secret", "env:NAME"),
}


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_told_in_words(command: str, topic: Make) -> None:
    there = topic()
    gone = f"{there}-gone"
    command, what, fix = (text.replace("{there}", there).replace("{gone}", gone) for text in (command, *MISTAKES[command]))
    result = headrace(*shlex.split(command))
    said, _, advice = result.stderr.partition("\n  fix  ")
    assert result.exit_code == 1
    assert said.startswith("error ")
    assert "\n  at  " not in said
    assert what in said
    assert fix in advice
    assert "hunter2" not in result.output
    assert gone not in {each.name for each in hr.topics.list()}


@pytest.mark.parametrize("verb", ["list", "create", "describe", "send", "read", "delete"])
def test_a_cluster_that_does_not_answer_is_told_in_some_seconds(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.io.kafka.administration.PATIENCE", 0.5)
    monkeypatch.setenv("TEST_PASSWORD", "hunter3")
    options = ["--option", "security.protocol=SASL_PLAINTEXT", "--option", "sasl.mechanism=PLAIN"]
    login = ["--option", "sasl.username=ann", "--option", "sasl.password=env:TEST_PASSWORD"]
    names = [] if verb == "list" else ["t"]
    values = ["a"] if verb == "send" else []
    result = headrace(verb, *names, *values, "--servers", "127.0.0.1:1", *options, *login)
    assert result.exit_code == 1
    assert "Kafka at 127.0.0.1:1 does not answer: " in result.stderr
    assert "HEADRACE_KAFKA" in result.stderr
    assert "hunter3" not in result.output


def test_no_topic_is_told(monkeypatch: pytest.MonkeyPatch, kafka: str) -> None:  # noqa: ARG001
    monkeypatch.setattr("headrace.io.kafka.administration.KafkaTopics.names", lambda _: set())
    assert printed("list") == "there is no topic yet; headrace topics create NAME makes one\n"
    assert printed("list", "--json") == "[]\n"
