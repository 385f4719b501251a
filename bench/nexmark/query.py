"""A query of Nexmark: a program of headrace, and the SQL whose answer it must give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace import Stream


@dataclass(frozen=True)
class Query:
    """
    title      what is asked
    program    from the stream of all events to the result
    answer     the result as DuckDB has it, over the tables `person`, `auction` and `bid`; their column `arrival` is the place in the stream
    latest_by  the program gives updates of a table with this key: the last row of each counts. Empty: every row counts
    real_time  why real-time mode does not have it; empty if it does
    by_clock   the answer depends on when a bid is processed: the column `clock` of the tables
    """

    title: str
    program: Callable[[Stream], Stream]
    answer: str
    latest_by: tuple[str, ...] = ()
    real_time: str = ""
    by_clock: bool = False


Queries = Mapping[str, Query]

SEVERAL_STATES = "it needs one state behind another, and a query has one state there"
