"""What the jobs have stored, asked in SQL.

database   where alerts and windows are kept   tables    decisions as a table
query      one statement that only reads       sqlite, postgres   what is particular to each
"""
