"""What outlives a batch: kinds of maps, the stores below them, and what updates them."""
