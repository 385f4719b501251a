"""What a running job tells of itself."""
