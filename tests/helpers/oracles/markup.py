"""Just enough XML escaping: what the place requires and nothing more."""

from __future__ import annotations


def escape_text(text: str) -> str:
    """Escape for element content."""
    # Deviation: the origin escapes five characters everywhere (or none at all); XML requires `&`
    # and `<` here, and
    # `>` only where it would end a CDATA section that was never begun.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


def escape_attribute(text: str) -> str:
    """Escape for an attribute value in double quotes."""
    # Deviation: as above; in this place XML requires `&`, `<` and the quote.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
