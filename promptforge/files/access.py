"""The one door to files: who wrote a name decides what it opens, and what it overwrites.

An `Access` is made where names are written down. All other modules open, read, write, move and
remove files by the functions here, and `tests/house/test_layers.py` holds them to that. A file is
written to a temporary one beside it, synced, then renamed over it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple

from ..errors import ItemError, quote

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, which removes no file that is open
    fcntl = None

StrPath = str | os.PathLike[str]
MAX_FILE_BYTES = 1 << 28
"""Largest file that is read at once."""
# Without O_NONBLOCK, opening a FIFO waits for somebody to write to it.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_CHMOD_TAKES_HANDLES = os.chmod in os.supports_fd
_HAS_HANDLES = {os.open, os.rename, os.unlink, os.stat, os.link} <= os.supports_dir_fd
"""False on Windows: folders are named by their paths there."""
ALLOW_OUTSIDE = "a file names only what lies in its folder; --allow-outside lets it name others"
SYSTEM_FOLDERS = ("/dev/", "/proc/")
"""Links in these are the system's own, such as `/dev/stdout`."""


def show_path(path: StrPath) -> str:
    """Return a path for a message: as it is when it is harmless, else quoted and escaped."""
    text = os.fspath(path)
    if text and text.isprintable():
        return text
    return quote(text, 200)


