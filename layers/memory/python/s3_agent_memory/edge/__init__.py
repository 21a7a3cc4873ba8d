"""Edges: where the library meets the world (command line, HTTP, AWS events)."""
