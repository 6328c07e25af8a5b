"""Templates of strangers, rendered in a process of their own."""

from .process import Sandbox

__all__ = ["Sandbox"]
