"""A stream of RDDs, and what can be done with it."""
