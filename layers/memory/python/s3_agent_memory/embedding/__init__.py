"""Turning texts into vectors: the port, what every embedder is held to, and the adapters."""
