"""Read the user's files, and expand patterns.

An `Access` says how far a name may lead; a mere folder is one of a program's, `None` one of the
user's, from the working directory. Only regular files are read: a FIFO blocks, a device never
ends.

Codes: PF301 bytes that are no text, PF601 a match that cannot be read, PF602 a file too large or
too many matches, PF603 a file that changed while read, PF701 a link that leads out.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import Diagnostics, ItemError, did_you_mean, pip_install
from ..files import is_pattern, is_url
from ..files.access import (
    MAX_FILE_BYTES,
    Access,
    HeldFolder,
    StrPath,
    is_inside,
    note_stream,
    open_real,
    open_stream,
    read_on,
    show_path,
    system_reason,
)
from ..text.words import late_pattern
from .documents import can_read, is_document, part_word, read_document

MAX_FILE_BYTES_READ = 64 << 20
"""Bytes of a text that are read; the rest is left out, and said. Data is read whole, or refused."""
BYTES_JUDGED = 8192
"""Bytes at the beginning of a file of a folder by which it is left out, or read whole."""
MAX_FOLDERS_NESTED = 200
"""A walk goes no deeper: Python would end it at 1,000."""
MAX_NAMES_VISITED = 200_000
"""Names that one pattern may look at."""
MAX_FILES_MATCHED = 10_000
"""Files that one pattern may give."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GZIP = b"\x1f\x8b"
_PACKED_DATA = late_pattern(r"(?i)\.(?:csv|tsv|jsonl?|ndjson)\.gz\Z")
_BINARY_MARKS = {
    b"%PDF-": "a PDF; read it from a file named *.pdf",
    b"PK\3\4": "a zip or an office file; read documents from files named *.docx, *.pptx, *.xlsx",
    _GZIP: "a packed file; unpack it first",
    b"\x28\xb5\x2f\xfd": "a packed file; unpack it first",
}
"""First bytes of files that may hold no zero, and what the file is."""


Judge = Callable[[int, bytes], None]
"""Takes a file's size in bytes and its first 8 KiB; raises `ItemError` where nobody wants it."""


class BinaryFileError(ItemError):
    """A file that is no text."""


def read_text(
    path: StrPath,
    *,
    workspace: StrPath | None,
    diagnostics: Diagnostics,
    whole: bool = False,
    real: StrPath | None = None,
    held: HeldFolder | None = None,
    judge: Judge | None = None,
) -> str:
    """Return the text of a file: UTF-8, or UTF-16 or UTF-32 by byte order mark, which is dropped.

    UTF-16 without a mark is known by its zeros, and said. `real` is its real place, where that is
    known, and `held` a folder that stays open; `judge` may raise before more than the first 8 KiB
    are read.

    Bytes that are no text become U+FFFD, and are said. Raises `ItemError` when there is no such
    regular file, it is binary, it may not be read, or it lies outside the workspace, if there is
    one.
    """
    where = show_path(path)
    place, name = real or Access.of(workspace).locate(path), os.fspath(path)
    whole = whole or part_word(name) is not None  # the beginning of a document is none
    data = _read(place, where, diagnostics, whole, judge, held)
    if is_document(name, data):
        if not can_read(name):
            message = f"a document, which is read with an extra: {pip_install('documents')}"
            raise BinaryFileError(message, where=where)
        return read_document(name, data, diagnostics)
    return decode_text(data, where=where, diagnostics=diagnostics, file=place)


def read_named(
    path: str,
    *,
    workspace: StrPath | None,
    diagnostics: Diagnostics,
    names: bool = False,
    whole: bool = False,
) -> tuple[str, str]:
    """Return the text of a file, or for `-` of standard input, and its name for messages.

    `/dev/stdin` and the `/dev/fd/63` that a shell puts for `<(command)` are read too, to the end.
    With `names` it is a list of names, as of `find -print0`: it may hold zeros, and no encoding is
    guessed. Names are read as git quotes them.
    """
    where = show_path(path)
    if is_stream(path):
        data, where = _read_stream(path, MAX_FILE_BYTES if whole else MAX_FILE_BYTES_READ)
    else:
        data = _read(Access.of(workspace).locate(path), where, diagnostics, whole)
    if whole and data.startswith(_GZIP) and (is_stream(path) or _PACKED_DATA.search(path)):
        data = _unpack(data, where)
    text = decode_text(data, where=where, diagnostics=diagnostics, names=names)
    if names and "\0" not in text and _QUOTED_NAME.search(text):
        from .git import unquote_name

        def unquoted(found: re.Match[str]) -> str:
            name = unquote_name(found[0])
            # A file "x\n/etc/passwd" of a repository would be two names, one of them the system's.
            return name if len(name.splitlines()) == 1 else found[0]

        text = _QUOTED_NAME.sub(unquoted, text)
    return text, where


