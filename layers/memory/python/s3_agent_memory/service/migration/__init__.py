"""Memories enter from other systems."""
