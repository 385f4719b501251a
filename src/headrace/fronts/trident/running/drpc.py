"""DRPC in this process: `drpc.execute("words", "cat dog")` asks the topology that answers "words", and waits for the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from headrace.errors import JobError, user_line
from headrace.fronts.trident.nodes import Graph, Source
from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.running.batches import Batches
from headrace.fronts.trident.running.partitions import Local
from headrace.fronts.trident.tuples import FailedException


class LocalDRPC:
    """Give it to `newDRPCStream`, and ask it. A request runs in the thread that asks; many threads may ask at once."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[[str], str]] = {}

    def execute(self, function: str, args: str) -> str:
        """The answer as JSON: a list with a list of values for each of the stream's last tuples. JobError if an operation fails."""
        answer = self._functions.get(function)
        if answer is None:
            raise JobError(
                f"no running topology answers {function!r}",
                fix=f"submit a topology with newDRPCStream({function!r}, drpc) first; it answers {', '.join(self._functions) or 'nothing'}",
                where=user_line(),
            )
        return answer(args)

    def register(self, function: str, answer: Callable[[str], str]) -> None:
        """A topology that runs answers this function; of several, the one that was started last."""
        self._functions[function] = answer

    def unregister(self, function: str, answer: Callable[[str], str]) -> None:
        """It does no longer."""
        if self._functions.get(function) is answer:
            del self._functions[function]

    def shutdown(self) -> None:
        """Answer nothing any more."""
        self._functions.clear()


def serve(graph: Graph, batches: Batches) -> Callable[[], None]:
    """Let a topology's DRPC functions be asked; what it returns ends that."""
    sources = [node for node in graph.nodes if isinstance(node, Source) and node.asked]
    answers = {source: _answer(graph.below([source]), source, batches) for source in sources}
    for source, answer in answers.items():
        source.origin.register(source.id, answer)

    def end() -> None:
        for source, answer in answers.items():
            source.origin.unregister(source.id, answer)

    return end


def _answer(graph: Graph, source: Source, batches: Batches) -> Callable[[str], str]:
    (last,) = graph.leaves()

    def answer(args: str) -> str:
        try:
            made = batches.run(graph, TransactionAttempt(None), {source: Local([[(args,)]])})
        except FailedException as error:
            raise JobError(f"the request {source.id!r} failed: {error}", fix="the operation raised FailedException: ask again") from error
        rows: list[Any] = [list(row) for part in made[last].here().rows for row in part]
        try:
            return json.dumps(rows, ensure_ascii=False)
        except TypeError as error:
            raise JobError(f"the answer of {source.id!r} cannot be JSON: {error}", fix="let it end in text, numbers and lists") from None

    return answer
