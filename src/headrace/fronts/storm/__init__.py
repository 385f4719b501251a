"""Storm and Heron in their own words: spouts, bolts, groupings and acks, in Python, on Spark. See docs/guide/storm.md."""

from headrace.fronts.storm.builder import TopologyBuilder
from headrace.fronts.storm.components import BatchingBolt, Bolt, FailedException, ReliableSpout, Spout, TicklessBatchingBolt
from headrace.fronts.storm.flux import load_flux
from headrace.fronts.storm.groupings import Grouping
from headrace.fronts.storm.kafka import KafkaBolt, KafkaSpout
from headrace.fronts.storm.layout import Stream
from headrace.fronts.storm.local import FeederSpout, LocalCluster, Results, complete_topology, multiset_eq, read_tuples
from headrace.fronts.storm.multilang import ShellBolt
from headrace.fronts.storm.rich import BaseBasicBolt, BaseRichBolt, BaseRichSpout, Fields, Values
from headrace.fronts.storm.state import BaseStatefulBolt, KeyValueState, StatefulBolt
from headrace.fronts.storm.submit import Reliability, RunningTopology, submit
from headrace.fronts.storm.topology import InvalidTopologyException, Topology
from headrace.fronts.storm.tuples import Tuple
from headrace.fronts.storm.windows import BaseWindowedBolt, Count, Duration, TupleWindow

__all__ = [  # noqa: RUF022 - in reading order
    "Spout", "ReliableSpout", "Bolt", "BatchingBolt", "TicklessBatchingBolt", "Stream", "Tuple", "Grouping", "Topology", "FailedException",
    "TopologyBuilder", "BaseRichSpout", "BaseRichBolt", "BaseBasicBolt", "Fields", "Values", "InvalidTopologyException",
    "BaseWindowedBolt", "TupleWindow", "Count", "Duration", "StatefulBolt", "BaseStatefulBolt", "KeyValueState",
    "complete_topology", "read_tuples", "multiset_eq", "Results", "LocalCluster", "FeederSpout",
    "submit", "RunningTopology", "Reliability", "KafkaSpout", "KafkaBolt", "ShellBolt", "load_flux",
]  # fmt: skip
