"""What a caller does with conversations, and what happens to them later."""
