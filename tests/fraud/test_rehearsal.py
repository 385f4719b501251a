"""What the jobs rehearse with: records of the right kind, in topics of their own, and no card in what stands for a decision."""

from __future__ import annotations

import json
import re

import pytest

from headrace_fraud.deciding import jobs
from headrace_fraud.demo import rehearsal
from headrace_fraud.demo.worker import MODES
from headrace_fraud.world.truth import RULES


@pytest.mark.parametrize("job", MODES)
def test_a_job_has_topics_for_all_that_it_is_fed_and_all_that_it_reads_is_fed(job: str) -> None:
    reads = {"decide": set(jobs.INPUTS), "windows": {"decisions"}, "store": {"decisions", "alerts", "windows"}}[job]
    assert {message.topic for message in rehearsal.feed(job)} == reads <= set(rehearsal._TOPICS[job])
    assert set(rehearsal._TOPICS[job]) <= {*jobs.INPUTS, *jobs.OUTPUTS}


def test_no_topic_of_a_rehearsal_is_one_of_the_demo() -> None:
    assert not [topic for topic in (*jobs.INPUTS, *jobs.OUTPUTS) if topic.startswith(rehearsal.PREFIX)]


@pytest.mark.parametrize("job", ["windows", "store"])
def test_decisions_to_rehearse_with_break_every_rule_and_have_no_card(job: str) -> None:
    decisions = [json.loads(message.value) for message in rehearsal.feed(job) if message.topic != "windows"]
    assert {rule for decision in decisions for rule in decision["rules"]} == set(RULES)
    assert {decision["card"] for decision in decisions} == {None}
    assert not [message for message in rehearsal.feed(job) if re.search(rb"\d{13}", message.value)]
