"""What happens to one memory: it is written, found, replaced, forgotten, and what it was before is kept."""
