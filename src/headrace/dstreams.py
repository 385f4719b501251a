"""Spark Streaming's DStreams, by their own names: see `headrace.fronts.dstreams`."""

from headrace.fronts.dstreams import *  # noqa: F403
from headrace.fronts.dstreams import __all__ as __all__
