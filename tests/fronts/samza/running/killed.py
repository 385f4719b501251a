"""A Samza job whose driver is killed, the first time, by a task in the middle of a batch."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.samza import InitableTask, LocalApplicationRunner, OutgoingMessageEnvelope, StreamTask, SystemStream


class WordCount(StreamTask, InitableTask):
    """Sends each word with its count so far; at the word `kill` it dies, and the whole job with it, if it has not done so before."""

    def init(self, context: Any) -> None:
        self.config, self.store = context.getJobContext().getConfig(), context.getTaskContext().getStore("counts")
        self.out = SystemStream("kafka", self.config["wordcount.out"])  # of a class of the front's, and saved with the task

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        for word in envelope.getMessage().split():
            if word == "kill" and not Path(self.config["died"]).exists():
                Path(self.config["died"]).touch()
                os.killpg(int(self.config["driver"]), signal.SIGKILL)
            count = (self.store.get(word) or 0) + 1
            self.store.put(word, count)
            collector.send(OutgoingMessageEnvelope(self.out, word, [word, count]))


def main(source: str, out: str, servers: str, home: Path) -> None:
    config = {
        "job.name": "killed", "task.inputs": f"kafka.{source}", "systems.kafka.consumer.bootstrap.servers": servers,
        f"streams.{source}.samza.msg.serde": "string", f"streams.{source}.samza.offset.default": "oldest",
        f"streams.{out}.samza.msg.serde": "json", f"streams.{out}.samza.key.serde": "string",
        "stores.counts.key.serde": "string", "stores.counts.msg.serde": "integer", "stores.counts.changelog": f"kafka.{source}-log",
        "wordcount.out": out, "died": str(home / "died"), "driver": os.getpid(),
    }  # fmt: skip
    runner = LocalApplicationRunner(WordCount, config, checkpoint=home / "checkpoint", trigger=hr.once)
    runner.run()
    runner.waitForFinish()


if __name__ == "__main__":
    main(*sys.argv[1:4], Path(sys.argv[4]))
