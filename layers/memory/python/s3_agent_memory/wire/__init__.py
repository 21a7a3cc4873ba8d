"""Messages of the HTTP API: the shapes that cross the wire, and nothing else."""
