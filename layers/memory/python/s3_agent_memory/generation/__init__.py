"""Generating text with a language model: the port, what a run may spend, and the adapters."""
