"""The loop that answers calls.

A call is a message behind its length: the arguments in the format of Python's `marshal`, which one call in C reads and one writes. The
JVM's side is Marshal.scala. What `marshal` does not know (dates, times, decimals, maps) is made of what it does by the converters.
"""

from __future__ import annotations

import marshal
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

_END = -1
_QUESTION = (-1000).to_bytes(4, "big", signed=True)
"""Where the length of an answer is expected: first the JVM is to answer a question itself."""


class Loop:
    """Both serialisers of a PySpark worker. Between them, instead of batches, calls that are answered as they come."""

    def __init__(self, token: str, packed: bytes) -> None:
        self.token, self.packed = token, packed

    def load_stream(self, stream: Any) -> Any:
        return stream

    def dump_stream(self, streams: Any, out: Any) -> None:
        """Answer all calls that are there, and write the answers at once: one if one was asked, several if they were sent ahead."""
        function, loads, dumps, number = _kept(self.token, self.packed), marshal.loads, marshal.dumps, int.from_bytes
        peek, read, write, flush = streams[0].peek, streams[0].read, out.write, out.flush
        if getattr(function, "maps", ()):
            self._with_questions(function, read, out)
            return

        def send(message: Any) -> None:
            text = dumps(message, 2)
            write(len(text).to_bytes(4, "big") + text)

        def answer(call: bytes) -> None:
            arguments = loads(call)
            if type(arguments[-1]) is not list:
                send(function(*arguments))
            elif not function.in_turn(*arguments, send):
                send(None)

        while chunk := peek():
            at, size = 0, 0
            try:
                while len(chunk) >= at + 4 and 0 <= (size := number(chunk[at : at + 4], "big", signed=True)) <= len(chunk) - at - 4:
                    answer(chunk[at + 4 : at + 4 + size])
                    at += 4 + size
                read(at)
                if size <= _END:
                    read(4)
                elif not at and (size := number(read(4), "big", signed=True)) > _END:  # a call that had not come whole
                    answer(read(size))
            finally:
                flush()
            if size <= _END:
                return

    def _with_questions(self, function: Any, read: Callable[[int], bytes], out: Any) -> None:
        """The same for a function that reads maps: one call at a time, for between a call and its answer come other messages."""

        def send(head: bytes, message: Any) -> None:
            text = marshal.dumps(message, 2)
            out.write(head + len(text).to_bytes(4, "big") + text)
            out.flush()

        def message() -> Any:
            size = int.from_bytes(read(4), "big", signed=True)
            return marshal.loads(read(size)) if size > _END else None

        def ask(*question: Any) -> list[tuple[bytes, bytes]]:
            send(_QUESTION, question)
            (entries,) = message()
            return entries  # type: ignore[no-any-return]

        function.ask = ask
        while (call := message()) is not None:
            send(b"", function(*call))


def _kept(token: str, packed: bytes) -> Any:
    """The function, made and opened once in a worker's life: a worker is used again from batch to batch."""
    functions: dict[str, Any] = sys.__dict__.setdefault("_headrace_functions", {})
    if token not in functions:
        if not functions:
            _close_at_exit(functions)
        function = functions[token] = pickle.loads(packed)
        function.open()
    return functions[token]


def _close_at_exit(functions: Mapping[str, Any]) -> None:
    """A worker of PySpark's ends by `os._exit`, before which Python calls nothing."""
    leave = os._exit

    def close_and_leave(status: int) -> None:
        for function in functions.values():
            try:
                function.close()
            except Exception:
                traceback.print_exc()
        leave(status)

    os._exit = close_and_leave  # type: ignore[assignment]
