"""What a page asks for: one view of the items, or two side by side, with texts that are not saved yet."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ..errors import OptionError

MOST_DRAFTS = 20
"""Files that may be open with changes at the same time."""
LARGEST_DRAFT = 256 * 1024
"""Bytes of one of them."""


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is chosen on the page; `None` leaves it to the command line and the profile."""

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
    """A request for a page, for the account of it, for a comparison or for the whole prompt."""

    view: View
    other: View | None = None
    """The second side of a comparison."""
    drafts: dict[str, str] = {}
    """Id of a file → its text in the editor."""
    tokens: bool = False
    """Whether the places where tokens end are wanted."""
    to: str = "roles"
    """The shape of a whole prompt."""


class Wish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to become a golden case: what is seen, as the files on the disk print it."""

    view: View
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    expect: Literal["text", "bounds"]


Asked = TypeVar("Asked")


def decode(body: bytes, shape: type[Asked]) -> Asked:
    """Return the body of a request as what it is to be; raises `OptionError`."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OptionError(f"not a request of this page: {error}") from None


def read(body: bytes) -> Ask:
    """Return what a request asks for; raises `OptionError`."""
    ask = decode(body, Ask)
    if len(ask.drafts) > MOST_DRAFTS:
        raise OptionError(f"more than {MOST_DRAFTS} files with changes at a time; save some")
    for text in ask.drafts.values():
        if len(text.encode("utf-8", "surrogatepass")) > LARGEST_DRAFT:
            raise OptionError(f"a file is larger than {LARGEST_DRAFT // 1024} kB")
    return ask
