"""The Kafka topics of a topology."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.fronts.storm.layout import Layout


@dataclass(frozen=True)
class Topics:
    """Named after the topology: tuples of spouts, the acker's verdicts, counts of tasks. Only the topology may write to them."""

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

    def written(self, made: Layout) -> list[str]:
        """All that Spark writes to: the topology's own, and those of its Kafka bolts."""
        bolts = [topic for part in made.parts.values() if (topic := getattr(part.code, "topic", None)) and not part.is_spout]
        return list(dict.fromkeys([self.acks, self.metrics, *bolts]))
