"""What is kept between runs is found again, and nothing else: not for edits, strangers or damage."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import promptforge as pf
from promptforge.cli.main import main
from promptforge.files import access, memory, memory_file
from promptforge.trimming import kinds

Run = Callable[..., tuple[str, str]]
SECRET = "AKIAQ7ZJ4MN3X6RT2WPV"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs; its memory lies beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    folder = tmp_path / "work"
    folder.mkdir()
    for name, other in ("ab", "bc", "ca"):
        body = "".join(f"    value_{n} = {other}_{n}(value)\n" for n in range(30))
        (folder / f"{name}.py").write_text(f"import {other}\n\ndef {name}_1(value):\n{body}")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache/promptforge"


@pytest.fixture
def opened(work: Path) -> Iterator[Callable[[], None]]:
    """A function that opens the memory of the folder; it is closed at the end."""
    yield lambda: memory.open_memory([str(work)])
    memory.close_memory()


@pytest.fixture
def run(work: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that renders the folder, and returns what is printed and said."""

    def render(*arguments: str) -> tuple[str, str]:
        with pytest.raises(SystemExit) as end:
            main(["render", str(work), "--max-tokens", "300", *arguments])
        assert end.value.code == 0
        said = capsys.readouterr()
        return said.out, said.err

    return render


def is_known(text: str, *rules: str) -> bool:
    """Tell whether a text is known to be clean; where it is not, it becomes so."""
    searched: list[int] = []
    assert memory.recall_clean(text, rules, lambda: searched.append(1))
    return not searched


def made_once(text: str, value: int = 7) -> tuple[int, bool]:
    """Return the fact about a text, and whether it was made."""
    made: list[int] = []

    def make() -> int:
        made.append(value)
        return value

    return memory.recall(text, ("fact",), make, int), bool(made)


def test_a_fact_is_made_once_and_comes_back_in_the_next_run(opened: Callable[[], None]) -> None:
    opened()
    is_known("text")
    assert made_once("text") == (7, True)
    assert memory.close_memory() == ""
    opened()
    assert is_known("text")
    assert not is_known("text", "another rule")
    assert not is_known("text ")
    assert made_once("text", 8) == (7, False)


