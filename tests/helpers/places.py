"""Where things lie: the checkout, its tests, and data that only some machines have."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "promptforge"
TESTS = ROOT / "tests"
DATA = TESTS / "data"
GOLDEN = TESTS / "golden"
HELPERS = TESTS / "helpers"
SHARED_DATA = ROOT.parent / "shared" / "data"
"""Data beside the checkout: tests that want it are skipped without."""
