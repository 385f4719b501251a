"""Which spouts and states together are exactly once. The guide has this table; the tests attack each of its cells.

>>> [spout for spout in KINDS if EXACTLY_ONCE[spout, "opaque"]]
['transactional', 'opaque']
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.definitions import guarantees
from headrace.definitions.guarantees import Memory, Replay, of_replay
from headrace.fronts.stream import Stream as HeadraceStream
from headrace.fronts.trident.nodes import Graph, Source, Update
from headrace.fronts.trident.states.kinds import Kind

KINDS: tuple[Kind, ...] = ("non-transactional", "transactional", "opaque")

_REPLAYS: dict[Kind, Replay] = {"non-transactional": "any", "transactional": "same", "opaque": "other"}
_MEMORIES: dict[Kind, Memory] = {"non-transactional": "nothing", "transactional": "batch", "opaque": "before"}

# By spout and state. Opaque over opaque: over a store that can rewind, as headrace's can; else not for a key that the replay lacks.
EXACTLY_ONCE: dict[tuple[Kind, Kind], bool] = {
    (spout, state): of_replay(_REPLAYS[spout], _MEMORIES[state]) is guarantees.Guarantee.EXACTLY_ONCE for spout in KINDS for state in KINDS
}

_LEAST_FIRST: tuple[Kind, ...] = ("non-transactional", "opaque", "transactional")


@dataclass(frozen=True)
class Guarantee:
    """Of one state that is updated. `state` is None for one of the user's own making, of which nothing is known."""

    label: str
    spout: Kind
    state: Kind | None

    @property
    def exactly_once(self) -> bool:
        """Whether each tuple changes the state once, whatever fails."""
        return self.state is not None and EXACTLY_ONCE[self.spout, self.state]

    def __str__(self) -> str:
        kind = self.state or "of your own kind"
        return f"{self.label}: {self.spout} spout, {kind} state: {'exactly once' if self.exactly_once else 'not exactly once'}"


def of(graph: Graph) -> list[Guarantee]:
    """Of every state that the batches update. Where several spouts meet, the one that promises least counts."""
    reasons = []
    for node in graph.nodes:
        if isinstance(node, Update):
            sources = [each for each in graph.nodes if isinstance(each, Source) and node in graph.below([each]).nodes]
            kinds = [_kind(source) for source in sources if not source.asked]
            least: Kind = next((kind for kind in _LEAST_FIRST if kind in kinds), "non-transactional")
            reasons.append(Guarantee(node.name or node.label, least, getattr(node.state.factory, "kind", None)))
    return reasons


def _kind(source: Source) -> Kind:
    return "transactional" if isinstance(source.origin, HeadraceStream) else source.origin.kind
