"""Requests of the page: one view of the items or two side by side, with texts not saved yet."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ..errors import OptionError

MOST_DRAFTS = 20
"""Files with unsaved changes at one time."""
LARGEST_DRAFT = 256 * 1024
"""Bytes of one of them."""


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's choices on the page; `None` leaves one to the command line and the profile."""

    profile: str | None = None
    layout: str | None = None
    format: str | None = None
    max_tokens: int | None = None
    query: str | None = None

    def options(self) -> dict[str, Any]:
        """Return the options that are chosen."""
        names = ("layout", "format", "max_tokens", "query")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a text, its account, a comparison or the whole prompt."""

    view: View
    other: View | None = None
    """Second side of a comparison."""
    drafts: dict[str, str] = {}
    """Id of a file → its text in the editor."""
    tokens: bool = False
    """Also return the ends of all tokens."""
    to: str = "roles"
    """Shape of the whole prompt."""


class Wish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to save the view as a golden case, as the files on the disk render it."""

    view: View
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    expect: Literal["text", "bounds"]


Asked = TypeVar("Asked")


def decode(body: bytes, shape: type[Asked]) -> Asked:
    """Parse the body of a request; raises `OptionError`."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OptionError(f"not a request of this page: {error}") from None


def read(body: bytes) -> Ask:
    """Parse a request to draw, within the limits for drafts; raises `OptionError`."""
    ask = decode(body, Ask)
    if len(ask.drafts) > MOST_DRAFTS:
        raise OptionError(f"more than {MOST_DRAFTS} files with changes at a time; save some")
    for text in ask.drafts.values():
        if len(text.encode("utf-8", "surrogatepass")) > LARGEST_DRAFT:
            raise OptionError(f"a file is larger than {LARGEST_DRAFT // 1024} kB")
    return ask
