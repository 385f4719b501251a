"""The work that is measured, in the words of each way to do it."""