def _unpack(data: bytes, where: str) -> bytes:
    with suppress(OSError, EOFError, zlib.error):
        data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_FILE_BYTES + 1)
        if len(data) <= MAX_FILE_BYTES:
            return data
        raise ItemError(f"unpacks to more than {MAX_FILE_BYTES >> 20} MiB", where=where)
    raise BinaryFileError("cannot be unpacked; the file may be cut off", where=where)


def _read_stream(path: str, most: int) -> tuple[bytes, str]:
    """Return the bytes of a stream, and its name for messages."""
    where = "<stdin>"
    try:
        if path.startswith("/dev/fd/"):
            where = path
            with open_stream(int(path.removeprefix("/dev/fd/"))) as stream:
                data = stream.read(most + 1)
        elif sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        else:
            note_stream(sys.stdin)
            data = sys.stdin.buffer.read(most + 1)
    except OSError as exc:
        raise ItemError(f"cannot read it: {system_reason(exc)}", where=where) from None
    if len(data) > most:
        raise ItemError(f"more than {most >> 20} MiB in a stream", where=where)
    return data, where


_QUOTED_NAME = late_pattern(r'(?m)^"[^"\\\n]*+(?:\\(?!000)[^\n][^"\\\n]*+)++"(?=\r?$)')
# Those of texts are a bell, a backspace, an escape, and DOS's mark of the end.
_CONTROLS = late_pattern(rb"[\x01-\x06\x0e-\x19\x1c-\x1f]")
_CODECS = (
    rb"(?i:(latin-?1|iso-?8859-\d\d?|(?:cp|windows-)125\d|koi8-[ru]|euc-(?:jp|kr)|shift_jis"
    rb"|gbk|gb2312|gb18030|big5))(?![-\w])"
)
_ENCODING = late_pattern(
    rb"(?:(?:.*\n)?[ \t]*#.*?coding[:=][ \t]*|<\?xml[^>\n]*\sencoding=[\"']|@charset \""
    rb"|(?s:.{0,1024}?)<meta[^>]{0,200}?\bcharset=[\"']?)" + _CODECS
)
"""The line that names the encoding of a program (PEP 263), XML, CSS or HTML; of texts alone."""


def is_stream(path: str) -> bool:
    """Tell whether a path names standard input, or an open file that a shell has made."""
    return path in ("-", "/dev/stdin") or re.fullmatch("/dev/fd/[0-9]{1,4}", path) is not None


def decode_text(
    data: bytes, *, where: str, diagnostics: Diagnostics, names: bool = False, file: StrPath = ""
) -> str:
    """Return the text of bytes, UTF-8 but for a byte order mark.

    The encoding of invalid UTF-8 bytes is that which a program or XML names in its first lines, or
    git for the real `file`, else a guess (PF301). Wrong bytes in UTF-8, and those of no encoding,
    become U+FFFD (PF301). Raises `BinaryFileError` by git's own test, a zero in the first 8 KiB,
    by a few marks, and for control characters beside invalid UTF-8 bytes.
    """
    for mark, kind in _BINARY_MARKS.items():
        if data.startswith(mark):
            raise BinaryFileError(f"not text but {kind}", where=where)
    bom, encoding = next((row for row in _BOMS if data.startswith(row[0])), (b"", "utf-8"))
    data = data[len(bom) :]
    beginning = data[:8192]
    # Every other byte of UTF-16 is a zero.
    if not names and b"\0" in beginning and "\0" in beginning.decode(encoding, "replace"):
        text = _decode_unmarked(data)
        if text is None:
            raise BinaryFileError("a binary file", where=where)
        message = "read as UTF-16, without a byte order mark"
        diagnostics.add("PF301", message, where=where, severity="info")
        return text
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as exc:
        if names:  # the system takes any bytes in them
            return os.fsdecode(data)
        # Compressed, say, without a zero. The end of a beginning may be half a character.
        is_wrong = exc.reason != "unexpected end of data"
        if is_wrong and _CONTROLS.search(data, 0, 8192):
            raise BinaryFileError("a binary file", where=where) from None
        named = _ENCODING.match(data)
        if named is not None:
            with suppress(UnicodeDecodeError, LookupError):
                return data.decode(named[1].decode())
        line = data[: exc.start].count(b"\n") + 1
        may_guess = is_wrong and encoding == "utf-8"
        return _decode_wrong(data, encoding, may_guess, f"{where}:{line}", diagnostics, file)


