"""Card fraud, decided in milliseconds: headrace's flagship, on headrace's public names alone.

deciding   what is read and what is refused, the rules as one fused scan, windows; the three jobs, and a whole file in any mode
asking     what the jobs have stored, asked in SQL
world      made-up customers, and their fraud
page       what a person watches
demo       all of it at once, each job in a process of its own
commands   `headrace demo`, `headrace fraud`
"""
