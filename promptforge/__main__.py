"""`python -m promptforge`."""

from .cli.main import main

main()
