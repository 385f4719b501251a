"""The loop that makes batches by the clock, and who is told of them."""
