"""All of the flagship at once on one machine.

demo       what `headrace demo` starts          supervisor  the jobs, and their new starts
worker     a job in a process of its own        processes   children, their memory and their end
rehearsal  how a job gets warm before the first record
steady     latencies, warm-up told apart        panels      when the page had something to show
"""
