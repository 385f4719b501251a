"""How a question is answered: processes, topics, load from outside, turns, and what the host takes away."""
