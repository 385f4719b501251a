"""What is saved of a context, and how one begins with it."""
