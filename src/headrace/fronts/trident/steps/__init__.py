"""What the operations do with the tuples of one partition."""
