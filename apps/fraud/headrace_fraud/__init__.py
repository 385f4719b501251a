"""Card fraud, decided in milliseconds: headrace's flagship, on headrace's public names alone.

settings   the numbers of the rules            records   what is read, and what is refused
rules      the decision: one fused scan        windows   totals per minute, and what came late
jobs       the three jobs and their topics     lines     a whole file, decided in any mode
database   where alerts and windows are kept   query     asked in SQL
world      made-up customers, and their fraud  page      what a person watches
worker     a job in a process of its own       rehearsal how it gets warm before the first record
steady     latencies, warm-up told apart       panels    when the page had something to show
demo       all of it at once                   commands  `headrace demo`, `headrace fraud`
"""
