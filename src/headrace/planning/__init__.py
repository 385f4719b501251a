"""What a job will do, known before it runs: its recipe, the one table of modes, which outputs share a query."""
