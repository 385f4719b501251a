"""What is known of a key when a record of it comes: features, all of one key in one scan.

    with_features(transactions, keys="customer", time="ts", features={
        "previous_max": running(F.max("amount")),
        "recent": within("10 seconds", F.count("*")),
    })

Each feature is a value as it was *before* the record; `inclusive=True` counts the record itself too. `.only(condition)` counts only the
records for which the condition holds. A feature may mention others of the same call by their names, in its condition, its aggregate or its
column: it sees the value that they have for this record. Features add fields to one state row, so however many there are, a record costs
one shuffle, one read and one write of state.
"""

from __future__ import annotations

from headrace.ops.features.adding import ANSWERS, check_options, others_of, with_features
from headrace.ops.features.by_number import last_n, previous, running, since
from headrace.ops.features.by_time import recent, seen_before, within
from headrace.ops.features.feature import Feature
from headrace.ops.features.other_streams import latest

__all__ = [
    "ANSWERS", "Feature", "check_options", "last_n", "latest", "others_of", "previous", "recent", "running", "seen_before", "since",
    "with_features", "within",
]  # fmt: skip