def test_the_language_of_a_text_is_found_in_one_run(
    opened: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "name: a\nsize: 4\nrows:\n  - x\n  - y\n"
    asked: list[str] = []

    def detect(text: str) -> str:
        asked.append(text)
        return "yaml"

    monkeypatch.setattr(kinds, "detect_language", detect)
    for _ in range(2):
        kinds._detect_once.cache_clear()
        opened()
        is_known(text)
        assert kinds.language_by_content("file", text) == "yaml"
        memory.close_memory()
    assert asked == [text]


def test_what_is_made_of_all_texts_outlives_that_of_fewer(opened: Callable[[], None]) -> None:
    """`explain` tries a folder without equal texts too, and the next rendering ranked all anew."""
    opened()
    numbers = iter(range(9))

    def recall(*texts: str) -> int:
        return memory.recall_last("rank", texts, (), lambda: next(numbers), int)

    assert [recall("a", "b"), recall("a"), recall("a", "b"), recall("a")] == [0, 1, 0, 1]
    assert recall("a", "c") == 2


def test_a_text_that_nobody_searched_leaves_nothing(
    opened: Callable[[], None], cache: Path
) -> None:
    opened()
    assert made_once("text") == (7, True)
    assert memory.is_withheld("text")
    memory.close_memory()
    assert not list(cache.iterdir())


def test_a_content_and_a_file_that_is_like_it_have_facts_of_their_own(
    opened: Callable[[], None],
) -> None:
    """The content of `a` with one more line end is the file `a` itself."""
    opened()
    for text, content in (("a\n", "a"), ("a\n\n", "a\n")):
        is_known(text)
        memory.note_beginning(content, text)
    assert made_once("a", 1) == (1, True)
    assert made_once("a\n", 2) == (2, True)


def test_a_fact_with_half_of_a_surrogate_pair_is_made_again(opened: Callable[[], None]) -> None:
    opened()
    is_known("text")
    for _ in range(2):
        assert memory.recall("text", ("name",), lambda: ["\ud800"], list[str]) == ["\ud800"]


@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_damaged_file_is_worth_nothing(opened: Callable[[], None], cache: Path, at: int) -> None:
    opened()
    is_known("text")
    memory.close_memory()
    (path,) = cache.iterdir()
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    opened()
    assert not is_known("text")
    path.write_bytes(data[:20])
    opened()
    assert not is_known("text")


def test_a_file_of_another_version_is_worth_nothing(
    opened: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    is_known("text")
    memory.close_memory()
    monkeypatch.setattr(memory_file, "__version__", "0.0.1")
    opened()
    assert not is_known("text")


def test_the_file_is_its_owners_alone(opened: Callable[[], None], cache: Path) -> None:
    opened()
    is_known("text")
    memory.close_memory()
    (path,) = cache.iterdir()
    assert cache.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def _link_to(victim: Path, place: Path) -> None:
    place.symlink_to(victim)


def _folder_at(_victim: Path, place: Path) -> None:
    place.mkdir()


def _huge_at(_victim: Path, place: Path) -> None:
    place.touch()
    os.truncate(place, memory_file.MAX_BYTES_OF_ROOT + 1)


def _writable_at(_victim: Path, place: Path) -> None:
    place.touch()
    place.chmod(0o666)


@pytest.mark.parametrize("put", [_link_to, _folder_at, _huge_at, _writable_at])
def test_what_stands_in_its_place_is_not_read_and_not_written_through(
    run: Run, cache: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    without = run("--no-cache", "-v")
    run()
    (path,) = cache.iterdir()
    path.unlink()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    put(victim, path)
    text, said = run("-v")
    assert text == without[0]
    assert "nothing is kept for the next run: " in said
    assert victim.read_text() == "mine"


def test_a_folder_that_others_write_to_or_that_is_a_link_is_not_used(
    run: Run, cache: Path, tmp_path: Path
) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert "another user owns it, or may write to it" in run("-v")[1]
    assert not list(cache.iterdir())
    cache.rmdir()
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    assert "not a directory" in run("-v")[1]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_nothing_lies_in_a_repository_or_in_what_is_read(
    run: Run, work: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache.parents[1] / ".git").mkdir()
    assert "lies in a repository" in run("-v")[1]
    (cache.parents[1] / ".git").rmdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(work / "cache"))
    assert "lies in a folder that is read" in run("-v")[1]
    assert not cache.exists() and not (work / "cache").exists()


def test_a_relative_cache_folder_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert access.cache_folder() == Path("~/.cache/promptforge").expanduser()


def test_a_second_run_prints_the_same_and_writes_nothing(run: Run, work: Path, cache: Path) -> None:
    without = run("--no-cache")
    assert not cache.exists()
    assert run() == without
    (path,) = cache.iterdir()
    state = path.stat()
    assert run() == without
    assert path.stat().st_mtime_ns == state.st_mtime_ns
    changed = (work / "a.py").read_text().replace("value_7", "worth_7")
    (work / "a.py").write_text(changed)
    assert run() == run("--no-cache")


@pytest.mark.parametrize("flag", ["--no-cache", "--no-secret-scan", "variable"])
def test_nothing_is_kept_where_the_user_says_so(
    run: Run, cache: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    if flag == "variable":
        monkeypatch.setenv(memory.NO_CACHE_VARIABLE, "1")
        assert "PF124" not in run("-v")[1]
    else:
        run(flag)
    assert not cache.exists()


def test_no_word_of_a_file_with_credentials_is_kept(run: Run, work: Path, cache: Path) -> None:
    told = f"def unheard_of(value):\n    return '{SECRET}'\n"
    (work / "secret.py").write_text(told)
    for _ in range(2):
        assert run() == run("--no-cache")
    (path,) = cache.iterdir()
    data = path.read_bytes()
    assert b"value" in data  # a word of the others
    assert SECRET.encode() not in data and b"unheard_of" not in data


def test_a_clean_text_is_searched_again_under_a_name_with_other_rules(run: Run, work: Path) -> None:
    for name in ("database.yml", "secrets.yml"):
        work.joinpath(name).write_text("stripe: q9X2mQ7vLw3Zp\n")
    for _ in range(2):
        out, said = run("--include", "*.yml")
        assert out.count("q9X2mQ7vLw3Zp") == 1 and "secrets.yml (a password or key)" in said


def test_a_full_disk_is_done_without(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    without = run("--no-cache")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(memory_file, "write_whole", fail)
    assert run() == without
    assert "nothing is kept for the next run: no space left" in run("-v")[1]


def test_the_library_keeps_nothing(work: Path, cache: Path) -> None:
    assert pf.render(pf.load(str(work)), max_tokens=300).text
    assert not cache.exists()


def test_the_oldest_files_go_and_facts_that_no_late_run_used(
    opened: Callable[[], None], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir(parents=True, mode=0o700)
    for age, name in enumerate(("new", "old")):
        path = cache / f"{name}.memory"
        path.write_bytes(bytes(1000))
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    monkeypatch.setattr(memory_file, "MAX_BYTES", 1500)
    monkeypatch.setattr(memory_file, "MAX_BYTES_YOUNG", 0)
    for text in ("one", "two", "three"):
        opened()
        if text == "two":
            assert is_known("one")
        is_known(text)
        memory.recall(text, ("fact",), lambda: "x", str)
        memory.close_memory()
    assert sorted(path.name for path in cache.iterdir())[-1:] == ["new.memory"]
    assert not (cache / "old.memory").exists()
    opened()
    assert is_known("three")