def _decode_wrong(
    data: bytes, encoding: str, may_guess: bool, where: str, diagnostics: Diagnostics, file: StrPath
) -> str:
    """Return the text of bytes that are not of an encoding; say how they were read."""
    text = data.decode(encoding, "replace")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    is_hardly_utf8 = beyond < 2 * text.count("\ufffd")
    guessed = None
    if may_guess:
        from .encodings import encoding_of_git, guess_encoding

        with suppress(UnicodeDecodeError, LookupError):
            return data.decode(encoding_of_git(file) or encoding)
        if is_hardly_utf8:
            guessed = guess_encoding(data)
    if guessed is not None:
        message = f"not UTF-8; read as {guessed}, a guess; save the file as UTF-8"
        diagnostics.add("PF301", message, where=where, severity="info")
        return data.decode(guessed)
    line = where.rpartition(":")[2]
    message = f"invalid {encoding.upper()} bytes, first in line {line}; replaced by U+FFFD"
    diagnostics.add("PF301", message, where=where)
    return text


_NO_CHARACTERS = late_pattern(r"[\0-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ue000-\uf8ff\ufffe\uffff]")
"""Characters that no text in UTF-16 has, and numbers of two bytes soon have."""
MIN_ZEROS_OF_UTF16 = 0.7
"""Share of zeros among the bytes at one of two places, as Windows writes ASCII in UTF-16."""
_HOST = r"(?:www\.)?(?:github|gitlab|bitbucket|codeberg)\.\w+"
_REPOSITORY = late_pattern(
    r"(?:https?|ssh)://.*\.git/?|git(?:\+\w+)?://.*|[\w.-]+@[\w.-]+:(?!//)\S+"
    r"|(?:gh|gl|github|gitlab|bitbucket|codeberg):[\w.-]+/[\w.-]+"
    rf"|(?:(?:https?|ssh)://(?:\w+@)?)?{_HOST}/[^/?#]+/[^/?#]+/?(?:(?:-/)?tree/.*)?"
)
"""The address of a repository on one of the large hosts, or of any that git writes, also by ssh."""


def _decode_unmarked(data: bytes) -> str | None:
    beginning = data[: 8192 & ~1]
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        high = beginning[start::2]
        if high.count(0) < MIN_ZEROS_OF_UTF16 * len(high):
            continue
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            return None
        return None if _NO_CHARACTERS.search(text) else text
    return None


def _read(
    real: StrPath,
    where: str,
    diagnostics: Diagnostics,
    whole: bool,
    judge: Judge | None = None,
    held: HeldFolder | None = None,
) -> bytes:
    most = MAX_FILE_BYTES if whole else MAX_FILE_BYTES_READ
    for _ in range(2):  # an editor or a build was writing; at the second try it is likely done
        try:
            with open_real(real, where, held) as (handle, before):
                data = os.read(handle, BYTES_JUDGED)
                if judge is not None:
                    judge(before.st_size, data)
                if len(data) != before.st_size:  # one of the system's own has no size
                    data = read_on(handle, most + 1, data)
                after = os.fstat(handle)
        except (OSError, ValueError) as exc:
            raise _unreadable(real, where, exc) from None
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            break
    else:
        message = "changed while it was read, twice; the text may be torn"
        diagnostics.add("PF603", message, where=where)
    if len(data) > most and whole:  # the beginning of a JSON text is none
        message = f"larger than {most >> 20} MiB; split it into several files"
        raise ItemError(message, where=where)
    if len(data) > most:
        message = f"larger than {most >> 20} MiB; only the beginning is read"
        diagnostics.add("PF602", message, where=where)
        data = data[:most]
        data = data[: data.rfind(b"\n") + 1] or data  # whole lines
    return data


def _unreadable(real: StrPath, where: str, exc: Exception) -> ItemError:
    if getattr(exc, "errno", None) == errno.ENXIO:  # of a socket
        return ItemError("not a file but a pipe, socket or device", where=where)
    if isinstance(exc, FileNotFoundError):
        refuse_repository(where)
    hint = _hint(Path(real), exc)
    if is_url(where):
        hint = "; of URLs only files of items and rows of a batch are read"
    return ItemError(f"cannot read it: {system_reason(exc)}{hint}", where=where)


def refuse_repository(name: str) -> None:
    """Raise `ItemError` for the address of a repository: nothing is cloned here."""
    if _REPOSITORY.fullmatch(name):
        message = "a repository; clone it first, `git clone --depth 1`, and name the folder"
        raise ItemError(message, where=name)


