"""`python -m promptforge`."""

from .cli import start

start()
