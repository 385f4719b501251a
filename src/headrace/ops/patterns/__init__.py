"""Patterns: what follows what among the records of a key, and what does not."""
