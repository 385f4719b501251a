"""Python functions in the scan, and in single records."""
