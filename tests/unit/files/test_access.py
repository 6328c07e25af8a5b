"""Who wrote a name decides what it opens; nothing is written through a link that anybody made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptforge.errors import ItemError
from promptforge.files import access
from promptforge.files.access import Access, open_real, read_bytes, write_whole
from promptforge.files.marks import refuse_input


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a secret beside it, and links in it that lead out; it is entered."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/near.txt").write_text("near")
    (tmp_path / "other/link.txt").symlink_to("../secret.txt")
    (tmp_path / "other/inner.txt").symlink_to("near.txt")
    folder = tmp_path / "repository"
    (folder / "docs").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "docs/b.txt").write_text("b")
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "up").symlink_to("..")
    (folder / "inside.txt").symlink_to("docs/b.txt")
    (folder / "inner").symlink_to("docs")
    monkeypatch.chdir(folder)
    return folder


def leads(of: Access, name: str) -> bool:
    """Tell whether a name may be read."""
    try:
        of.locate(name)
    except ItemError as error:
        assert str(error).isprintable()
        return False
    return True


NAMES = [
    # name, of a program, of the user, of a file in the folder
    ("a.txt", True, True, True),
    ("docs/../a.txt", True, True, True),
    ("inside.txt", True, True, True),
    ("../secret.txt", False, True, False),
    ("docs/../../secret.txt", False, True, False),
    ("../other/near.txt", False, True, False),
    ("../other/inner.txt", False, True, False),
    ("../other/link.txt", False, False, False),
    ("out.txt", False, False, False),
    ("up/secret.txt", False, False, False),
    ("inner/../../secret.txt", False, True, False),
    ("{root}/secret.txt", True, True, False),
    ("{root}/repository/a.txt", True, True, False),
    ("/proc/self/environ", True, True, False),
    ("..", False, True, False),
]


@pytest.mark.parametrize(("name", "program", "user", "file"), NAMES)
def test_the_writer_of_a_name_decides_how_far_it_leads(
    repository: Path, tmp_path: Path, name: str, program: bool, user: bool, file: bool
) -> None:
    name = name.replace("{root}", str(tmp_path))
    assert leads(Access("."), name) == program
    assert leads(Access(".", typed=True), name) == user
    assert leads(Access(".", typed=True, follow=True), name)
    assert leads(Access(".", root="."), name) == file


def test_a_file_in_a_subfolder_names_what_is_in_it(repository: Path) -> None:
    job = Access(".", root="docs")
    assert leads(job, "docs/b.txt") and leads(job, "inside.txt")
    assert not leads(job, "a.txt") and not leads(job, "docs/../a.txt")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "a\nb", ""])
def test_names_that_no_system_takes_are_errors_or_not_there(repository: Path, name: str) -> None:
    with pytest.raises((ItemError, OSError)), open_real(Access(".").locate(name), "name"):
        pass


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["out.txt", "up/new.txt", "inside.txt", "inner/new.txt", "docs/../up/secret.txt", "up/../x"],
)
def test_nothing_is_written_through_a_link(repository: Path, name: str) -> None:
    with pytest.raises(ItemError, match=r"is a link to .*--follow"):
        Access(".", typed=True).locate_output(name)
    with pytest.raises(ItemError, match="is a link"):
        Access(".", typed=True).locate_output(repository / name)  # the same by its whole name
    Access(".", typed=True, follow=True).locate_output(name)


def test_a_typed_output_may_lie_anywhere(repository: Path, tmp_path: Path) -> None:
    typed = Access(".", typed=True)
    assert typed.locate_output("new.txt") == repository / "new.txt"
    assert typed.locate_output("../new.txt") == tmp_path / "new.txt"
    assert typed.locate_output(tmp_path / "other/new.txt") == tmp_path / "other/new.txt"
    with pytest.raises(ItemError, match="is a link"):
        typed.locate_output(tmp_path / "other/link.txt")


@pytest.mark.parametrize("name", ["../new.txt", "/tmp/new.txt", "docs/../../new.txt", "out.txt"])
def test_a_file_has_nothing_written_outside_of_its_folder(repository: Path, name: str) -> None:
    with pytest.raises(ItemError):
        Access(".", root=".").locate_output(name)


def swap(folder: Path, target: Path) -> None:
    """Put a link to `target` in the place of a folder."""
    folder.rename(folder.with_name(f"{folder.name}.kept"))
    folder.symlink_to(target)


def test_a_link_swapped_in_before_a_write_takes_nothing(repository: Path, tmp_path: Path) -> None:
    place = Access(".", typed=True).locate_output("docs/new.txt")
    with write_whole(place) as file:
        swap(repository / "docs", tmp_path / "other")
        file.write(b"text")
    assert not (tmp_path / "other/new.txt").exists()
    assert (repository / "docs.kept/new.txt").read_text() == "text"


def test_a_link_swapped_in_for_the_name_is_replaced(repository: Path, tmp_path: Path) -> None:
    place = Access(".", typed=True).locate_output("new.txt")
    with write_whole(place) as file:
        place.symlink_to(tmp_path / "secret.txt")
        file.write(b"text")
    assert (tmp_path / "secret.txt").read_text() == "secret"
    assert place.read_text() == "text" and not place.is_symlink()


def test_a_link_swapped_in_before_a_file_is_opened_opens_nothing(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "other/b.txt").write_text("secret")
    real = Access(".").locate("docs/b.txt")
    swap(repository / "docs", tmp_path / "other")
    with pytest.raises(OSError, match=r"(?i)directory|symbolic"), open_real(real, "b.txt"):
        pass
    (repository / "a.txt").unlink()
    (repository / "a.txt").symlink_to("../secret.txt")
    with pytest.raises(OSError, match="symbolic"), open_real(repository / "a.txt", "a.txt"):
        pass


def test_permissions_are_kept(repository: Path) -> None:
    Path("a.txt").chmod(0o600)
    with write_whole(Path("a.txt")) as file:
        file.write(b"text")
    assert Path("a.txt").stat().st_mode & 0o777 == 0o600


# --- what a run has read --------------------------------------------------------------------------


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(access, "_reads", {})
    yield


@pytest.mark.usefixtures("noting")
def test_what_was_read_is_not_written_over_by_any_name(repository: Path) -> None:
    os.link("docs/b.txt", "hard.txt")
    read_bytes("docs/b.txt")
    for name in (
        "docs/b.txt",
        "hard.txt",
        "inner/b.txt",
        "inside.txt",
        str(repository / "hard.txt"),
    ):
        with pytest.raises(ItemError, match="is both the input and the output"):
            refuse_input(name, name)
    refuse_input("a.txt", "a.txt")
    refuse_input("new.txt", "new.txt")


@pytest.mark.usefixtures("noting")
def test_what_is_only_compared_is_no_input(repository: Path) -> None:
    read_bytes("a.txt", note=False)
    refuse_input("a.txt", "a.txt")
    assert not access.is_read("a.txt")


def test_only_a_file_that_lies_itself_in_the_temporary_folder_is_an_own_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "list").write_text("a.txt")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper/list").write_text("a.txt")
    (tmp_path / "link").symlink_to("deeper/list")
    assert access.is_own_temporary(tmp_path / "list")
    for name in ("deeper/list", "link", "absent"):
        assert not access.is_own_temporary(tmp_path / name), name
    monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert not access.is_own_temporary(tmp_path / "list")
