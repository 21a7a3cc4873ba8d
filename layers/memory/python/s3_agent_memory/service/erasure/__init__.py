"""Everything of a namespace or a principal is removed, with a report of it."""