def system_reason(error: Exception) -> str:
    """Return the system's reason why a file or folder cannot be read."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "not a name of a file"


def is_inside(real: StrPath, root: StrPath) -> bool:
    """Tell whether a real path lies in a real folder, or is it."""
    path, folder = os.fspath(real), os.fspath(root)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def leads_outside(name: str, folder: StrPath, base: StrPath | None = None) -> str | None:
    """Return why a file in `folder` may not name the path `name`; None where it may.

    The name counts from `base`, else from the folder. A file comes from anywhere, with a
    repository or a mail: what it names, by `..` or a link too, lies in its folder.
    """
    if os.path.isabs(name) or Path(name).drive:
        return f"{quote(name)} is an absolute path"
    try:
        root = os.path.realpath(folder)
        real = os.path.realpath(os.path.join(folder if base is None else base, name))
    except (OSError, ValueError):  # a NUL in the name: reading it will say so
        return None
    if is_inside(real, root):
        return None
    return f"{quote(name)} is outside the folder {quote(str(folder))}"


def link_problem(path: StrPath, folder: StrPath) -> str | None:
    """Return why a file of a folder is not read where a link leads out of it; None for others."""
    try:
        if not os.path.islink(path) or is_inside(os.path.realpath(path), os.path.realpath(folder)):
            return None
    except (OSError, ValueError):  # reading it will say so
        return None
    return "a link leads out of the folder, and is not followed; put the file itself there"


def is_own_temporary(path: StrPath) -> bool:
    """Tell whether a file of this user lies in the folder of temporary files, not deeper."""
    with contextlib.suppress(OSError, ValueError):
        real, top = os.path.realpath(path), os.path.realpath(tempfile.gettempdir())
        owner = os.stat(real).st_uid
        return os.path.dirname(real) == top and owner == getattr(os, "getuid", lambda: owner)()
    return False


# --- who wrote a name -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    """A folder that names count from, and how far they lead. It depends on who wrote them.

    - `Access(folder)`: a program; a relative name stays in the folder, an absolute one is its word.
    - `Access(folder, typed=True)`: the user; a name leads anywhere, but no link in the folder
      leads out of it, unless `follow`.
    - `Access(folder, root=inner)`: a file; all that it names lies in `inner`, links resolved.

    It passes for the folder wherever a path is taken.
    """

    folder: str
    root: str | None = None
    typed: bool = False
    follow: bool | None = False
    """None where no flag can say so."""

    @classmethod
    def of(cls, given: StrPath | None) -> Access:
        """Return what is given, or the access of a folder; `None`: the user, from here."""
        if given is None:
            return cls(os.curdir, typed=True)
        return given if isinstance(given, Access) else cls(os.fspath(given))

    def __fspath__(self) -> str:
        return self.folder

    def __str__(self) -> str:
        return self.folder

    def border(self, name: str) -> str | None:
        """Return the real folder that a name must lie in; None where it may lie anywhere."""
        if self.root is not None:
            return os.path.realpath(self.root)
        if self.follow:
            return None
        base = os.path.realpath(self.folder)
        if os.path.isabs(name):
            lead, _, last = name.rpartition(os.sep)
            if last in (os.curdir, os.pardir):
                lead = name
            homes = os.path.expanduser("~"), tempfile.gettempdir()
            return _border_below(lead, base, homes) if self.typed else None
        if not self.typed:
            return base
        # Of `../clone/notes.md` the folder is `../clone`: its author may have made a link of it.
        parts = os.path.normpath(name).split(os.sep)
        above = [part for part in parts if part == os.pardir]
        top = os.path.realpath(os.path.join(base, *above))
        if above and len(parts) > len(above) + 1:
            top = os.path.realpath(os.path.join(top, parts[len(above)]))
        return top

    def locate(self, path: StrPath) -> Path:
        """Return the real place of a name. Raises `ItemError` where it may not lead there."""
        name = os.fspath(path)
        try:
            border = self.border(name)
            real = os.path.realpath(os.path.join(os.path.realpath(self.folder), name))
        except (OSError, ValueError) as exc:  # ValueError: a NUL in the name
            message = f"cannot read {quote(name)}: {system_reason(exc)}"
            raise ItemError(message, where=show_path(name)) from None
        if self.root is not None:
            reason = leads_outside(name, self.root, self.folder)
            if reason:
                raise ItemError(f"{reason}; {ALLOW_OUTSIDE}", where=show_path(name))
        elif border is not None and not is_inside(real, border):
            hint = "use an absolute path or --workspace DIR"
            message = f"is outside the workspace; {hint}"
            if self.typed:
                message = "a link points outside the folder; name its target"
                if self.follow is not None:
                    message += ", or follow links by --follow"
            raise ItemError(message, where=show_path(name))
        return Path(real)

    def locate_output(self, path: StrPath) -> Path:
        """Return the place that a name is written to, with all folders above it resolved.

        A link below the folder, or in the name's last part, leads elsewhere: raises `ItemError`,
        unless `follow`. So does a name that leaves the `root` of a file.
        """
        name = os.fspath(path)
        try:
            at = folder = os.path.realpath(self.folder)
            for step in _steps(name, folder):
                at = step.place
                if step.is_link:
                    self._refuse_link(step, name)
                    at = os.path.realpath(at)
        except (OSError, ValueError) as exc:
            message = f"cannot write {quote(name)}: {system_reason(exc)}"
            raise ItemError(message, where=show_path(name)) from None
        root = None if self.root is None else os.path.realpath(self.root)
        if root is not None and (os.path.isabs(name) or not is_inside(at, root)):
            message = f"{quote(name)} is outside the folder {quote(str(self.root))}"
            message += "; a text is written only into that folder"
            raise ItemError(message, where=show_path(name))
        return Path(at)

    def _refuse_link(self, step: _Step, name: str) -> None:
        """Raise `ItemError` for a link that a stranger may have made, or that the output is."""
        place = step.place
        is_above = step.border is None and not step.is_last
        if self.follow or is_above or place.startswith(SYSTEM_FOLDERS):
            return
        message = f"{show_path(place)} is a link to {quote(os.readlink(place))}"
        way_out = "nothing is written through it; name the place that it leads to"
        if self.follow is not None:
            way_out += ", or use --follow"
        raise ItemError(f"{message}: {way_out}", where=show_path(name))


class _Step(NamedTuple):
    """One part of a name, seen from the place before it."""

    place: str
    """Real but for its last part."""
    is_link: bool
    is_last: bool
    border: str | None
    """A real folder, and its author may have made the link; None where it is the user's own."""


