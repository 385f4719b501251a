"""Spouts and bolts that are programs of their own, in any language: they speak Storm's multilang protocol on standard input and output.

A message is a JSON value and a line `end`. The program is given its configuration and context and answers with its process id. A spout is
then told `next`, `ack` or `fail`, and says `sync` when it has done that. A bolt is given tuples, one after the other; it emits, acks, fails
and logs whenever it likes. To know that it is done with a tuple, it is sent a heartbeat after it, which it answers by `sync`: whatever it
said before that has been read. So a bolt that works on several tuples at once is slowed down to one at a time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from headrace.fronts.storm.components.streamparse import Bolt, Spout
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.tuples import DEFAULT, Tuple
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.spouts import SpoutTask
from headrace.fronts.storm.tasks.task import Context

_FORGETS = "is a program of its own, whose memory nobody can take back", "run it at least once, or write it as a stateful component"


class Program:
    """A process that speaks the protocol."""

    def __init__(self, command: Sequence[str], conf: Mapping[str, Any], ctx: Context) -> None:
        self.command, self._directory = list(command), tempfile.mkdtemp(prefix="storm-pids-")
        by_task = {str(number): name for number, name in ctx["task->component"].items()}
        context = {"taskid": ctx["taskid"], "componentid": ctx["componentid"], "task->component": by_task}
        self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.send({"conf": _plain(conf), "pidDir": self._directory, "context": context})
        while "pid" not in self.read():
            pass

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{json.dumps(message)}\nend\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._gone() from None

    def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        lines = []
        while (line := self._process.stdout.readline()) != "end\n":
            if not line:
                raise self._gone()
            lines.append(line)
        return dict(json.loads("".join(lines)))

    def until_sync(self, obey: Callable[[Mapping[str, Any]], None]) -> None:
        """Do all that it says until it says `sync`."""
        while (message := self.read()).get("command") != "sync":
            obey(message)

    def end(self) -> None:
        """Its input ends; a program that does not end by that is killed."""
        try:
            with suppress(BrokenPipeError):
                self._process.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _gone(self) -> RuntimeError:
        return RuntimeError(f"{' '.join(self.command)} has ended (exit code {self._process.wait()})")


class _Shell:
    """What is declared of a program: `ShellBolt(["python3", "split.py"], ["word"])`, a command, and the fields of its stream, or its
    streams by name."""

    def __init__(self, command: Sequence[str], fields: Sequence[str] | Mapping[str, Sequence[str]] = ()) -> None:
        self.command = list(command)
        streams = fields if isinstance(fields, Mapping) else {DEFAULT: fields} if fields else {}
        self.streams = {name: Stream(list(names), name) for name, names in streams.items()}

    def declared(self) -> dict[str, Stream]:
        return self.streams

    def forgets(self) -> tuple[str, str] | None:
        return _FORGETS

    def _obey(self, task: BoltTask | SpoutTask, program: Program, message: Mapping[str, Any], emit: Callable[..., list[int]]) -> None:
        """What spouts and bolts may both say."""
        match message.get("command"):
            case "emit":
                task_asked = message.get("task") or None  # 0 stands for none, too
                sent = emit(message["tuple"], message.get("stream") or DEFAULT, task_asked)
                if task_asked is None and message.get("need_task_ids", True):
                    program.send(sent)
            case "log":
                self.log(str(message.get("msg")))  # type: ignore[attr-defined]
            case "error":
                task.counts.error = str(message.get("msg"))
            case "metrics":
                pass  # of metrics of its own nobody asked for
            case other:
                raise ValueError(f"{self.command[0]} says {other!r}, which is no command of Storm's protocol")


class ShellBolt(_Shell, Bolt):
    """A bolt that is a program. If it ends, what it had fails, and it is started again for the next tuple."""

    auto_ack = auto_anchor = False

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        self._task, self._current = task, []
        self._under_way: dict[str, Tuple] = {}
        self._number = 0
        self._start = partial(Program, self.command, conf, ctx)
        self._program = self._start()

    def take(self, tup: Tuple) -> None:
        self._number += 1
        number = str(self._number)
        self._under_way[number] = tup
        if self._program.ended:
            self._program.end()
            self._program = self._start()
        self._program.send({"id": number, "comp": tup.component, "stream": tup.stream, "task": tup.task, "tuple": tup.values})
        self._program.send({"id": f"heartbeat-{number}", "comp": "__system", "stream": "__heartbeat", "task": -1, "tuple": []})
        self._program.until_sync(self._hear)
        if tup.is_tick():
            self._under_way.pop(number, None)

    def current(self) -> list[Tuple]:
        """For the task: all that the program had when it ended."""
        failed, self._under_way = list(self._under_way.values()), {}
        return failed

    def close(self) -> None:
        self._program.end()

    def _hear(self, message: Mapping[str, Any]) -> None:
        match message.get("command"):
            case "ack":
                self._task.ack(self._under_way.pop(str(message["id"])))
            case "fail":
                self._task.fail(self._under_way.pop(str(message["id"])))
            case _:
                anchors = [self._under_way[str(one)] for one in message.get("anchors") or [] if str(one) in self._under_way]
                emit = lambda values, stream, task: self._task.emit(values, stream, anchors, task)  # noqa: E731
                self._obey(self._task, self._program, message, emit)


class ShellSpout(_Shell, Spout):
    """A spout that is a program. If it ends, so does the process of the spouts, which is started again, and the program with it."""

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: SpoutTask) -> None:
        self._task = task
        self._program = Program(self.command, conf, ctx)

    def activate(self) -> None:
        self._ask("activate")

    def next_tuple(self) -> None:
        self._ask("next")

    def ack(self, tup_id: Any) -> None:
        self._ask("ack", tup_id)

    def fail(self, tup_id: Any) -> None:
        self._ask("fail", tup_id)

    def close(self) -> None:
        self._program.end()

    def _ask(self, command: str, tup_id: Any = "") -> None:
        self._program.send({"command": command, "id": tup_id})
        self._program.until_sync(self._hear)

    def _hear(self, message: Mapping[str, Any]) -> None:
        tup_id = message.get("id")
        emit = lambda values, stream, task: self._task.emit(values, stream, tup_id, task)  # noqa: E731
        self._obey(self._task, self._program, message, emit)


def _plain(conf: Mapping[str, Any]) -> dict[str, Any]:
    """What JSON can say of a configuration."""
    return {key: value for key, value in conf.items() if isinstance(value, str | int | float | bool | list | type(None))}
