"""Bolts that are programs of their own, in any language: they speak Storm's multilang protocol on standard input and output.

A message is a JSON value and a line `end`. The program is given its configuration and context and answers with its process id; then come
tuples, one after the other. It emits, acks, fails and logs whenever it likes. To know that it is done with a tuple, it is sent a heartbeat
after it, which it answers by `sync`: whatever it said before that has been read. So a program that works on several tuples at once is
slowed down to one at a time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from headrace.fronts.storm.components.streamparse import Bolt
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.tuples import DEFAULT, Tuple
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.task import Context


class ShellBolt(Bolt):
    """`ShellBolt(["python3", "split.py"], ["word"])`: a command, and the fields of its stream, or its streams by name."""

    auto_ack = auto_anchor = False

    def __init__(self, command: Sequence[str], fields: Sequence[str] | Mapping[str, Sequence[str]] = ()) -> None:
        self.command = list(command)
        streams = fields if isinstance(fields, Mapping) else {DEFAULT: fields} if fields else {}
        self.streams = {name: Stream(list(names), name) for name, names in streams.items()}

    def declared(self) -> dict[str, Stream]:
        return self.streams

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        self._task, self._current = task, []
        self._under_way: dict[str, Tuple] = {}
        self._number = 0
        self._pids = tempfile.mkdtemp(prefix="storm-pids-")
        by_task = {str(number): name for number, name in ctx["task->component"].items()}
        context = {"taskid": ctx["taskid"], "componentid": ctx["componentid"], "task->component": by_task}
        self._hello = {"conf": _plain(conf), "pidDir": self._pids, "context": context}
        self._launch()

    def _launch(self) -> None:
        self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self._send(self._hello)
        while "pid" not in self._read():
            pass

    def take(self, tup: Tuple) -> None:
        self._number += 1
        number = str(self._number)
        self._under_way[number] = tup
        if self._process.poll() is not None:
            self._end()
            self._launch()
        self._send({"id": number, "comp": tup.component, "stream": tup.stream, "task": tup.task, "tuple": tup.values})
        self._send({"id": f"heartbeat-{number}", "comp": "__system", "stream": "__heartbeat", "task": -1, "tuple": []})
        while (said := self._read()).get("command") != "sync":
            self._obey(said)
        if tup.is_tick():
            self._under_way.pop(number, None)

    def current(self) -> list[Tuple]:
        """All that the program had when it ended; it is started again for the next tuple."""
        failed, self._under_way = list(self._under_way.values()), {}
        return failed

    def close(self) -> None:
        self._end()
        shutil.rmtree(self._pids, ignore_errors=True)

    def _end(self) -> None:
        with suppress(BrokenPipeError):
            self._process.communicate(timeout=5)

    def _obey(self, said: Mapping[str, Any]) -> None:
        match said.get("command"):
            case "emit":
                anchors = [self._under_way[str(anchor)] for anchor in said.get("anchors") or [] if str(anchor) in self._under_way]
                sent = self._task.emit(said["tuple"], said.get("stream") or DEFAULT, anchors, said.get("task"))
                if said.get("task") is None and said.get("need_task_ids", True):
                    self._send(sent)
            case "ack":
                self._task.ack(self._under_way.pop(str(said["id"])))
            case "fail":
                self._task.fail(self._under_way.pop(str(said["id"])))
            case "log":
                self.log(str(said.get("msg")))
            case "error":
                self._task.counts.error = str(said.get("msg"))
            case other:
                raise ValueError(f"{self.command[0]} says {other!r}, which is no command of a bolt")

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(message)}\nend\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        lines = []
        while (line := self._process.stdout.readline()) != "end\n":
            if not line:
                code = self._process.wait()
                raise RuntimeError(f"{' '.join(self.command)} has ended (exit code {code}), with {len(self._under_way)} tuples under way")
            lines.append(line)
        return dict(json.loads("".join(lines)))


def _plain(conf: Mapping[str, Any]) -> dict[str, Any]:
    """What JSON can say of a configuration."""
    return {key: value for key, value in conf.items() if isinstance(value, str | int | float | bool | list | type(None))}
