"""Which outputs share a streaming query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from headrace.planning.recipe import Output, Step


@dataclass(frozen=True)
class Group:
    """Outputs that one query writes, and the last step that they all pass.

    It is named after its first output, and so is its checkpoint: another output that is added later does not start it anew.
    """

    outputs: tuple[Output, ...]
    fork: Step

    @property
    def name(self) -> str:
        return self.outputs[0].name

    @property
    def where(self) -> str | None:
        """The line of its first output."""
        return self.outputs[0].where

    @property
    def label(self) -> str:
        """What people are told it is called."""
        return "+".join(output.name for output in self.outputs)


def by_state(outputs: Sequence[Output]) -> list[Group]:
    """A query for all outputs behind one stateful step, so that they are of one state and one watermark; and one for each of the others."""
    states = [next((step for step in reversed(output.step.trunk()) if step.stateful), output) for output in outputs]
    members = {state: tuple(output for output, its in zip(outputs, states, strict=True) if its is state) for state in dict.fromkeys(states)}
    return [Group(each, _fork(each) if len(each) > 1 else each[0].step) for each in members.values()]


def shared(outputs: Sequence[Output]) -> list[Group]:
    """As few queries as can be, so that no source is read twice without need.

    Outputs with the same last stateful step (or, if they have none, the same source) share a query. An output that keeps state of its own
    after the fork cannot: only Spark's planner can place state, and what is done after the fork is not planned as a stream.
    """
    by_anchor: dict[Step, list[Output]] = {}
    for output in outputs:
        trunk = output.step.trunk()
        anchor = next((step for step in reversed(trunk) if step.stateful), trunk[0])
        by_anchor.setdefault(anchor, []).append(output)
    return [Group(tuple(members), _fork(members)) for members in by_anchor.values()]


def _fork(outputs: Sequence[Output]) -> Step:
    trunks = [output.step.trunk() for output in outputs]
    common = list(takewhile(lambda step: all(step in trunk for trunk in trunks), trunks[0]))
    return common[-1]
