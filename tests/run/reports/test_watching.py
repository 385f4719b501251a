"""A broker that goes away is told within ten seconds, and so is its return."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.waiting import eventually

import headrace as hr
from headrace.embedded import kafka as broker
from headrace.embedded import places

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def own_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A broker of this test's own, at an address that stays the same when it is stopped and started."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "cache").symlink_to(places.cache())
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    yield broker.up(port=free_port()).bootstrap
    broker.down()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def watchers(job: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == f"headrace-watch-{job}"]


def test_a_broker_that_goes_away_is_told_and_that_it_is_back(own_broker: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    admin = AdminClient({"bootstrap.servers": own_broker, "log_level": 0})
    admin.create_topics([NewTopic("in", 1)])["in"].result()
    job = hr.Job("watched", hr.read.kafka("in", servers=own_broker).to.memory(), checkpoint=tmp_path / "checkpoint")
    with job.start() as running, caplog.at_level(logging.WARNING):
        running.process_all()
        assert len(watchers("watched")) == 1  # its source and nothing else is elsewhere
        broker.down()
        assert eventually(lambda: len(running.notices) == 1, within=10)
        broker.up(port=int(own_broker.split(":")[1]))
        assert eventually(lambda: len(running.notices) == 2)
    gone, back = running.notices
    assert (gone.job, gone.event, gone.what, gone.seconds) == ("watched", "unreachable", f"Kafka at {own_broker}", None)
    assert (back.event, back.what) == ("reachable", gone.what)
    assert back.seconds is not None
    assert gone.at < back.at
    assert f"job 'watched': Kafka at {own_broker} does not answer; the job goes on when it does" in caplog.text
    assert f"job 'watched': Kafka at {own_broker} answers again, after {back.seconds:,.0f} s" in caplog.text
    assert eventually(lambda: watchers("watched") == [], within=10)


def test_a_job_without_a_broker_is_not_watched(tmp_path: Path) -> None:
    with hr.Job("alone", hr.read.memory("n int").to.memory(), checkpoint=tmp_path).start():
        assert watchers("alone") == []
