"""When Spark's JVM ends under a program: however py4j notices it, it is one error in words, and no trace is printed."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable

import pytest
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.errors import JobError
from headrace.spark import jvm_exit

RESET = struct.pack("ii", 1, 0)  # hang up with a reset, not with an end


def hang_up(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.close()


def reset(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


# what a JVM that ends does to the connections that are made to it, one after the other, until it listens no more
WAYS: dict[str, list[Callable[[socket.socket], None]]] = {
    "it is gone already": [],
    "it hangs up": [hang_up],
    "it hangs up, and listens for another moment": [hang_up, hang_up],
    "it breaks the connection": [reset],
    "it hangs up, and then breaks the connection": [hang_up, reset],
}


def ending(way: list[Callable[[socket.socket], None]]) -> int:
    """The port of a JVM that ends in this way."""
    server = socket.create_server(("127.0.0.1", 0))
    port = int(server.getsockname()[1])

    def end() -> None:
        with server:
            for act in way:
                act(server.accept()[0])

    threading.Thread(target=end).start()
    return port


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "call",
    [lambda gateway: gateway.jvm.System.exit(0), lambda gateway: JavaObject("o1", gateway._gateway_client).isActive()],
    ids=["a class is looked up", "a method is called"],
)
def test_however_it_ends_is_told_once_in_words(
    way: str, call: Callable[[ClientServer], object], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = ClientServer(JavaParameters(port=ending(WAYS[way])), PythonParameters(port=0, eager_load=False))
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    jvm_exit.quiet()
    with pytest.raises(JobError) as told, jvm_exit.translated(JobError):
        call(gateway)
    assert told.value.what == "Spark's JVM has ended under this program: killed, or out of memory"
    assert "spark.driver.memory" in told.value.fix
    assert caplog.records == []


@pytest.mark.parametrize("error", [ConnectionResetError("the user's own server"), EOFError()], ids=repr)
def test_an_error_of_the_users_own_stays_what_it_is(error: Exception, spark: SparkSession) -> None:  # noqa: ARG001
    with pytest.raises(type(error)) as raised, jvm_exit.translated(JobError):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("error", [EOFError(), ConnectionResetError(), ValueError("bad token")], ids=repr)
def test_the_server_of_accumulators_tells_of_errors_but_not_that_the_jvm_hung_up(
    error: Exception, spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        raise error
    except type(error):
        spark.sparkContext._accumulatorServer.handle_error(None, "somewhere")  # type: ignore[arg-type]
    assert ("Traceback" in capfd.readouterr().err) == isinstance(error, ValueError)
