"""Flink's DataStream and CEP in PyFlink's words, on Spark. See docs/guide/flink.md.

Names that PyFlink has are PyFlink's. What only Java's Flink has (CEP, evictors, window joins) is Java's, in Python's spelling.
"""

from headrace.fronts.flink.cep import CEP, PatternProcessFunction, PatternStream
from headrace.fronts.flink.connectors import (
    DeliveryGuarantee,
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
    SimpleStringSchema,
)  # fmt: skip
from headrace.fronts.flink.environment import JobClient, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.fronts.flink.functions import (
    AggregateFunction,
    AllWindowFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    TimeDomain,
    WindowFunction,
)  # fmt: skip
from headrace.fronts.flink.patterns import AfterMatchSkipStrategy, Pattern, SimpleCondition
from headrace.fronts.flink.rows import Row
from headrace.fronts.flink.running.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    RuntimeContext,
    ValueStateDescriptor,
)  # fmt: skip
from headrace.fronts.flink.streams.connected import BroadcastStream, ConnectedStreams
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.keyed import KeyedStream
from headrace.fronts.flink.streams.windowed import AllWindowedStream, WindowedStream
from headrace.fronts.flink.tables.environment import EnvironmentSettings, StatementSet, StreamTableEnvironment
from headrace.fronts.flink.tables.schema import Schema
from headrace.fronts.flink.tables.table import Table, TableResult
from headrace.fronts.flink.times import Duration, Time, TimestampAssigner, WatermarkStrategy
from headrace.fronts.flink.types import TypeInformation, Types
from headrace.fronts.flink.windows.assigners import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)  # fmt: skip
from headrace.fronts.flink.windows.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor
from headrace.fronts.flink.windows.policies import Count, Delta, Punctuation
from headrace.fronts.flink.windows.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
)  # fmt: skip

__all__ = [  # noqa: RUF022 - in reading order
    "StreamExecutionEnvironment", "RuntimeExecutionMode", "JobClient", "Types", "TypeInformation", "Row",
    "DataStream", "KeyedStream", "WindowedStream", "AllWindowedStream", "ConnectedStreams", "BroadcastStream",
    "WatermarkStrategy", "TimestampAssigner", "Time", "Duration", "TimeDomain",
    "MapFunction", "FlatMapFunction", "FilterFunction", "KeySelector", "ReduceFunction", "AggregateFunction",
    "ProcessFunction", "KeyedProcessFunction", "CoMapFunction", "CoFlatMapFunction", "CoProcessFunction", "KeyedCoProcessFunction",
    "BroadcastProcessFunction", "KeyedBroadcastProcessFunction", "ProcessJoinFunction", "JoinFunction", "CoGroupFunction",
    "WindowFunction", "AllWindowFunction", "ProcessWindowFunction", "ProcessAllWindowFunction", "OutputTag", "RuntimeContext",
    "ValueStateDescriptor", "ListStateDescriptor", "MapStateDescriptor", "ReducingStateDescriptor", "AggregatingStateDescriptor",
    "WindowAssigner", "MergingWindowAssigner", "TimeWindow", "GlobalWindow", "TumblingEventTimeWindows", "SlidingEventTimeWindows",
    "EventTimeSessionWindows", "DynamicEventTimeSessionWindows", "TumblingProcessingTimeWindows", "SlidingProcessingTimeWindows",
    "ProcessingTimeSessionWindows", "DynamicProcessingTimeSessionWindows", "SessionWindowTimeGapExtractor", "GlobalWindows",
    "Trigger", "TriggerResult", "EventTimeTrigger", "ProcessingTimeTrigger", "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger", "CountTrigger", "DeltaTrigger", "PurgingTrigger", "NeverTrigger",
    "Evictor", "CountEvictor", "TimeEvictor", "DeltaEvictor", "Count", "Delta", "Punctuation",
    "CEP", "Pattern", "PatternStream", "PatternProcessFunction", "SimpleCondition", "AfterMatchSkipStrategy",
    "KafkaSource", "KafkaSink", "KafkaOffsetsInitializer", "KafkaTopicPartition", "KafkaRecordSerializationSchema", "DeliveryGuarantee",
    "StreamTableEnvironment", "EnvironmentSettings", "Schema", "Table", "TableResult", "StatementSet",
    "SimpleStringSchema", "JsonRowDeserializationSchema", "JsonRowSerializationSchema",
]  # fmt: skip
