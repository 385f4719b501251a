"""Spark Streaming's model, DStreams, by its own names: `from headrace.dstreams import StreamingContext`.

A stream is one RDD of Python objects for each interval of the driver's clock. The engine is headrace's own (`engine.py`), on Spark's
RDDs; of `pyspark.streaming` nothing is used. What maps to what: docs/guide/dstreams.md.
"""

from headrace.fronts.dstreams.batches.clocks import ManualClock
from headrace.fronts.dstreams.batches.listeners import StreamingListener
from headrace.fronts.dstreams.context import StreamingContext, StreamingContextState
from headrace.fronts.dstreams.sources.gone import TwitterUtils
from headrace.fronts.dstreams.sources.kafka import KafkaUtils, OffsetRange, TopicAndPartition, utf8_decoder
from headrace.fronts.dstreams.sources.kafka_tasks import KafkaMessageAndMetadata
from headrace.fronts.dstreams.sources.receivers import Receiver
from headrace.fronts.dstreams.streams.dstream import DStream, MapWithStateDStream
from headrace.fronts.dstreams.streams.states import StateSpec
from headrace.fronts.dstreams.streams.tasks import State, StateError
from headrace.fronts.dstreams.times import Milliseconds, Minutes, Seconds

__all__ = [  # noqa: RUF022 - in reading order
    "StreamingContext", "StreamingContextState", "DStream", "MapWithStateDStream", "StreamingListener",
    "StateSpec", "State", "StateError", "Receiver",
    "KafkaUtils", "OffsetRange", "TopicAndPartition", "KafkaMessageAndMetadata", "utf8_decoder", "TwitterUtils",
    "Seconds", "Minutes", "Milliseconds", "ManualClock",
]  # fmt: skip
