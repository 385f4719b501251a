"""How fast, and against what; answers must be equal before a time counts.

questions    what `python -m bench` asks, a question a file
work         the work that is measured, in the words of each way to do it
measuring    how it is measured: processes, topics, load from outside, turns
reporting    answers, tables and pictures
results      what was measured last

What else stands here is a program of its own: `python -m bench.peers`, `.nexmark`, `.faults`, `.storm_words`, `.database_sink`.
"""
