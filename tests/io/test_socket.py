"""Lines that a TCP server sends are rows."""

from __future__ import annotations

import socketserver
import threading
from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.io.memory import MemorySink


class _Lines(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(b"a\nb\n")
        self.rfile.read()  # stay until the reader goes


def test_lines_of_a_socket_are_rows(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Lines) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        output = hr.read.socket("127.0.0.1", server.server_address[1]).to.memory()
        assert isinstance(output.sink, MemorySink)
        with hr.Job("lines", output, checkpoint=tmp_path).start() as running:
            while len(output.sink.rows) < 2 and not running.wait(0.2):
                pass
        server.shutdown()
    assert [row.value for row in output.sink.rows] == ["a", "b"]
