"""Summingbird in its own words: `from headrace.summingbird import SUM, Batcher, MemoryStore, source`."""

from headrace.fronts.summingbird import *  # noqa: F403
from headrace.fronts.summingbird import __all__  # noqa: F401
