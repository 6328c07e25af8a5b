"""The tiers of the tests, and what every test finds around it.

`pytest` runs the quick tests, with few examples of each law; `-m "not nightly"` the slow ones
too, and `-m "slow or not slow"` all tests.
`--update-golden` rewrites `tests/golden/cases`, never where `CI` is set; `--effort N`: see
`example_counts`; `--passed FILE`: see `PassedTests`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import promptforge as pf
import promptforge.cli.main
from promptforge.syntax.syntaxes import FORMAT_EXTENSIONS
from promptforge.tokenizers import bpe
from promptforge.tokenizers.bpe import make_encoding

pytest_plugins = [
    "batch_runs",
    "git_space",
    "preview_browser",
]  # fixtures: one browser for all that want one

VARIABLES_OF_TESTS = {"PROMPTFORGE_CASES", "PROMPTFORGE_SCREENSHOTS"}
WATCHED = 8
"""Examples of a law that coverage sees: the rest reach the same code at thrice the cost."""

QUICK = "not slow"
"""The marks of the plain command, as pyproject.toml sets them."""
GATE = "not nightly"
"""The marks of `.ci/run`."""
QUICK_EFFORT = 0.2
"""Share of the examples of each law that the plain command tries."""
MAX_SECONDS = 0.2
"""Processor time that a test without the mark `slow` may take, its processes included."""
SLACK = 6
"""Factor on it, for what the first test in a process loads."""
MODULES_OF_A_LIBRARY = 50
"""A test that imports more is the first to use an SDK, and is not judged by what that takes."""
MAX_LOAD = 1.6
"""Load of the last minute for each core above which no test fails for its time."""
REFERENCE_SECONDS = 0.008
"""Processor time of `_reference` on the machine where `MAX_SECONDS` was chosen, while idle."""
ALL = 'pytest -n auto --dist worksteal -m "slow or not slow"'
"""The command that runs what the plain one leaves out."""

PROCESSES_WATCHED = "COVERAGE_PROCESS_CONFIG"
"""Coverage sets it: a Python process that starts with it is watched too."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/golden/cases/*/expected.txt"
    )
    parser.addoption(
        "--effort",
        metavar="N",
        type=float,
        help="N times as many examples of every property; below 1 as few parameters of slow tests",
    )
    parser.addoption(
        "--passed",
        metavar="FILE",
        type=Path,
        help="the plain command writes what passed there; any other does not run that again",
    )


