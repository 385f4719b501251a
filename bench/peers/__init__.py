"""The same work on other stream processors, in one run with headrace."""
