"""Native expressions of headrace's own, as columns: the clock, the age of a record, text and rows that Spark has no function for."""
