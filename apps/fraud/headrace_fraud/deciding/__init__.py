"""What is decided of a transaction, and the jobs that do it.

settings   the numbers of the rules            records   what is read, and what is refused
rules      the decision: one fused scan        windows   totals per minute, and what came late
jobs       the three jobs and their topics     lines     a whole file, decided in any mode
topics     made, filled from a file, removed    model     one that learns, beside the rules
"""
