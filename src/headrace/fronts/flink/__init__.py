"""Flink's DataStream in PyFlink's words, on Spark. See docs/guide/flink.md."""
