"""A topology as a Spark query, with a process of its spouts."""
