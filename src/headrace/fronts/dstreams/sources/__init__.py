"""Where streams begin."""
