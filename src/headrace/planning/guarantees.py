"""What a job promises: the weakest of its sources, its state and its sink, in the mode that it runs in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headrace.definitions.guarantees import Guarantee, Mode, Yes
from headrace.errors import ModeError
from headrace.planning.recipe import Output


@dataclass(frozen=True)
class Promise:
    """Of one output. `weakest` is the link that says so, `words` how it says it."""

    output: str
    guarantee: Guarantee
    weakest: str
    words: str

    def __str__(self) -> str:
        return f"{self.output}: {self.words}"


def best(output: Output, mode: Mode, *, asked: bool = False) -> Promise:
    """What an output has; or the most that it can have, if it is asked for."""
    _, promise = min(_links(output, mode, asked), key=lambda link: link[0])
    return promise


def _links(output: Output, mode: Mode, asked: bool) -> Iterator[tuple[tuple[int, int], Promise]]:
    """What each link gives, by its rank: of equals the sink counts first, for it is the one that rows are seen in."""
    for step in output.step.ancestry():
        cell = step.source.support(mode) if step.source is not None else step.row.cell(mode) if step.row is not None else Yes()
        if isinstance(cell, Yes):
            yield (cell.guarantee.rank, 1), Promise(output.name, cell.guarantee, step.operator, str(cell.guarantee))
    cell = output.sink.support(mode)
    if isinstance(cell, Yes):
        gives = cell.most if asked else cell.guarantee
        words = cell.words if gives is cell.guarantee else str(gives)
        yield (gives.rank, 0), Promise(output.name, gives, f"to.{output.sink.kind}", words)


def promise(outputs: Sequence[Output], mode: Mode, asked: Guarantee | None) -> dict[str, Promise]:
    """What each output will have: what is asked for, or without a wish what its links give. ModeError if that cannot be had."""
    promises = {output.name: best(output, mode, asked=asked is not None) for output in outputs}
    for output in outputs:
        can = promises[output.name]
        if asked is not None and not can.guarantee.keeps(asked):
            raise ModeError(
                f"{output.name}: {asked} cannot be had in {mode} mode, because {can.weakest} is {can.guarantee}",
                fix=_instead(output, mode, asked), where=output.where,
            )  # fmt: skip
        if asked is Guarantee.AT_MOST_ONCE and mode == "real-time" and can.guarantee is not asked:
            raise ModeError(
                f"{output.name}: at-most-once cannot be had in real-time mode, because a batch that is done again there has other records",
                fix="run it as micro-batch, or ask for at-least-once", where=output.where,
            )  # fmt: skip
        if asked is not None and asked is not can.guarantee:
            promises[output.name] = Promise(output.name, asked, "the job", str(asked))
    return promises


def _instead(output: Output, mode: Mode, asked: Guarantee) -> str:
    less = f'ask for less: guarantee="{best(output, mode, asked=True).guarantee}"'
    if mode == "real-time" and best(output, "micro-batch", asked=True).guarantee.keeps(asked):
        by_id = " and to.kafka(…, id=True), by which read.kafka(…, once=True) has each row once" if output.sink.kind == "kafka" else ""
        return f"run it as micro-batch, or {less}{by_id}"
    return f"use another source or sink, of which `headrace modes` says so, or {less}"
