"""Programs that speak Storm's multilang protocol run as bolts and spouts, as they are."""

from __future__ import annotations

import sys

import pytest

from headrace.storm import Bolt, FeederSpout, LocalCluster, ShellBolt, ShellSpout, TopologyBuilder

# They know nothing of headrace, as programs that were written for Storm would not.
HELLO = r"""
import json, os, sys

def read():
    text = ""
    while (line := sys.stdin.readline()) != "end\n":
        if not line:
            sys.exit(0)
        text += line
    return json.loads(text)

def say(message):
    sys.stdout.write(json.dumps(message) + "\nend\n")
    sys.stdout.flush()

hello = read()
open(os.path.join(hello["pidDir"], str(os.getpid())), "w").close()
say({"pid": os.getpid()})
"""

BOLT = r"""
held, waiting = [], []
while True:
    tup = waiting.pop(0) if waiting else read()
    if tup["stream"] == "__heartbeat":
        say({"command": "sync"})
        continue
    sentence = tup["tuple"][0]
    if sentence == "die":
        sys.exit(3)
    if sentence == "bad":
        say({"command": "fail", "id": tup["id"]})
    elif sentence == "hold":
        held.append(tup["id"])
    else:
        for word in sentence.split(" "):
            say({"command": "emit", "tuple": [word], "anchors": [tup["id"]]})
            while not isinstance(tasks := read(), list):  # other messages may come before the answer
                waiting.append(tasks)
            say({"command": "log", "msg": f"sent to {tasks}"})
        for each in [*held, tup["id"]]:
            say({"command": "ack", "id": each})
        held = []
"""

SPOUT = r"""
left, under_way = ["my dog", "bad", "has fleas"], {}
while True:
    said = read()
    if said["command"] == "next" and left:
        under_way[len(under_way)] = sentence = left.pop(0)
        say({"command": "emit", "tuple": [sentence], "id": len(under_way) - 1})
        say({"command": "log", "msg": f"sent to {read()}"})
        say({"command": "emit", "tuple": [len(left)], "stream": "left", "need_task_ids": False})
    elif said["command"] == "fail":
        say({"command": "emit", "tuple": [under_way[said["id"]].replace("bad", "good")], "id": said["id"], "need_task_ids": False})
    elif said["command"] == "ack" and under_way.pop(said["id"]) == "has fleas":
        say({"command": "error", "msg": "no more"})
    say({"command": "sync"})
"""


@pytest.fixture
def shell(tmp_path):
    program = tmp_path / "split.py"
    program.write_text(HELLO + BOLT)
    feeder = FeederSpout(["sentence"])
    builder = TopologyBuilder()
    builder.setSpout("sentences", feeder)
    builder.setBolt("split", ShellBolt([sys.executable, str(program)], ["word"])).shuffleGrouping("sentences")
    cluster = LocalCluster(builder)
    yield feeder, cluster
    cluster.task("split").close()


def test_a_program_emits_acks_and_fails(shell):
    feeder, cluster = shell
    for sentence in ("my dog", "bad", "has fleas"):
        feeder.feed([sentence], sentence)
    cluster.run()
    assert cluster.emitted["split", "default"] == [["my"], ["dog"], ["has"], ["fleas"]]
    assert (feeder.acked, feeder.failed) == (["my dog", "has fleas"], ["bad"])


def test_a_program_may_ack_later(shell):
    feeder, cluster = shell
    feeder.feed(["hold"], 1)
    cluster.run()
    assert feeder.acked == []
    feeder.feed(["on"], 2)
    cluster.run()
    assert sorted(feeder.acked) == [1, 2]


def test_a_program_that_ends_fails_what_it_had_and_is_started_again(shell):
    feeder, cluster = shell
    for sentence in ("hold", "die", "my dog"):
        feeder.feed([sentence], sentence)
    cluster.run()
    assert (sorted(feeder.failed), feeder.acked) == (["die", "hold"], ["my dog"])
    assert "exit code 3" in cluster.bolts[2].counts.error


class Fussy(Bolt):
    def initialize(self, conf, ctx):
        self.seen = []

    def process(self, tup):
        self.seen.append(tup[0])
        if tup[0] == "bad":
            raise ValueError("no")


def test_a_program_is_a_spout_that_hears_of_acks_and_fails(tmp_path):
    program = tmp_path / "sentences.py"
    program.write_text(HELLO + SPOUT)
    builder = TopologyBuilder()
    builder.setSpout("sentences", ShellSpout([sys.executable, str(program)], {"default": ["sentence"], "left": ["n"]}))
    builder.setBolt("fussy", Fussy()).shuffleGrouping("sentences")
    cluster = LocalCluster(builder)
    cluster.run()
    assert cluster.task("fussy").seen == ["my dog", "bad", "good", "has fleas"]
    assert cluster.emitted["sentences", "left"] == [[2], [1], [0]]
    counts = cluster.spouts[1].counts
    assert (counts.acked, counts.failed, counts.error, cluster.pending) == (3, 1, "no more", 0)
    cluster.task("sentences").close()


def test_a_spout_whose_program_has_ended_says_so(tmp_path):
    program = tmp_path / "ends.py"
    program.write_text(HELLO + "read()\nsay({'command': 'sync'})\nsys.exit(4)")
    builder = TopologyBuilder()
    builder.setSpout("ends", ShellSpout([sys.executable, str(program)], ["sentence"]))
    cluster = LocalCluster(builder)
    with pytest.raises(RuntimeError, match=r"ends.py has ended \(exit code 4\)"):
        cluster.run()
    cluster.task("ends").close()
