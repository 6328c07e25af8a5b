"""`python -m promptforge`."""

from .cli import main

main()
