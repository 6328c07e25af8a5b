"""The command line."""

import sys


def start() -> None:
    """Run the command line and exit; Ctrl-C ends it with code 130 also while modules load."""
    try:
        from .main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)  # 128 and the number of the signal, as shells have it
