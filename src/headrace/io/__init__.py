"""Connectors: one file each, its delivery guarantee stated first."""
