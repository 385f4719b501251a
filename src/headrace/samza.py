"""Samza in its own words: `from headrace.samza import StreamTask, SystemStream, TestRunner`."""

from headrace.fronts.samza import *  # noqa: F403
from headrace.fronts.samza import __all__  # noqa: F401
