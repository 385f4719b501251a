"""Nexmark: an auction house as one stream of events, 23 queries and four patterns over it, and their answers by DuckDB.

make nexmark                                              # a table: events/s, per core, memory, equal or not
.venv/bin/python -m bench.nexmark q5 q18 --json           # some of them, as JSON
"""