def _hint(real: Path, exc: Exception) -> str:
    if not isinstance(exc, FileNotFoundError):
        return ""
    try:
        # To compare with the names of a huge folder would take longer than the run.
        names = sorted(filter(str.isprintable, os.listdir(real.parent)))
    except OSError:
        return f"; there is no folder {show_path(real.parent.name)} either"
    return did_you_mean(real.name, names[:1000])


def expand_pattern(pattern: str, *, workspace: StrPath, diagnostics: Diagnostics) -> list[str]:
    """Return the paths of the regular files that match, as the user would write them, sorted.

    `*`, `?` and `[…]` stay within one name, `**` crosses folders. A name that begins with a dot is
    matched only by a part that begins with one. Raises `ItemError` when nothing matches, or the
    folder lies outside the workspace.
    """
    # The walk begins below the last part without a mark: of `src/**/*.py` only `src` is listed.
    parts = pattern.replace(os.sep, "/").split("/")
    fixed = next((i for i, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    lead = "".join(part + "/" for part in parts[:fixed])
    top = Access.of(workspace).locate(lead or ".")
    walk = _Walk(parts[fixed:])
    walk.enter(os.fspath(top), "", 0)
    where = show_path(pattern)
    for folder, error in walk.closed:
        place = show_path(os.path.join(lead, folder) or ".")
        diagnostics.add("PF601", f"skipped: {system_reason(error)}", where=place)
    if walk.visited > MAX_NAMES_VISITED:
        message = f"more than {MAX_NAMES_VISITED} names; not all were looked at"
        diagnostics.add("PF602", message, where=where)
    root = Access.of(workspace).border(pattern)
    names = [
        lead + name
        for name in sorted(walk.found)
        if _is_open(os.path.join(top, name), lead + name, root, diagnostics)
    ]
    if not names:
        raise ItemError("no file matches this pattern", where=where)
    if len(names) > MAX_FILES_MATCHED:
        message = f"{len(names)} files match; the first {MAX_FILES_MATCHED} are read"
        diagnostics.add("PF602", message, where=where)
    return names[:MAX_FILES_MATCHED]


def too_deep(folder: str) -> OSError:
    """Return the error for a folder below which no walk goes."""
    return OSError(errno.ENAMETOOLONG, f"more than {MAX_FOLDERS_NESTED} folders deep", folder)


class _Walk:
    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        # With two `**` there are many ways into one folder: `a/**/b/**` would walk it as often.
        self._done: set[tuple[str, int]] = set()
        self.found: set[str] = set()
        self.visited = 0
        self.closed: list[tuple[str, OSError]] = []
        """Folders that could not be read, relative to the first one."""

    def enter(self, folder: str, lead: str, at: int) -> None:
        """Match the names in a folder, `lead` in the pattern's words, by the part number `at`."""
        if (folder, at) in self._done:
            return
        self._done.add((folder, at))
        if lead.count("/") > MAX_FOLDERS_NESTED:
            self.closed.append((lead, too_deep(folder)))
            return
        part, last = self._parts[at], at == len(self._parts) - 1
        if part == "**" and not last:  # it matches no folder as well
            self.enter(folder, lead, at + 1)
        for entry in self._entries(folder, lead):
            self.visited += 1
            if self.visited > MAX_NAMES_VISITED:
                return
            if not _matches(entry.name, part):
                continue
            name = lead + entry.name
            if _is_folder(entry):
                if part == "**" or not last:
                    self.enter(entry.path, name + "/", at + (part != "**"))
            elif last:
                self.found.add(name)

    def _entries(self, folder: str, lead: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                return list(found)
        except OSError as error:
            # Gone since the folder above was listed: no match, and nothing to say.
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self.closed.append((lead, error))
            return []


def _matches(name: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith("."):
        return False
    return part == "**" or fnmatchcase(name, part)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # on file systems that tell the kind only by another look
        return False


def _is_open(path: str, name: str, root: str | None, diagnostics: Diagnostics) -> bool:
    """Tell whether a match is a regular file that may be read; others are skipped, and said."""
    real, where = os.path.realpath(path), show_path(name)
    if root is not None and not is_inside(real, root):
        diagnostics.add("PF701", "a link that is outside the workspace; skipped", where=where)
        return False
    try:
        mode = os.stat(real).st_mode
    except OSError as error:
        said = system_reason(error)
        if isinstance(error, FileNotFoundError) or error.errno == errno.ELOOP:
            said = "a broken link"
        diagnostics.add("PF601", f"{said}; skipped", where=where)
        return False
    # A link to a folder is simply no match.
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        diagnostics.add("PF601", "a pipe, socket or device; skipped", where=where)
    return stat.S_ISREG(mode)
