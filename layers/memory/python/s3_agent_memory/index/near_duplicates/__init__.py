"""Which memories say the same."""
