"""Near duplicates become one memory, and can be told apart again."""
