"""Merged into `worth`."""
