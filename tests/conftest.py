"""`--update-golden` rewrites `tests/golden/cases`, never where `CI` is set; `--effort N`: see `example_counts`."""

from __future__ import annotations

import functools
import itertools
import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage
from hypothesis import settings

pytest_plugins = ["batch_runs", "preview_browser"]  # fixtures: one browser for all that want one

VARIABLES_OF_TESTS = {"PROMPTFORGE_CASES", "PROMPTFORGE_SCREENSHOTS"}
WATCHED = 8
"""Examples of a law that coverage sees: the rest reach the same code at thrice the cost."""

PROCESSES_WATCHED = "COVERAGE_PROCESS_CONFIG"
"""Coverage sets it: a Python process that starts with it is watched too."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden/cases/*/expected.txt"
    )
    parser.addoption(
        "--effort", metavar="N", type=float, help="N times as many examples of every property"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--effort"):
        os.environ["PROMPTFORGE_CASES"] = str(
            config.getoption("--effort")
        )  # before any test is imported
    effort = float(os.environ.get("PROMPTFORGE_CASES", "1"))
    settings.register_profile(
        "promptforge",
        max_examples=max(1, int(100 * effort / 2)),  # as `cases(100)`
        deadline=None,  # slow is no bug
        derandomize=effort <= 1,  # above: other examples each run; else a commit has one result
    )
    settings.load_profile("promptforge")
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError(
            "--update-golden is refused where CI is set: change expected texts by hand, and read"
        )
    for name in ("CI", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)  # the commands under test look at them too
    for name in [name for name in os.environ if name.startswith("PROMPTFORGE_")]:
        if name not in VARIABLES_OF_TESTS:  # the developer's own options are not under test
            del os.environ[name]
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = (
        "false"  # its thread logs in the midst of other tests
    )
    settings_folder = tempfile.TemporaryDirectory()  # `init` writes to the user's list of projects
    config.add_cleanup(settings_folder.cleanup)
    os.environ["XDG_CONFIG_HOME"] = os.environ["APPDATA"] = settings_folder.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch nothing of an `unwatched` test: its fixtures, itself, the processes that they start."""
    watcher = Coverage.current()
    if watcher is None or not item.get_closest_marker("unwatched"):
        return (yield)
    processes = os.environ.pop(PROCESSES_WATCHED, None)
    watcher.stop()
    try:
        return (yield)
    finally:
        watcher.start()
        if processes is not None:
            os.environ[PROCESSES_WATCHED] = processes


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the first examples of a law alone; then watch again."""
    law = getattr(getattr(item, "obj", None), "hypothesis", None)
    watcher = Coverage.current()
    if law is None or watcher is None or item.get_closest_marker("unwatched"):
        return (yield)
    whole = law.inner_test
    law.inner_test, seen = _watched_at_first(whole, watcher)
    try:
        return (yield)
    finally:
        law.inner_test = whole
        if next(seen) > WATCHED:
            watcher.start()


def _watched_at_first(
    test: Callable[..., Any], watcher: Coverage
) -> tuple[Callable[..., Any], Iterator[int]]:
    seen = itertools.count()

    @functools.wraps(test)
    def example(*args: Any, **values: Any) -> Any:
        if next(seen) == WATCHED:
            watcher.stop()
        return test(*args, **values)

    return example, seen


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """A failure may show a lone surrogate, which no report can carry to another process."""
    return _sound((yield))


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sound(key): _sound(each) for key, each in value.items()}
    return type(value)(map(_sound, value)) if isinstance(value, list | tuple) else value


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
