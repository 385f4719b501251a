"""How the batches of a topology run: in this process, or on Spark."""
