"""How fast, and against what: one question a file, answered by `python -m bench`; answers must be equal before a time counts."""
