"""Faults on purpose: a keyed job is killed, frozen, starved and lied to, and what is in its sinks is compared with what must be there."""