@functools.lru_cache(maxsize=4096)  # of 3,000 files in a folder, each asks
def _border_below(lead: str, folder: str, homes: tuple[str, str]) -> str | None:
    border = None
    for step in _steps(os.path.join(lead, "name"), folder):
        border = step.border
    return border


def _steps(name: str, folder: str) -> Iterator[_Step]:
    """Yield the parts of a name that counts from a real folder.

    A link on the way to the working folder, to home or to the temporary files, such as `~/work`, is
    the user's or the system's. What lies beside that way may have come with a clone or an archive.
    """
    is_absolute = os.path.isabs(name)
    drive, rest = os.path.splitdrive(name)
    at, border = folder, folder
    if is_absolute:
        at, border = drive + os.sep, ""
    homes = os.path.expanduser("~"), tempfile.gettempdir()
    mine = [Path(os.path.realpath(each)) for each in (folder, *homes)]
    above = {str(each) for path in mine for each in (path, *path.parents)}
    parts = [part for part in rest.split(os.sep) if part not in ("", os.curdir)]
    for number, part in enumerate(parts, 1):
        place = os.path.join(at, part)
        if part == os.pardir:
            place = os.path.dirname(at)
        is_link = part != os.pardir and os.path.islink(place)
        yield _Step(place, is_link, number == len(parts), border or None)
        at = os.path.realpath(place) if is_link else place
        if border and not is_inside(at, border):
            # A link that leads out ends the search: what it leads to is no border of its own.
            if is_link or not is_absolute:
                continue
            border = ""
        if is_absolute and _is_border(at, folder, above, border):
            border = at


def _is_border(at: str, folder: str, above: set[str], border: str) -> bool:
    """Tell whether one author has written what lies in a folder, be it within a wider `border`."""
    if at == folder:
        return not border
    if at in above:
        return False
    parent = os.path.dirname(at)
    if not border and parent in above and parent != os.path.dirname(parent):
        return os.path.isdir(at)
    return os.path.lexists(os.path.join(at, ".git"))


# --- what a run has read --------------------------------------------------------------------------

_reads: dict[tuple[int, int], str] | None = None
"""Device and inode of each file that this run has read, and its path; None: nobody asks."""


def begin_run() -> None:
    """Note from now on which files are read: a command must not write over one of them."""
    global _reads
    _reads = {}
    _border_below.cache_clear()


def note_read(state: os.stat_result, path: StrPath) -> None:
    """Note that a file is an input of this run."""
    if _reads is not None and stat.S_ISREG(state.st_mode):
        name = os.fspath(path)
        _reads[state.st_dev, state.st_ino] = name if os.path.isabs(name) else os.path.abspath(name)


def note_read_path(path: StrPath) -> None:
    """Note a file that another program, such as git, has read for this run."""
    with contextlib.suppress(OSError, ValueError):
        note_read(os.stat(path), path)


