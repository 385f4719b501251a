"""The testing kit: text tables, a memory source, a clock, and an operator run in every execution shape."""

from headrace.testing.clocks import ManualClock
from headrace.testing.memory import FedSource
from headrace.testing.microbatches import MicroBatches
from headrace.testing.recipes import between
from headrace.testing.results import Result
from headrace.testing.tables import assert_table, table

__all__ = ["FedSource", "ManualClock", "MicroBatches", "Result", "assert_table", "between", "table"]
