"""How a task works, wherever it runs: routing, acks, replay."""
