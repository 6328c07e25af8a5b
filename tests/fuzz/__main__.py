"""Fuzz a target: `python -m tests.fuzz TARGET --seconds 300`, which needs `pip install '.[fuzz]'`.

Bytes are made that reach ever more of promptforge's code; those that break a promise are kept in a file and printed.
`--again FILE` runs these alone, without atheris.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import tempfile
from pathlib import Path

ASIDE = {"__main__", "drawing"}
"""Modules here that are no targets."""
LONGEST = 2000
"""Bytes of one case."""


def main() -> int:
    """Fuzz what the command line names."""
    folder = Path(__file__).parent
    names = sorted({m.name for m in pkgutil.iter_modules([str(folder)])} - ASIDE)
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=names)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--corpus",
        metavar="DIR",
        help="where cases that reach something new are kept, and taken from",
    )
    parser.add_argument("--again", metavar="FILE", help="run the bytes of this file")
    given = parser.parse_args()
    if given.again:
        importlib.import_module(f".{given.target}", __package__).one(Path(given.again).read_bytes())
        return 0
    try:
        import atheris
    except ImportError:
        print("tests.fuzz: atheris is not installed: pip install '.[fuzz]'", file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["promptforge"]):
        one = importlib.import_module(f".{given.target}", __package__).one
    with tempfile.TemporaryDirectory() as new:
        flags = [
            f"-max_total_time={given.seconds}",
            f"-seed={given.seed}",
            f"-max_len={LONGEST}",
            "-timeout=60",
        ]
        flags += ["-rss_limit_mb=4096", f"-artifact_prefix={given.target}-", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], *flags, given.corpus or new], one)
        atheris.Fuzz()
    return 0


TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]
if __name__ == "__main__":
    sys.exit(main())
