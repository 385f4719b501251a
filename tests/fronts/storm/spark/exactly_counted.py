"""A topology that runs effectively once, and whose driver is killed in the middle of a batch, the first time."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from headrace.storm import Bolt, Grouping, KafkaBolt, Reliability, StatefulBolt, StatefulSpout, Topology, submit

LAST = 400


class Numbers(StatefulSpout):
    """0, 1, 2 and so on, each task its share, at most two hundred a second."""

    outputs = ("n",)

    def initialize(self, conf, ctx):
        self.step, self.index, self.due = len(ctx.getComponentTasks("numbers")), ctx.getThisTaskIndex(), 0.0

    def next_tuple(self):
        number = self.state.get("next", self.index)
        if number < LAST and time.time() >= self.due:
            self.due = time.time() + 0.01
            self.state["next"] = number + self.step
            self.emit([number])


class Rest(Bolt):
    outputs = ("rest", "n")

    def process(self, tup):
        self.emit([tup["n"] % 7, tup["n"]])


class Sum(StatefulBolt):
    outputs = ("rest", "sum", "count", "pid")

    def initialize(self, conf, ctx):
        self.driver, self.died = conf["driver"], Path(conf["died"])

    def process(self, tup):
        total, count = self.state.get(tup["rest"], (0, 0))
        self.state[tup["rest"]] = (total + tup["n"], count + 1)
        if tup["n"] == LAST // 3 and not self.died.exists():
            self.died.touch()
            os.killpg(self.driver, signal.SIGKILL)
        self.emit([tup["rest"], total + tup["n"], count + 1, os.getpid()])


def topology(sums):
    class Exact(Topology):
        numbers = Numbers.spec(par=2)
        rest = Rest.spec(inputs=[numbers], par=2)
        sum = Sum.spec(inputs={rest: Grouping.fields("rest")}, par=3)
        out = KafkaBolt(sums).spec(inputs=[sum])

    return Exact


def start(sums, died, mode="micro-batch", **how):
    config = {"driver": os.getpid(), "died": str(died)}
    return submit(topology(sums), f"exact-{sums}", mode=mode, config=config, reliability=Reliability.EFFECTIVELY_ONCE, **how)


if __name__ == "__main__":
    with start(*sys.argv[1:]) as running:
        running.wait()
