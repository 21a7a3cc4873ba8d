"""Memory inside the frameworks that agents are written with; each needs the extra of its name."""
