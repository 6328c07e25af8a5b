"""Files in stores elsewhere, such as `s3://bucket/rows.jsonl`, read and written through fsspec."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ItemError, OptionError, pip_install, quote
from . import is_pattern, is_url
from .access import note_read_path, temporary_folder


@contextmanager
def local_copy(path: str) -> Iterator[str]:
    """Yield `path`; for a URL the path of a copy, which is removed afterwards.

    Raises `ItemError` for a URL that cannot be read, `OptionError` without the extra `remote`.
    """
    if not is_url(path):
        yield path
        return
    files, remote = _open_remote(path)
    with temporary_folder() as folder:
        # The name stays, for its suffix tells JSON Lines from Parquet.
        target = os.path.join(folder, os.path.basename(remote) or "input")
        try:
            files.get_file(remote, target)
            note_read_path(remote)  # of `file://` it is a file of this machine
        except Exception as error:  # each store has its own
            raise ItemError(f"cannot be read: {_reason(error)}", where=path) from None
        yield target


def check_url(url: str) -> None:
    """Raise `OptionError` for a URL of a store that cannot be reached from here."""
    _open_remote(url)


def list_url(url: str) -> dict[str, int | None]:
    """Return the files at a URL and their bytes: of a folder all, of a pattern those that match.

    Any other URL is a file itself. Raises `ItemError` for a store that does not answer,
    `OptionError` without the extra `remote`.
    """
    store, remote = _open_remote(url)
    try:
        if is_pattern(remote):
            found = store.glob(remote, detail=True)
        elif store.isdir(remote):
            found = store.find(remote, detail=True)
        else:
            return {url: store.size(remote) if store.exists(remote) else None}
    except Exception as error:
        raise ItemError(f"cannot be read: {_reason(error)}", where=url) from None
    return {
        store.unstrip_protocol(name): facts.get("size")
        for name, facts in sorted(found.items())
        if facts.get("type") != "directory"
    }


def copy_to_url(files: Mapping[str, Path], url: str) -> list[str]:
    """Copy files into the folder at `url`; return their URLs. Raises `OptionError` if one fails."""
    store, remote = _open_remote(url)
    copied = []
    for name, path in files.items():
        target = f"{remote.rstrip('/')}/{name}"
        try:
            store.makedirs(target.rpartition("/")[0], exist_ok=True)
            # `file://` may name the folder they were made in.
            with contextlib.suppress(shutil.SameFileError):
                store.put_file(str(path), target)
        except Exception as error:
            raise OptionError(f"{url}: cannot write {name}: {_reason(error)}") from None
        copied.append(f"{url.rstrip('/')}/{name}")
    return copied


def _open_remote(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs

        found: tuple[Any, str] = url_to_fs(url)
    except ImportError as error:
        missing = error.name or str(error)
        raise OptionError(
            f"{url} is a URL, and needs a package ({missing}): {pip_install('remote')}, and for"
            " s3:// or gs:// the package s3fs or gcsfs"
        ) from None
    except Exception as error:
        raise OptionError(f"{url}: {_reason(error)}") from None
    return found


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {quote(str(error), 200)}"
