"""The index as it is stored: its manifest, its files, what a process keeps of them, and how they are read."""
