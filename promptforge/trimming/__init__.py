"""Shorter variants of one item, a module for each kind."""
