"""What the product does: each module is one service over the storage port, without knowing which storage it is."""