def note_stream(stream: Any) -> None:
    """Note the file that standard input comes from, if it comes from one."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        note_read(os.fstat(stream.fileno()), "/dev/stdin")


def is_read(path: StrPath) -> bool:
    """Tell whether this run has read a file, be it by a hard link or another name."""
    with contextlib.suppress(OSError, ValueError):
        state = os.stat(path)
        read = (_reads or {}).get((state.st_dev, state.st_ino))
        # A number of a file that is gone, as of a copy from a store, may have come back.
        return read is not None and os.path.samefile(read, path)
    return False


def forget_read(path: StrPath) -> None:
    """Count a file no longer as an input: it was looked at, and left out."""
    with contextlib.suppress(OSError, ValueError):
        state = os.stat(path)
        (_reads or {}).pop((state.st_dev, state.st_ino), None)


# --- reading --------------------------------------------------------------------------------------


def read_bytes(
    path: StrPath, most: int = MAX_FILE_BYTES, *, note: bool = True, private: bool = False
) -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    Without `note` it is no input of the run: a file that is compared with what replaces it.
    A `private` one is no link, and nobody but this user can have written it.
    Raises `OSError`: `EINVAL` for a folder, a pipe or a device, `EFBIG` for a larger file, `EPERM`
    for one that is not private.
    """
    handle = os.open(path, _FLAGS | (_NO_LINK if private else 0))
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "not a file but a folder, a pipe or a device", str(path))
        if private:
            _require_own(state, path)
        if note:
            note_read(state, path)
        data = read_on(handle, most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
    return data


def read_on(handle: int, most: int, begun: bytes = b"") -> bytes:
    """Return what has `begun` with all that comes after it from a handle, `most` bytes together."""
    parts, left = [begun], most - len(begun)
    while left > 0:
        parts.append(os.read(handle, min(left, 1 << 20)))
        if not parts[-1]:
            break
        left -= len(parts[-1])
    return b"".join(parts)


def read_utf8(path: StrPath, most: int = MAX_FILE_BYTES) -> str:
    """Return a file of UTF-8 text without its byte order mark, with the line ends of Unix.

    Raises `OSError` as `read_bytes` does, and `EILSEQ` where it is no UTF-8.
    """
    data = read_bytes(path, most)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        said = f"line {line} is not UTF-8 text; save it as UTF-8"
        raise OSError(errno.EILSEQ, said, str(path)) from None


class HeldFolder(contextlib.ExitStack):
    """The real folder of the last file that was opened: the next file mostly lies there, too."""

    _path: str | None = None
    _place: tuple[int | None, str] = (None, "")

    def enter(self, folder: str) -> tuple[int | None, str]:
        """Return what `_inside_folder` gives, opened once for files that follow each other."""
        if folder != self._path:
            self._path = None
            self.close()
            self._place = self.enter_context(_inside_folder(folder))
            self._path = folder
        return self._place


@contextmanager
def open_real(
    real: StrPath, where: str, held: HeldFolder | None = None
) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file at a real place, and nothing else: give its handle and its state.

    `where` is its name in messages. No part of the path is a link, so one that is there now came
    since, and is refused (`OSError`). Raises `ItemError` for a folder, a pipe or a device.
    """
    parent, name = os.path.split(os.fspath(real))
    opened = contextlib.nullcontext(held.enter(parent)) if held else _inside_folder(parent)
    with opened as (folder, lead):
        handle = os.open(lead + (name or os.curdir), _FLAGS | _NO_LINK, dir_fd=folder)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            kind = "a pipe, socket or device"
            if stat.S_ISDIR(state.st_mode):
                kind = "a folder; name the files in it, or a pattern like folder/**"
            raise ItemError(f"not a file but {kind}", where=where)
        note_read(state, real)
        yield handle, state
    finally:
        os.close(handle)


def open_stream(path: StrPath | int) -> io.BufferedReader:
    """Open a file, a pipe or a handle for reading; waits for the writer of a pipe."""
    stream = open(path, "rb", closefd=not isinstance(path, int))  # noqa: SIM115  the caller's
    note_read(os.fstat(stream.fileno()), f"/dev/fd/{path}" if isinstance(path, int) else path)
    return stream


# --- writing --------------------------------------------------------------------------------------

UNFINISHED_SUFFIX = ".unfinished"
"""Ending of temporary files; a killed process leaves one behind."""
_TARGET_NAME_CHARACTERS = 100  # of the target's name in the temporary one: a name has 255 bytes


@contextmanager
def write_whole(
    target: Path,
    mode: int | None = None,
    *,
    new: bool = False,
    sync: bool = True,
    held: HeldFolder | None = None,
) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing; at the end it replaces `target`, after an error it goes.

    When this returns, the content and the name are on the disk; without `sync`, a power cut may
    leave an older file, an empty one or none. `mode` holds the permissions; `None` means those of
    the file that is replaced, or of any new one. With `new`, an existing `target` is an error.
    The folder stays the one that was opened first, whatever takes its place. Many files with real
    paths share it as `held`; then the caller calls `sync_folder` after the last. Raises `OSError`
    with the name of `target`.
    """
    with naming_path(target), contextlib.ExitStack() as stack:
        if held is None:
            place = stack.enter_context(_inside_folder(os.path.realpath(target.parent)))
        else:
            place = held.enter(str(target.parent))
        folder, lead = place
        temporary = None
        try:
            opened, temporary = _open_locked(folder, lead, target.name)
            with opened as file:
                yield file
                file.flush()
                os.chmod(
                    file.fileno() if _CHMOD_TAKES_HANDLES else temporary,
                    _mode(folder, lead + target.name) if mode is None else mode,
                )
                if sync:
                    os.fsync(file.fileno())
                if fcntl is not None:  # still locked, so that nobody removes it in between
                    _move(folder, temporary, lead + target.name, new=new)
            if fcntl is None:  # Windows renames no open file
                _move(folder, temporary, lead + target.name, new=new)
        except BaseException:
            if temporary:
                with contextlib.suppress(OSError):  # `remove_unfinished` finds it
                    os.unlink(temporary, dir_fd=folder)
            raise
        if sync and held is None:
            sync_folder(target.parent)


@contextmanager
def _inside_folder(folder: str) -> Iterator[tuple[int | None, str]]:
    """Open a real folder part by part, for none of them may be a link by now.

    Gives its handle and nothing before a name in it; on Windows no handle, and its path.
    """
    if not _HAS_HANDLES:
        yield None, f"{folder}{os.sep}"
        return
    # O_PATH needs no right to list a folder.
    flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _NO_LINK
    absolute = os.path.abspath(folder)
    handle = os.open(os.sep, flags)
    try:
        for part in filter(None, absolute.split(os.sep)):
            inner = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, ""
    finally:
        os.close(handle)


def _mode(folder: int | None, name: str) -> int:
    with contextlib.suppress(OSError):
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(state.st_mode):
            return stat.S_IMODE(state.st_mode) & 0o777
    mask = os.umask(0)  # the only way to read it is to set it
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def naming_path(path: Path) -> Iterator[None]:
    """Put `path` into an `OSError` that names no file, or a temporary one."""
    try:
        yield
    except OSError as error:
        named = str(error.filename or "")
        if os.path.isabs(named) and not named.endswith(UNFINISHED_SUFFIX):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk; without effect on Windows."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(folder: Path, *names: str) -> int:
    """Remove temporary files of killed processes; return how many.

    `names` limit this to files for the targets of these names. Files that a process is writing now
    stay. Raises `OSError` with the name of the folder.
    """
    leads = tuple(map(_lead, names)) or (".",)
    with naming_path(folder):
        return sum(
            _remove_unlocked(folder / each)
            for each in os.listdir(folder)
            if each.endswith(UNFINISHED_SUFFIX) and each.startswith(leads)
        )


def _lead(name: str) -> str:
    return f".{name[:_TARGET_NAME_CHARACTERS]}."


def _open_locked(folder: int | None, lead: str, target: str) -> tuple[IO[bytes], str]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_BINARY", 0)
    while True:
        name = f"{lead}{_lead(target)}{os.urandom(6).hex()}{UNFINISHED_SUFFIX}"
        handle = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            _lock(handle)
            if os.fstat(handle).st_nlink or fcntl is None:
                return os.fdopen(handle, "wb"), name
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):  # `remove_unfinished` finds it
                os.unlink(name, dir_fd=folder)
            raise
        os.close(handle)  # another process cleaned it away before it was locked


