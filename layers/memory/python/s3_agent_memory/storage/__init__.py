"""Object storage: one port, its adapters, and the bounded retry loop that every conditional write goes through."""
