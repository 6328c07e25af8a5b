"""A plug-in of pytest: it collects the cases of `tests/*.yaml` and runs them as `promptforge test`.

Templates and profiles come from the folders that a case names, then from `templates` and `profiles`
in the root folder of the run. Other YAML files are left to others, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..files import YAML_SUFFIXES

if TYPE_CHECKING:
    from .golden import GoldenCase


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return a collector for a file of cases in a folder `tests`, else None."""
    if file_path.suffix not in YAML_SUFFIXES or file_path.parent.name != "tests":
        return None
    from .golden import is_cases_file  # late: most runs have no such file

    if not is_cases_file(file_path):
        return None
    return CasesFile.from_parent(parent, path=file_path)


class CasesFile(pytest.File):
    """A file of cases; each is a test."""

    def collect(self) -> Iterator[pytest.Item]:  # noqa: D102
        from .golden import load_cases

        for case in load_cases(self.path):
            yield CaseItem.from_parent(self, name=case.name, case=case)


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: GoldenCase, **given: Any) -> None:
        super().__init__(**given)
        self.case = case

    def runtest(self) -> None:
        """Render the case; fail with the differences from what it expects."""
        from .golden import run_case

        places = [self.config.rootpath / name for name in ("templates", "profiles")]
        templates, profiles = ([place] if place.is_dir() else [] for place in places)
        outcome = run_case(self.case, templates, profiles)
        if outcome.problems:
            pytest.fail("\n".join(outcome.problems), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, the line from 0 and the name of the case."""
        return self.path, self.case.line - 1, self.name
