"""Trident in its own words: `from headrace.trident import Count, Fields, MemoryMapState, Split, TridentTopology`."""

from headrace.fronts.trident import *  # noqa: F403
from headrace.fronts.trident import __all__  # noqa: F401
