"""From bytes to records and back."""