def pytest_configure(config: pytest.Config) -> None:
    asked = config.getoption("--effort")
    if asked is None and config.option.markexpr == QUICK:
        asked = os.environ.get("PROMPTFORGE_CASES", QUICK_EFFORT)
    if asked is not None:
        os.environ["PROMPTFORGE_CASES"] = str(asked)  # before any test is imported
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
    if config.option.passed and config.option.markexpr == QUICK and not _is_worker(config):
        config.pluginmanager.register(PassedTests(config.option.passed))
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # as a shell starts what is in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests send it to their processes
    vars(bpe)["make_encoding"] = _make_encoding
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(FromWorkers())
    settings_folder = tempfile.TemporaryDirectory()  # `init` writes to the user's list of projects
    config.add_cleanup(settings_folder.cleanup)
    for name in ("XDG_CONFIG_HOME", "APPDATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        os.environ[name] = settings_folder.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark nightly tests as slow, and those with a browser: its processor time is not seen."""
    for item in items:
        if item.get_closest_marker("nightly") or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    if config.option.markexpr == GATE:
        _leave_parameters_to_the_night(config, items)
    if config.option.passed and config.option.markexpr != QUICK:
        passed = set(json.loads(config.option.passed.read_text(encoding="utf-8")))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


def _leave_parameters_to_the_night(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take as many parameters of slow tests as examples of laws, and at least three of each.

    They are spread evenly, from the first to the last.
    """
    effort = float(os.environ.get("PROMPTFORGE_CASES", "1"))
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("nightly"):
            groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left: set[pytest.Item] = set()
    for group in groups.values():
        taken = max(3, round(len(group) * effort))
        if taken < len(group):
            steps = {number * (len(group) - 1) // (taken - 1) for number in range(taken)}
            left.update(item for number, item in enumerate(group) if number not in steps)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def _is_worker(config: pytest.Config) -> bool:
    """Tell whether xdist has started this process."""
    return hasattr(config, "workerinput")


class PassedTests:
    """The names of tests that need not run again: laws are not among them, nor what was skipped.

    `.ci/run` runs the plain command before all tests, which have more examples and all extras.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and "hypothesis" not in report.keywords:
            self._names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._path.write_text(json.dumps(self._names), encoding="utf-8")


def pytest_collection_finish() -> None:
    """Do once what would be in the time of the first test that does it.

    The first rendering loads vocabularies and templates, the first law reads the constants of all
    modules, and each look for garbage looks at ten thousand collected tests (.3 s).
    """
    for syntax in FORMAT_EXTENSIONS:
        pf.render([{"content": "x = 1\n", "path": "a.py"}], format=syntax, query="x")
    _first_law()
    gc.collect()
    gc.freeze()


@settings(max_examples=2, database=None)
@given(st.text() | st.integers() | st.binary())
def _first_law(_: object) -> None:
    pass


_left_out = pytest.StashKey[int]()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count the slow tests that this run leaves out."""
    if items:
        stash = items[0].config.stash
        slow = sum(item.get_closest_marker("slow") is not None for item in items)
        stash[_left_out] = stash.get(_left_out, 0) + slow


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the count of a worker of xdist to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(_left_out, 0)


class FromWorkers:
    """What only a run with xdist has: its workers hand over what they left out."""

    def pytest_testnodedown(self, node: Any) -> None:
        """Every worker collects all tests, so that one count is that of all."""
        left_out = getattr(node, "workeroutput", {}).get("left_out", 0)
        node.config.stash[_left_out] = max(left_out, node.config.stash.get(_left_out, 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what did not run, and the command for it."""
    config = terminalreporter.config
    left_out = config.stash.get(_left_out, 0)
    if left_out and config.option.markexpr in (QUICK, GATE):
        terminalreporter.write_line(
            f"{left_out} slow tests did not run, and laws tried few examples. "
            f"All, with '.[test-all]' installed: python -m {ALL}"
        )


def _processor_seconds() -> float:
    """Return the time of this process and of those that it has waited for."""
    return time.process_time() + sum(os.times()[2:4])


_vocabularies: list[str] = []
"""Names of the vocabularies that were loaded so far: each takes most of a second."""


def _make_encoding(name: str, *given: Any) -> Any:
    _vocabularies.append(name)
    return make_encoding(name, *given)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Fail a test that takes the time of a slow one without the mark."""
    before, modules, vocabularies = _processor_seconds(), len(sys.modules), len(_vocabularies)
    result = yield
    spent = _processor_seconds() - before
    quick = pyfuncitem.config.option.markexpr == QUICK and _coverage() is None
    is_first = len(sys.modules) > modules + MODULES_OF_A_LIBRARY
    is_first |= len(_vocabularies) > vocabularies
    if quick and not is_first and spent > MAX_SECONDS * SLACK and not _is_busy():
        slowness = max(1.0, max(_reference() for _ in range(5)) / REFERENCE_SECONDS)
        if spent > MAX_SECONDS * SLACK * slowness:
            pytest.fail(
                f"took {spent:.2f} s of processor time on a machine {slowness:.1f} times as slow "
                f"as the one on which {MAX_SECONDS} s is the limit and {SLACK} the slack: "
                "make it cheaper, or mark it `slow`",
                pytrace=False,
            )
    return result


def _is_busy() -> bool:
    """Return True where more runs than the tests themselves: caches are shared, and no time tells."""
    return os.getloadavg()[0] > MAX_LOAD * (os.cpu_count() or 1)


def _reference() -> float:
    """Return the processor time of a fixed piece of work: it grows on a slow or busy machine."""
    before = _processor_seconds()
    sorted(str(n) for n in range(50_000))
    return _processor_seconds() - before


def _coverage() -> Any:
    """Return what watches this process, or None: the plain command installs no coverage."""
    module = sys.modules.get("coverage")
    return module.Coverage.current() if module else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch nothing of an `unwatched` test: its fixtures, itself, the processes that they start."""
    watcher = _coverage()
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
    watcher = _coverage()
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
    test: Callable[..., Any], watcher: Any
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
