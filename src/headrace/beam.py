"""Apache Beam's pipelines on headrace: `from headrace.beam import HeadraceRunner`."""

from headrace.fronts.beam import *  # noqa: F403
from headrace.fronts.beam import __all__  # noqa: F401
