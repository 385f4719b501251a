"""A made-up world of customers, cards, phones and shops, and the frauds in it: seeded, at any rate, its ground truth kept aside.

    from headrace_fraud import world
    for event in world.events(seed=1, rate=1000, events=10_000): ...

`world.files` writes it to a file, `world.send` to Kafka at its rate, `world.truth` says how well the rules found the frauds.
"""

from __future__ import annotations

from headrace_fraud.world.shops import Merchant, merchants
from headrace_fraud.world.stream import events
from headrace_fraud.world.times import START
from headrace_fraud.world.truth import Truth, score
from headrace_fraud.world.world import Event, World

__all__ = ["START", "Event", "Merchant", "Truth", "World", "events", "merchants", "score"]
