"""Lines that a TCP server sends are rows; what cannot be had from a socket is refused."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import DefinitionError, JobError
from headrace.io.memory import MemorySink


class _Lines(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(b"a\nb\n")
        self.rfile.read()  # stay until the reader goes


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server that sends two lines to everyone."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Lines) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_lines_of_a_socket_are_rows_and_cannot_be_read_again(port: int, spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    output = hr.read.socket("127.0.0.1", port).to.memory()
    assert isinstance(output.sink, MemorySink)
    job = hr.Job("lines", output, checkpoint=tmp_path)
    with job.start() as running:
        while len(output.sink.rows) < 2 and not running.wait(0.2):
            pass
    assert [row.value for row in output.sink.rows] == ["a", "b"]
    with pytest.raises(JobError) as refused:
        job.start()
    assert refused.value.what == f"the job has read from 127.0.0.1:{port} before, and a socket has no place to go on from"
    assert f"move {tmp_path}/memory away" in refused.value.fix


def test_a_server_that_does_not_listen_is_told(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    with socketserver.TCPServer(("127.0.0.1", 0), _Lines, bind_and_activate=False) as closed:
        closed.server_bind()  # nobody else gets this port
        with pytest.raises(JobError) as failed:
            hr.Job("lines", hr.read.socket("127.0.0.1", closed.server_address[1]).to.memory(), checkpoint=tmp_path).run()
    assert "Connection refused" in failed.value.what
    assert "start the server first" in failed.value.fix


def test_a_host_that_is_none_is_told_before_the_start(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    with pytest.raises(JobError) as refused:
        hr.Job("lines", hr.read.socket("no-such-host.invalid", 1).to.memory(), checkpoint=tmp_path).start()
    assert refused.value.what.startswith("there is no host 'no-such-host.invalid'")


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(DefinitionError) as refused:
        hr.read.socket("localhost", 65536)
    assert refused.value.what == "there is no port 65536"