def _move(folder: int | None, temporary: str, target: str, *, new: bool) -> None:
    if not new:
        os.replace(temporary, target, src_dir_fd=folder, dst_dir_fd=folder)
        return
    try:
        # Unlike a rename, a link fails where the name is taken.
        os.link(temporary, target, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.rename(temporary, target, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(temporary, dir_fd=folder)


def _lock(handle: int) -> bool:
    """Lock an open file; return False if another process holds it or the system cannot tell."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or a file system without locks
        return False
    return True


def _remove_unlocked(path: Path) -> bool:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        handle = os.open(path, os.O_RDONLY | _NO_LINK)
    except FileNotFoundError:
        return False
    try:
        if not _lock(handle):
            return False
        path.unlink(missing_ok=True)
        return True
    except PermissionError:  # Windows: it is open
        return False
    finally:
        os.close(handle)


def write_stream(path: StrPath, data: bytes) -> None:
    """Write into a device or a pipe, which no new file can take the place of."""
    with naming_path(Path(path)), open(path, "wb") as stream:
        stream.write(data)


def discard_output(handle: int) -> None:
    """Let all that is written to a handle from now on go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), handle)


def make_folder(path: Path, mode: int = 0o777, *, above: bool = True) -> None:
    """Make a folder, and those above it; one that is there is no error."""
    path.mkdir(mode, parents=above, exist_ok=True)


