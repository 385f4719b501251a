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


def best(output: Output, mode: Mode) -> Promise:
    """The most that an output can have."""
    _, promise = min(_links(output, mode), key=lambda link: link[0])
    return promise


def _links(output: Output, mode: Mode) -> Iterator[tuple[tuple[int, int], Promise]]:
    """What each link can give, by its rank: of equals the sink counts first, for it is the one that rows are seen in."""
    for step in output.step.ancestry():
        cell = step.source.support(mode) if step.source is not None else step.row.cell(mode) if step.row is not None else Yes()
        if isinstance(cell, Yes):
            yield (cell.guarantee.rank, 1), Promise(output.name, cell.guarantee, step.operator, str(cell.guarantee))
    cell = output.sink.support(mode)
    if isinstance(cell, Yes):
        yield (cell.guarantee.rank, 0), Promise(output.name, cell.guarantee, f"to.{output.sink.kind}", cell.words)


def promise(outputs: Sequence[Output], mode: Mode, asked: Guarantee | None) -> dict[str, Promise]:
    """What each output will have: the best that it can, or what is asked for if that is less. ModeError if it is more."""
    promises = {output.name: best(output, mode) for output in outputs}
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
    less = f'ask for less: guarantee="{best(output, mode).guarantee}"'
    if mode == "real-time" and best(output, "micro-batch").guarantee.keeps(asked):
        return f"run it as micro-batch, or {less}"
    return f"use another source or sink, of which `headrace modes` says so, or {less}"
