"""The Kafka topics of a topology."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.fronts.storm.components.kafka import KafkaBolt
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.reliability import Reliability


@dataclass(frozen=True)
class Topics:
    """Named after the topology: tuples of spouts, verdicts of the acker, counts of tasks, states of bolts and of spouts. Only the topology
    may write to them."""

    name: str

    @property
    def tuples(self) -> str:
        return f"storm.{self.name}.tuples"

    @property
    def acks(self) -> str:
        return f"storm.{self.name}.acks"

    @property
    def metrics(self) -> str:
        return f"storm.{self.name}.metrics"

    @property
    def state(self) -> str:
        return f"storm.{self.name}.state"

    @property
    def spouts(self) -> str:
        return f"storm.{self.name}.spouts"

    def written(self, made: Layout) -> list[str]:
        """All that Spark writes to: the topology's own, and those of its Kafka bolts."""
        bolts = [part.code.topic for part in made.parts.values() if isinstance(part.code, KafkaBolt)]
        return list(dict.fromkeys([self.acks, self.metrics, *([self.state] if has_state(made) else []), *bolts]))


def has_state(made: Layout) -> bool:
    """Whether one of its bolts is stateful. Effectively once, they all are: where their next tuples go is a state, too."""
    exact = made.reliability is Reliability.EFFECTIVELY_ONCE
    return exact or any(hasattr(part.code, "init_state") for part in made.parts.values() if not part.is_spout)
