"""The streams of a program: what is done with records, windows and pairs."""
