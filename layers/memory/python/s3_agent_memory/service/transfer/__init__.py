"""Memories leave and enter as lines of JSON, a million at a time."""
