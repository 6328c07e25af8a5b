"""Bridges into the frameworks people use: each is imported only when it is asked for, and needs its extra."""
