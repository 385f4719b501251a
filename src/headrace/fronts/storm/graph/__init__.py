"""What a topology is: components and their tasks, streams and groupings, tuples."""
