"""Programs that speak Storm's multilang protocol run as bolts, as they are."""

from __future__ import annotations

import sys

import pytest

from headrace.storm import FeederSpout, LocalCluster, ShellBolt, TopologyBuilder

# Knows nothing of headrace, as a bolt that was written for Storm would not.
PROGRAM = r"""
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


@pytest.fixture
def shell(tmp_path):
    program = tmp_path / "split.py"
    program.write_text(PROGRAM)
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
