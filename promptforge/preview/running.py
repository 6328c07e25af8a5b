"""Serve the preview until the user ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import OptionError
from ..items import Item
from .connections import listen, server
from .desk import Desk
from .guard import Guard, Keys
from .pages import Pages


def run(
    desk: Desk,
    *,
    port: int,
    watched: Sequence[Path],
    gather: Callable[[], Sequence[Item] | None],
    tell: Callable[[str], None],
) -> None:
    """Serve the page until Ctrl-C; port 0 stands for any free one.

    `tell` prints a line for the user. When a file in `watched` changes, `gather` reads all items
    anew, or returns None to keep the old ones. Raises `OptionError` where the port is taken.
    """
    try:
        listener = listen(port)
    except OSError as error:
        raise OptionError(f"port {port} cannot be used: {error.strerror}", option="port") from None

    def reload() -> None:
        found = gather()
        if found is not None:
            desk.take(found)

    with listener:
        keys = Keys(
            listener.getsockname()[1], lambda link: tell(f"that link was used; a new one: {link}")
        )
        pages = Pages(desk, watched=watched, reload=reload)
        tell(f"preview at {keys.link}")
        saves = "edits can be saved" if desk.edit else "read-only"
        tell(f"the link works once, on this machine; {saves}; Ctrl-C ends it")
        try:
            server(Guard(pages.app, keys)).run(sockets=[listener])
        except KeyboardInterrupt:
            tell("the preview has ended")
