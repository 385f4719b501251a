"""Kafka: its source, its sink, and the client that looks after topics."""
