"""Values as URLs: percent-encoded, so that a reader takes all of a value for the address.

Only a scheme that a browser opens as a page or a letter stays: `javascript:`, `data:`, `file:` and
all others become a relative address that leads nowhere, and can still be read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .escape import Escape, InertUrl, Safe
from .format import to_text
from .words import late_pattern

SCHEMES = frozenset({"http", "https", "mailto"})
"""Schemes that stay; an address without one is relative."""
# Brackets, quotes, `*`, `$`, `|` and the like mean something to one reader of Markdown or another.
_ENCODED = late_pattern(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~:/?#@!&+,;=%]|~(?=~)")
_SCHEME = late_pattern(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE_OF_MARKDOWN = late_pattern(r"\\([!-/:-@\[-`{-~])")
SETTLES_SCHEME = late_pattern(r"[/:?#]")
"""After one of these in an address nothing can be its scheme."""
# An entity may stand for the colon; `&a=b` is none.
MADE_SCHEME = late_pattern(
    r"\s*(?:[A-Za-z0-9+.;\s-]|&#?)*+\0(?:[A-Za-z0-9+.\s\0-])*+(?::|&(?!amp;|[\w.-]+=))"
)
"""Matches an address, NUL for each value, in which the template's colon ends a value's scheme."""
MADE_SCHEME_MESSAGE = (
    "the value before this colon would be the scheme of an address, such as javascript; write the"
    " scheme and its colon together, as https:"
)
BEGINS_WITH_SCHEME = late_pattern(r"(?i)(?:https?|mailto):[^\s<>]")
"""Matches a text that a reader of Markdown takes for an address between angle brackets."""
DECODED_IN_MARKDOWN, DECODED_IN_XML = r"&(?=#?[0-9A-Za-z]{1,32};)", "&"
"""An ampersand that a reader decodes with what follows it."""


class EncodedUrl(NamedTuple):
    """An address, or a part of one, in ASCII."""

    text: str
    inert: bool
    """True where it had a scheme that does not stay."""


def encode_url(text: str, *, begins: bool = True, settled: bool = False) -> EncodedUrl:
    """Return a text percent-encoded as an address; escapes that it has already stay.

    `begins`: it stands at the beginning of the address. Otherwise `settled` tells whether the
    address before it has its scheme, or can have none.

    >>> encode_url("http://a) tail (x").text
    'http://a%29%20tail%20%28x'
    """
    encoded = _ENCODED.sub(_percent, text)
    if begins:
        scheme = _SCHEME.match(encoded)
        if scheme is not None and scheme[1].lower() not in SCHEMES:
            return EncodedUrl(encoded.replace(":", "%3A", 1), True)
    elif not settled:
        encoded = encoded.replace(":", "%3A")
    return EncodedUrl(encoded, False)


def _percent(found: re.Match[str]) -> str:
    char = "\ufffd" if "\ud800" <= found[0] <= "\udfff" else found[0]
    return "".join(f"%{byte:02X}" for byte in char.encode())


def without_escapes(text: str) -> str:
    """Return a text that a template made without its escapes of Markdown, XML or HTML."""
    from html import unescape

    return unescape(_ESCAPE_OF_MARKDOWN.sub(r"\1", text))


def url_escape(ampersand: str, *, begins: bool = True, settled: bool = False) -> Escape:
    """Return the escape of an address; `ampersand` matches what a reader would decode."""
    decoded = late_pattern(ampersand)

    def url(value: object) -> Safe:
        """Return a value percent-encoded as an address, or as a part of one."""
        text = to_text(value)
        if isinstance(value, Safe):  # `{% set %}` may have escaped it for another place
            text = without_escapes(text)
        made = encode_url(text, begins=begins, settled=settled)
        kind = InertUrl if made.inert else Safe
        return kind(decoded.sub("&amp;", made.text))

    return url


def url_places(ampersand: str) -> dict[str, Escape]:
    """Return the escapes of an address, of a part that may end its scheme, and of a later part."""
    return {
        "url": url_escape(ampersand),
        "url_part": url_escape(ampersand, begins=False),
        "url_rest": url_escape(ampersand, begins=False, settled=True),
    }


def url_place(before: str) -> str:
    """Return the place in an address after `before`."""
    if not before:
        return "url"
    return "url_rest" if SETTLES_SCHEME.search(before) else "url_part"
