"""Shorter forms of one item, a file a kind."""
