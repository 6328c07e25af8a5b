"""Files that the page reads and saves: templates, profiles, and the file of golden cases.

A save needs the version of the file that the page has seen.
"""

from __future__ import annotations

import errno
import hashlib
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..authoring.golden import parse_cases
from ..errors import PromptForgeError
from ..files import read_bytes, remove_unfinished, write_whole
from .render_worker import CASES_FILE_NAME
from .session import FOLDERS, MAX_EDITABLE_BYTES, CaseRequest, EditableFile, Session


class FileText(NamedTuple):
    """Text of a file and its version."""

    text: str
    tag: str
    """Hash of its bytes."""


class SaveError(PromptForgeError):
    """A refusal to read or save, with its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def read_file(file: EditableFile) -> FileText:
    """Read a file of the page; raises `SaveError` as `read_text` does."""
    return read_text(file.path, file.shown)


def read_text(path: Path, shown: str) -> FileText:
    """Read a regular file of UTF-8 text.

    Raises `SaveError`: 404 where it cannot be read, 409 where it is no such file or too large.
    """
    try:
        data = read_bytes(path, MAX_EDITABLE_BYTES)
        text = data.decode("utf-8-sig")
    except OSError as error:
        status = 404
        if error.errno in (errno.EINVAL, errno.EFBIG):  # a pipe or device; too large
            status = 409
        raise SaveError(f"{shown} cannot be read: {error.strerror}", status) from None
    except UnicodeDecodeError:
        raise SaveError(f"{shown} is not UTF-8 text", 409) from None
    return FileText(text.replace("\r\n", "\n"), _content_tag(data))


@contextmanager
def draft_to_check(
    session: Session, id: str, drafts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Give the request that checks a draft, or a file as it is; its folder is gone afterwards."""
    file = session.find_file(id)
    text = drafts.get(id)
    if text is None:
        text = read_file(file).text
    with tempfile.TemporaryDirectory(dir=session.drafts_folder) as folder:
        path = Path(folder, file.what, file.shown)
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8", errors="replace")
        folders = {what: [str(each) for each in getattr(session, what)] for what in FOLDERS}
        yield {"path": str(path), **folders}


def _content_tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def save_file(session: Session, file: EditableFile, text: str, seen: str) -> str:
    """Write a file if its version is still `seen`; return the new version.

    Raises `SaveError`: read-only (403), changed meanwhile (412), too large (413),
    cannot be written (409).
    """
    if not session.edit:
        raise SaveError("this preview only shows; start it with --edit to save", 403)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        message = "the text holds half of a surrogate pair, which no file can hold"
        raise SaveError(message, 409) from None
    if len(data) > MAX_EDITABLE_BYTES:
        raise SaveError(f"{file.shown} would be larger than {MAX_EDITABLE_BYTES // 1024} kB", 413)
    if read_file(file).tag != seen:
        raise SaveError(f"{file.shown} was changed by somebody else since it was opened here", 412)
    path, folder = file.path, file.folder
    if file.shipped:  # its copy goes into the user's first folder
        own = session.own_folder(file.what)
        if own is None:
            message = (
                f"there is no folder of your own to save it in; start again with --{file.what}"
            )
            raise SaveError(f"{message} DIR", 409)
        path, folder = own / file.shown, own
        if path.exists():
            raise SaveError(f"{file.shown} is in your folder meanwhile", 412)
    write_file(path, folder, data, file.shown)
    return _content_tag(data)


def write_file(path: Path, folder: Path, data: bytes, shown: str) -> None:
    """Write a file inside `folder`, at one stroke; make its folder. Raises `SaveError`."""
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise SaveError(f"{shown} lies behind a link that leads out of your folder", 409)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        real = path.resolve()
        remove_unfinished(real.parent, real.name)
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else None
        with write_whole(real, mode) as written:
            written.write(data)
    except OSError as error:
        raise SaveError(f"{shown} cannot be written: {error.strerror}", 409) from None


class CaseFile(NamedTuple):
    """The file at one moment."""

    path: Path
    source: str
    """Its text; empty before the first case."""
    tag: str
    names: list[str]
    """Names of its cases."""

    @property
    def shown(self) -> str:
        """Its name on the page."""
        return f"{self.path.parent.name}/{self.path.name}"


def load_cases(session: Session, seen: str | None = None) -> CaseFile:
    """Read the file; with `seen`, refuse any other version.

    Raises `SaveError`: read-only (403), changed meanwhile (412), no folder, no text or behind a
    link (409). Raises `ItemError` where the file holds no cases.
    """
    if not session.edit:
        raise SaveError("this preview only shows; start it with --edit to save", 403)
    if session.tests is None:
        raise SaveError("there is no folder to save it in; start again with --tests DIR", 409)
    path = session.tests / CASES_FILE_NAME
    if path.is_symlink() or session.tests.resolve() != session.tests:
        raise SaveError(f"{session.tests.name}/{CASES_FILE_NAME} lies behind a link", 409)
    shown = f"{session.tests.name}/{CASES_FILE_NAME}"
    found = read_text(path, shown) if path.exists() else FileText("", _content_tag(b""))
    if seen is not None and seen != found.tag:
        raise SaveError(f"{shown} was changed by somebody else meanwhile", 412)
    cases = parse_cases(found.text, path) if found.text.strip() else []
    return CaseFile(path, found.text, found.tag, [case.name for case in cases])


def record_request(
    session: Session, found: CaseFile, settings: Mapping[str, Any], wanted: CaseRequest
) -> dict[str, Any]:
    """Return the request for `record_case`, and make the folder of the file.

    The case names other files relative to that folder, so it has to be there.
    """
    try:
        found.path.parent.mkdir(exist_ok=True)
    except OSError as error:
        message = f"{found.path.parent.name}/ cannot be made: {error.strerror}"
        raise SaveError(message, 409) from None
    return {
        "settings": settings,
        "name": wanted.name,
        "expect": wanted.expect,
        "source": found.source,
        "path": str(found.path),
        "items_file": str(session.items_file) if session.items_file else None,
    }


def case_request(session: Session) -> dict[str, Any]:
    """Return the request for the text of a case that is saved nowhere."""
    folder = session.tests or (session.items_file.parent if session.items_file else Path.cwd())
    return {
        "name": "a case of the preview",
        "expect": "bounds",
        "path": str(folder / CASES_FILE_NAME),
        "items_file": str(session.items_file) if session.items_file else None,
    }


def save_cases(session: Session, found: CaseFile, source: str) -> None:
    """Write the text that the sandbox returned.

    Templates of strangers ran there, so the text is not trusted: it must add one case to the file.
    """
    goes_on = source.startswith(found.source.rstrip("\n"))
    if not goes_on or len(parse_cases(source, found.path)) != len(found.names) + 1:
        raise SaveError("the case could not be written", 409)
    load_cases(session, found.tag)
    write_file(found.path, found.path.parent, source.encode("utf-8"), found.shown)
