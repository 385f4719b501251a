"""The text of a query: its words, its clauses, what stands in them."""
