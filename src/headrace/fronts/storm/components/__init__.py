"""What a program writes: spouts and bolts, in the dialects and kinds that Storm has."""
