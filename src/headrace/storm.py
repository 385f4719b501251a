"""Storm and Heron in their own words: `from headrace.storm import Bolt, Grouping, Spout, Topology`."""

from headrace.fronts.storm import *  # noqa: F403
from headrace.fronts.storm import __all__  # noqa: F401
