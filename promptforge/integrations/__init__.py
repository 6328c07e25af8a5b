"""Bridges into frameworks; each is imported only where you ask for it, and needs its extra."""
