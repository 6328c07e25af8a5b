"""From a command line to a page that is served."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import OptionError
from ..items import Item
from .connections import listen, serve
from .desk import Desk
from .guard import Guard, Keys
from .pages import Pages

_SUFFIXES = (".yaml", ".yml")


def run(
    items: Sequence[Item],
    *,
    profile: str | None,
    options: Mapping[str, Any],
    templates: Sequence[Path],
    profiles: Sequence[Path],
    port: int,
    edit: bool,
    watched: Sequence[Path],
    gather: Callable[[], Sequence[Item] | None],
    tell: Callable[[str], None],
) -> None:
    """Serve the page until the user ends it. `tell` prints a line for the user; `gather` reads the items anew.

    Raises `OptionError` where the port is taken.
    """
    folders = list(profiles)
    if profile is not None and profile.endswith(_SUFFIXES):  # a file by its path: its folder comes first
        path = Path(profile)
        folders, profile = [path.parent, *folders], path.stem
    desk = Desk(items, profile, options, [p.resolve() for p in templates], [p.resolve() for p in folders], edit)
    try:
        listener = listen(port)
    except OSError as error:
        raise OptionError(f"port {port} cannot be used: {error.strerror}", option="port") from None

    def reload() -> None:
        found = gather()
        if found is not None:
            desk.take(found)

    with listener:
        keys = Keys(listener.getsockname()[1], lambda link: tell(f"that link was used; a new one: {link}"))
        pages = Pages(desk, watched=watched, reload=reload)
        tell(f"preview at {keys.link}")
        tell(f"the link works once, on this machine; {'edits can be saved' if edit else 'read-only'}; Ctrl-C ends it")
        try:
            serve(Guard(pages.app, keys), listener)
        except KeyboardInterrupt:
            tell("the preview has ended")
