"""The rules of every syntax: the escape of each place, and those of addresses.

`templating.autoescape` finds the place of a value; the names of places are its own.
"""

from __future__ import annotations

import re

from .escape import (
    YAML_LITERAL_INDENTS,
    Escape,
    InertUrl,
    Safe,
    json_string,
    json_value,
    md_cell,
    md_heading,
    md_inline,
    md_joined,
    md_line,
    md_link,
    plain_inline,
    plain_line,
    plain_own,
    to_label,
    xml_attribute,
    xml_joined,
    xml_text,
    xml_unknown,
    yaml_block,
    yaml_string,
    yaml_value,
)
from .format import to_text
from .urls import (
    BEGINS_WITH_SCHEME,
    DECODED_IN_MARKDOWN,
    DECODED_IN_XML,
    encode_url,
    without_escapes,
)
from .words import late_pattern


def _url_escape(ampersand: str, *, begins: bool = True, settled: bool = False) -> Escape:
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


def _url_places(ampersand: str) -> dict[str, Escape]:
    """Return the escapes of an address, of a part that may end its scheme, and of a later part."""
    return {
        "url": _url_escape(ampersand),
        "url_part": _url_escape(ampersand, begins=False),
        "url_rest": _url_escape(ampersand, begins=False, settled=True),
    }


def md_autolink(value: object) -> Safe:
    """Return an address between angle brackets; any other value would make a tag of HTML there."""
    text = to_text(value)
    if BEGINS_WITH_SCHEME.match(text):
        return _url_escape(DECODED_IN_MARKDOWN)(value)
    return Safe(f" {md_inline(str.__str__(text)).lstrip()}")


def md_title(value: object) -> Safe:
    """Return a label for the title of a link, between quotes or brackets of the template."""
    text = to_label(without_escapes(value) if isinstance(value, Safe) else value)
    return Safe(re.sub(r"""[&"'()<>\\`*_{}\[\]$|~]""", lambda found: f"&#{ord(found[0])};", text))


PLACES: dict[str, dict[str, Escape]] = {
    "md": dict(
        line=md_line,
        heading=md_heading,
        inline=md_inline,
        cell=md_cell,
        joined=md_joined,
        link=md_link,
        autolink=md_autolink,
        title=md_title,
        **_url_places(DECODED_IN_MARKDOWN),
    ),
    "xml": dict(
        text=xml_text,
        joined=xml_joined,
        attribute=xml_attribute,
        unknown=xml_unknown,
        **_url_places(DECODED_IN_XML),
    ),
    "json": {"value": json_value, "string": json_string},
    "yaml": {
        "value": yaml_value,
        "string": yaml_string,
        **{f"block{indent}": yaml_block(indent) for indent in YAML_LITERAL_INDENTS},
    },
    "txt": {"line": plain_line, "own": plain_own, "inline": plain_inline},
}
"""Extension of a template → place → escape. An unknown extension is plain text."""
ALIASES = {"html": "xml", "svg": "xml", "markdown": "md", "jsonl": "json", "yml": "yaml"}


def syntax_of(extension: str) -> str:
    """Return the syntax of an extension: `md`, `xml`, `json`, `yaml` or `txt`."""
    known = ALIASES.get(extension, extension)
    return known if known in PLACES else "txt"
