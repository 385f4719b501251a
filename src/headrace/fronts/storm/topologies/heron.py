"""Heron's Topology API for Python, where it differs from streamparse's: a builder with Python's names, and the names of settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.fronts.storm.graph.groupings import Grouping
from headrace.fronts.storm.graph.layout import Layout, Stream
from headrace.fronts.storm.graph.reliability import MODE, Reliability
from headrace.fronts.storm.topologies.topology import Spec, laid_out, part_of


class api_constants:  # noqa: N801 - a module in Heron
    """Names of settings."""

    TOPOLOGY_RELIABILITY_MODE = MODE
    TOPOLOGY_STATEFUL_CHECKPOINT_INTERVAL_SECONDS = "topology.stateful.checkpoint.interval.seconds"
    TOPOLOGY_MESSAGE_TIMEOUT_SECS = "topology.message.timeout.secs"
    TOPOLOGY_MAX_SPOUT_PENDING = "topology.max.spout.pending"
    TOPOLOGY_TICK_TUPLE_FREQ_SECS = "topology.tick.tuple.freq.secs"
    TOPOLOGY_STMGRS = "topology.workers"
    TopologyReliabilityMode = Reliability


class TopologyBuilder:
    """A topology, one component after the other.

    builder = TopologyBuilder("words")
    spout = builder.add_spout("words", WordSpout, par=2)
    builder.add_bolt("count", CountBolt, par=2, inputs={spout: Grouping.fields("word")})
    running = builder.build_and_submit()
    """

    def __init__(self, name: str) -> None:
        self.topology_name = name
        self._specs: list[Spec] = []
        self._config: dict[str, Any] = {}

    def add_spout(
        self,
        name: str,
        spout_cls: Any,
        par: int = 1,
        config: Mapping[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] = (),
    ) -> Spec:
        """A spout of this class, with so many tasks."""
        return self.add_spec(Spec(spout_cls, name, (), par, config=config, optional_outputs=optional_outputs))

    def add_bolt(
        self,
        name: str,
        bolt_cls: Any,
        par: int = 1,
        inputs: Mapping[Any, Grouping] | Iterable[Any] = (),
        config: Mapping[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] = (),
    ) -> Spec:
        """A bolt of this class, with so many tasks, and what it reads."""
        return self.add_spec(Spec(bolt_cls, name, inputs, par, config=config, optional_outputs=optional_outputs))

    def add_spec(self, spec: Spec) -> Spec:
        """A component as `spec` makes it, with a name."""
        self._specs.append(spec)
        return spec

    def set_config(self, config: Mapping[str, Any]) -> None:
        """Settings of the topology."""
        self._config.update(config)

    def createTopology(self, config: Mapping[str, Any] | None = None) -> Layout:  # noqa: N802
        """The topology, checked."""
        return laid_out(self.topology_name, map(part_of, self._specs), {**self._config, **(config or {})})

    def build_and_submit(self, **how: Any) -> Any:
        """Run it: a `RunningTopology`. More is said as to `headrace.storm.submit`: `mode="micro-batch"`."""
        from headrace.fronts.storm.spark.submit import submit

        return submit(self.createTopology(), **how)
