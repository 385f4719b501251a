"""Databases: PostgreSQL, MySQL or MariaDB, and SQLite. One file each for what differs; what a transaction holds is in transactions.py."""
