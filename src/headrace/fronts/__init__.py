"""Spellings of the same operators."""
