"""One conversation as it is stored: its window, its batches, and the memories that come of it."""
