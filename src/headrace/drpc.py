"""Functions that a stream computes and any program may call: see `headrace.fronts.drpc`."""

from headrace.fronts.drpc import *  # noqa: F403
from headrace.fronts.drpc import __all__ as __all__
