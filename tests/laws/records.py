"""The records that the laws are tried with."""

from __future__ import annotations

from datetime import timedelta

from headrace.testing.clocks import START

SCHEMA = "customer string, amount double, ts timestamp"
END = [("closing", amount, START + timedelta(days=1)) for amount in (0.0, -1.0)]  # for both streams of `located`

DELAY = "15 seconds"
NOT_CLOSING = "main.customer IS NULL OR main.customer <> 'closing'"
