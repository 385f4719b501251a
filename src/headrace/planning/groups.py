"""Which outputs share a streaming query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from headrace.kernel import branches
from headrace.planning.recipe import Output, Step


@dataclass(frozen=True)
class Group:
    """Outputs that one query writes, and the last step that they all pass.

    It is named after its first output, and so is its checkpoint: another output that is added later does not start it anew.

    `beside` are outputs of what an operator before the fork leaves out, such as dead letters; `root` is the step where they part.
    """

    outputs: tuple[Output, ...]
    fork: Step
    beside: tuple[Output, ...] = ()
    root: Step | None = None

    @property
    def behind(self) -> tuple[Output, ...]:
        """Those that pass the fork."""
        return tuple(output for output in self.outputs if output not in self.beside)

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
    groups = [Group(each, _fork(each) if len(each) > 1 else each[0].step) for each in members.values()]
    return _with_ports(groups, _one_sink)


def _one_sink(group: Group, port: Output) -> bool:
    """Whether one sink can write the rows of both."""
    companies = {output.sink.company for output in (*group.outputs, port)}
    return len(companies) == 1 and None not in companies


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
    return _with_ports([Group(tuple(members), _fork(members)) for members in by_anchor.values()], lambda *_: True)


def _with_ports(groups: Sequence[Group], together: Callable[[Group, Output], bool]) -> list[Group]:
    """What an operator leaves out is written by the query of what it lets through, where that keeps state and one plan can hold both: the
    source is read once."""
    current = {group: group for group in groups}
    for alone in groups:
        for host in groups if len(alone.outputs) == 1 else ():
            (port,), grown = alone.outputs, current.get(host)
            root = parting(port.step, host.fork) if any(step.stateful for step in host.fork.trunk()) else None
            if host is alone or grown is None or root is None or grown.root not in (None, root) or not together(host, port):
                continue
            if branches.hold(root.preview, [port.step.preview, host.fork.preview]):
                current[host] = Group((*grown.outputs, port), grown.fork, (*grown.beside, port), root)
                del current[alone]
                break
    return list(current.values())


def parting(port: Step, stream: Step) -> Step | None:
    """The step whose rows part into those of a port and those of a stream, if the port has what some step of the stream leaves out."""
    trunk = stream.trunk()
    left_out = {step for taken in trunk for step in taken.beside.values()}
    begins = next((step for step in port.trunk() if step in left_out), None)
    return begins.parents[0] if begins is not None and begins.parents[0] in trunk else None


def _fork(outputs: Sequence[Output]) -> Step:
    trunks = [output.step.trunk() for output in outputs]
    common = list(takewhile(lambda step: all(step in trunk for trunk in trunks), trunks[0]))
    return common[-1]