def make_private_folder(path: Path) -> None:
    """Make a folder for this user alone. Raises `OSError` for a link, and one of somebody else."""
    make_folder(path.parent)
    make_folder(path, 0o700)
    state = os.lstat(path)
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    _require_own(state, path)


def _require_own(state: os.stat_result, path: StrPath) -> None:
    """Raise `OSError` where another user owns a file or a folder, or may write to it."""
    if os.name != "nt" and (state.st_uid != os.getuid() or state.st_mode & 0o022):
        message = "another user owns it, or may write to it"
        raise PermissionError(errno.EPERM, message, str(path))


def remove_file(path: StrPath) -> None:
    """Remove a file or a link; one that is gone is no error."""
    Path(path).unlink(missing_ok=True)


def remove_folder(path: StrPath, *, whole: bool = False) -> None:
    """Remove an empty folder, or a `whole` one of our own with all that is in it."""
    if whole:
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.rmdir(path)


def make_temporary_folder(prefix: str = "promptforge-", folder: StrPath | None = None) -> Path:
    """Make a folder that this user alone can read; the caller removes it."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=folder))


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for a `with`, which removes it."""
    return tempfile.TemporaryDirectory(prefix="promptforge-")


def temporary_file() -> IO[bytes]:
    """Return a file without a name, which goes when it is closed."""
    return tempfile.TemporaryFile()


def copy_once(original: Path, copy: Path, link: Path) -> None:
    """Copy a file to `copy` if that is not there, and make `link` another name of the copy."""
    if not copy.exists():
        shutil.copyfile(original, copy)
    make_folder(link.parent)
    remove_file(link)
    link.hardlink_to(copy)


# --- files of the user's own ----------------------------------------------------------------------


def settings_folder() -> Path:
    """Return the user's folder of settings on this system."""
    return _user_folder("APPDATA", "AppData/Roaming", "Application Support", "XDG_CONFIG_HOME")


def cache_folder() -> Path:
    """Return the user's folder of what can be made again."""
    return _user_folder("LOCALAPPDATA", "AppData/Local", "Caches", "XDG_CACHE_HOME", ".cache")


def _user_folder(
    variable: str, windows: str, library: str, xdg: str, default: str = ".config"
) -> Path:
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get(variable) or home / windows)
    elif sys.platform == "darwin":
        base = home / "Library" / library
    else:
        # A relative path would let a cloned repository bring settings of its own.
        named = os.environ.get(xdg, "")
        base = Path(named) if os.path.isabs(named) else home / default
    return base / "promptforge"


def write_settings(name: str, value: Any) -> None:
    """Write plain data as JSON into the user's folder of settings, for its owner alone."""
    path = settings_folder() / name
    for folder in (settings_folder(), path.parent):
        make_folder(folder, 0o700)
    remove_unfinished(path.parent, path.name)
    with write_whole(path, 0o600) as file:
        file.write(json.dumps(value, indent=1).encode() + b"\n")
