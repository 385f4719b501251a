"""Apache Beam: its pipelines, unchanged, on Spark by headrace.

import apache_beam as beam
from headrace.beam import HeadraceRunner

with beam.Pipeline(runner=HeadraceRunner("micro-batch")) as pipeline:
    pipeline | beam.Create(["to be", "or not to be"]) | beam.FlatMap(str.split) | beam.combiners.Count.PerElement() | beam.Map(print)
"""

from __future__ import annotations

import logging

from headrace.errors import SetupError

logging.disable(logging.WARNING)  # Beam tells, in each process, that it has no clients for Google's services
try:
    import apache_beam as _apache_beam  # noqa: F401 - only whether it is there
except ImportError as _missing:
    raise SetupError("headrace.beam needs Apache Beam", fix="pip install 'headrace[beam]'") from _missing
finally:
    logging.disable(logging.NOTSET)

from headrace.fronts.beam.runner import HeadraceResult, HeadraceRunner  # noqa: E402 - behind the check
from headrace.fronts.beam.transforms import ReadFromStream, WriteToStream  # noqa: E402

__all__ = ["HeadraceResult", "HeadraceRunner", "ReadFromStream", "WriteToStream"]
