"""Heron in its own words: the Streamlet API and the Topology API of its Python; on what `headrace.storm` has."""

from headrace.fronts.storm import Bolt, Grouping, KeyValueState, Reliability, Spout, StatefulComponent, Stream, Topology
from headrace.fronts.storm.components.heron import Context, KeyedWindow, SlidingWindowBolt, TumblingWindowBolt, Window, WindowContext
from headrace.fronts.storm.topologies.heron import TopologyBuilder, api_constants
from headrace.fronts.storm.topologies.streamlets import (
    ArrayLooper,
    Builder,
    Config,
    Generator,
    Runner,
    Streamlet,
    TransformOperator,
    WindowConfig,
)

__all__ = [  # noqa: RUF022 - in reading order
    "Builder", "Streamlet", "Config", "Runner", "WindowConfig", "Window", "KeyedWindow", "Generator", "ArrayLooper", "TransformOperator",
    "Context", "TopologyBuilder", "Topology", "Spout", "Bolt", "StatefulComponent", "KeyValueState", "SlidingWindowBolt",
    "TumblingWindowBolt", "WindowContext", "Grouping", "Stream", "Reliability", "api_constants",
]  # fmt: skip
