"""Windows: how a stream is cut, when a window fires, what is left out."""
