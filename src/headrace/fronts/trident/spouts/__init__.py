"""Where batches come from."""
