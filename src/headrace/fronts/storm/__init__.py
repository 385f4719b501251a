"""Storm and Heron in their own words: spouts, bolts, groupings and acks, in Python, on Spark. See docs/guide/storm.md."""

from headrace.fronts.storm.components.cutting import Count, Duration, TupleWindow
from headrace.fronts.storm.components.feeding import FeederSpout
from headrace.fronts.storm.components.kafka import KafkaBolt, KafkaSpout
from headrace.fronts.storm.components.multilang import ShellBolt, ShellSpout
from headrace.fronts.storm.components.rich import BaseBasicBolt, BaseRichBolt, BaseRichSpout, Fields, Values
from headrace.fronts.storm.components.state import BaseStatefulBolt, IStatefulComponent, StatefulBolt, StatefulComponent, StatefulSpout
from headrace.fronts.storm.components.stateful_windows import BaseStatefulWindowedBolt
from headrace.fronts.storm.components.streamparse import BatchingBolt, Bolt, ReliableSpout, Spout, TicklessBatchingBolt
from headrace.fronts.storm.components.windows import BaseWindowedBolt
from headrace.fronts.storm.graph.groupings import Grouping
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.reliability import Reliability
from headrace.fronts.storm.graph.tuples import Tuple
from headrace.fronts.storm.local import LocalCluster, Results, complete_topology, multiset_eq, read_tuples
from headrace.fronts.storm.spark.submit import RunningTopology, submit
from headrace.fronts.storm.tasks.bolts import FailedException
from headrace.fronts.storm.tasks.state import KeyValueState
from headrace.fronts.storm.topologies.builder import TopologyBuilder
from headrace.fronts.storm.topologies.flux import load_flux
from headrace.fronts.storm.topologies.topology import InvalidTopologyException, Topology

__all__ = [  # noqa: RUF022 - in reading order
    "Spout", "ReliableSpout", "Bolt", "BatchingBolt", "TicklessBatchingBolt", "Stream", "Tuple", "Grouping", "Topology", "FailedException",
    "TopologyBuilder", "BaseRichSpout", "BaseRichBolt", "BaseBasicBolt", "Fields", "Values", "InvalidTopologyException",
    "BaseWindowedBolt", "TupleWindow", "Count", "Duration", "BaseStatefulWindowedBolt",
    "StatefulComponent", "StatefulBolt", "StatefulSpout", "BaseStatefulBolt", "IStatefulComponent", "KeyValueState",
    "complete_topology", "read_tuples", "multiset_eq", "Results", "LocalCluster", "FeederSpout",
    "submit", "RunningTopology", "Reliability", "KafkaSpout", "KafkaBolt", "ShellBolt", "ShellSpout", "load_flux",
]  # fmt: skip
