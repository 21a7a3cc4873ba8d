"""Vectors in immutable shards, and the nearest of them."""
