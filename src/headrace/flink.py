"""Flink in its own words: `from headrace.flink import StreamExecutionEnvironment, Types, WatermarkStrategy`."""

from headrace.fronts.flink import *  # noqa: F403
from headrace.fronts.flink import __all__  # noqa: F401
