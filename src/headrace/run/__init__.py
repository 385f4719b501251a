"""Running jobs: the session, the modes, progress."""
