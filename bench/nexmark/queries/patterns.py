"""Patterns among the bids of one user on one auction, in the order of their time. They have no answer to be compared with yet.

Repetitions are greedy as Flink's are: what could be one more of them is not taken by what follows.
"""

from __future__ import annotations

from bench.nexmark.events import bids
from bench.nexmark.generator import DELAY
from headrace import Stream, step

MOST = 100_000


def valley(events: Stream) -> Stream:
    falls = step("first").next("down", "price < coalesce(down.price, first.price)").one_or_more().consecutive().greedy()
    return bids(events).key_by("auction", "bidder").match(
        falls.next("up", "price > down.price"), skip="to last up", event_time="dateTime", delay=DELAY, most=MOST,
        output=["first.dateTime AS start_time", "down.dateTime AS bottom", "up.dateTime AS end_time"],
    )  # fmt: skip


def cheap(events: Stream, skip: str) -> Stream:
    low = step("low", "(coalesce(sum(low.price), 0) + price) / (count(low.*) + 1) < 10000").one_or_more().consecutive().greedy()
    return bids(events).key_by("auction", "bidder").match(
        low.next("other"), skip=skip, event_time="dateTime", delay=DELAY, most=MOST,
        output=["first(low.dateTime) AS start_time", "low.dateTime AS end_time", "avg(low.price) AS average"],
    )  # fmt: skip


def drop(events: Stream) -> Stream:
    near = step("first").next("near", "price > first.price - 50").one_or_more().optional().consecutive().greedy()
    return bids(events).key_by("auction", "bidder").match(
        near.next("far", "price < first.price - 50").within("5 seconds"), skip="past last", event_time="dateTime", delay=DELAY,
        output=["first.dateTime AS start_time", "far.dateTime AS end_time", "first.price AS before", "far.price AS after"],
    )  # fmt: skip


PROGRAMS = {
    "cep0": valley,
    "cep1": lambda events: cheap(events, "past last"),
    "cep2": lambda events: cheap(events, "to next"),
    "cep3": drop,
}
