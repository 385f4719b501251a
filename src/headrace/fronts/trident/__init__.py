"""Trident in its own words: batches with a txid, functions, aggregators and states. See docs/guide/trident.md."""

from headrace.fronts.trident.builtin import (
    Count,
    CountAsAggregator,
    Debug,
    Equals,
    FilterNull,
    FirstN,
    MapGet,
    Max,
    MaxWithComparator,
    Min,
    MinWithComparator,
    Negate,
    SnapshotGet,
    Split,
    StringLength,
    Sum,
    TrueFilter,
    TupleCollectionGet,
)
from headrace.fronts.trident.grouped import GroupedStream
from headrace.fronts.trident.guarantees import EXACTLY_ONCE, Guarantee
from headrace.fronts.trident.joins import JoinOutFieldsMode, JoinType
from headrace.fronts.trident.operations import (
    Aggregator,
    BaseAggregator,
    BaseFilter,
    BaseFunction,
    BaseQueryFunction,
    BaseStateUpdater,
    CombinerAggregator,
    CustomStreamGrouping,
    GroupedMultiReducer,
    MultiReducer,
    ReducerAggregator,
    TransactionAttempt,
)
from headrace.fronts.trident.running.drpc import LocalDRPC
from headrace.fronts.trident.running.local import LocalCluster, RunningTopology
from headrace.fronts.trident.running.spark import StormSubmitter
from headrace.fronts.trident.spouts.fixed import FeederBatchSpout, FixedBatchSpout
from headrace.fronts.trident.spouts.kinds import IBatchSpout, IOpaquePartitionedTridentSpout, IPartitionedTridentSpout, IRichSpout
from headrace.fronts.trident.states.kinds import IBackingMap, MapState, State, StateFactory
from headrace.fronts.trident.states.maps import NonTransactionalMap, OpaqueMap, OpaqueValue, TransactionalMap, TransactionalValue
from headrace.fronts.trident.states.memory import LRUMemoryMapState, MemoryMapState
from headrace.fronts.trident.states.sql import PostgresMapState, SqliteMapState
from headrace.fronts.trident.states.wrappers import CachedMap, SnapshottableMap
from headrace.fronts.trident.steps.windows import (
    InMemoryWindowsStoreFactory,
    SlidingCountWindow,
    SlidingDurationWindow,
    TumblingCountWindow,
    TumblingDurationWindow,
)
from headrace.fronts.trident.streams import Stream, TridentState
from headrace.fronts.trident.topology import TridentTopology
from headrace.fronts.trident.tuples import FailedException, Fields, TridentCollector, TridentTuple, Values

__all__ = [  # noqa: RUF022 - in reading order
    "TridentTopology", "Stream", "GroupedStream", "TridentState", "LocalCluster", "RunningTopology", "StormSubmitter", "LocalDRPC",
    "Fields", "Values", "TridentTuple", "TridentCollector", "TransactionAttempt", "FailedException",
    "BaseFunction", "BaseFilter", "CombinerAggregator", "ReducerAggregator", "Aggregator", "BaseAggregator",
    "BaseQueryFunction", "BaseStateUpdater", "MultiReducer", "GroupedMultiReducer", "CustomStreamGrouping",
    "Count", "Sum", "Min", "Max", "MinWithComparator", "MaxWithComparator", "FirstN", "Debug", "Equals", "FilterNull", "Negate",
    "MapGet", "SnapshotGet", "TupleCollectionGet", "Split", "StringLength", "TrueFilter", "CountAsAggregator",
    "JoinType", "JoinOutFieldsMode",
    "TumblingCountWindow", "SlidingCountWindow", "TumblingDurationWindow", "SlidingDurationWindow", "InMemoryWindowsStoreFactory",
    "IBatchSpout", "IRichSpout", "IPartitionedTridentSpout", "IOpaquePartitionedTridentSpout", "FixedBatchSpout", "FeederBatchSpout",
    "State", "MapState", "StateFactory", "IBackingMap", "OpaqueMap", "TransactionalMap", "NonTransactionalMap", "CachedMap",
    "SnapshottableMap", "OpaqueValue", "TransactionalValue",
    "MemoryMapState", "LRUMemoryMapState", "SqliteMapState", "PostgresMapState",
    "EXACTLY_ONCE", "Guarantee",
]  # fmt: skip
