"""Models that learn from each record of a key: see `headrace.fronts.learning`."""

from headrace.fronts.learning import *  # noqa: F403
from headrace.fronts.learning import __all__ as __all__
