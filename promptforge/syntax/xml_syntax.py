"""XML 1.0, and HTML by the same rules."""

from __future__ import annotations

import re
from typing import ClassVar

from ..text.escape import Content, Safe, VerbatimContent, to_label
from ..text.urls import DECODED_IN_XML, MADE_SCHEME, MADE_SCHEME_MESSAGE, SETTLES_SCHEME, url_places
from ..text.words import late_pattern
from .syntax import (
    BRANCHES,
    Inside,
    LineParts,
    PlacementError,
    Syntax,
    around,
    ends_with_value,
    static_text,
    with_marks,
)

XML_ILLEGAL = late_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_URLS_OF_TAGS = {
    "action": "form",
    "background": "body|table|t[dhr]|tbody|thead|tfoot",
    "cite": "blockquote|del|ins|q",
    "data": "object",
    "longdesc": "i?frame|img",
    "manifest": "html",
    "ping": "a|area",
}
"""Attribute that takes an address in these tags of HTML, and in others is any text."""
URL_ATTRIBUTE = r"(?:[\w.-]+:)?(?:href|src|formaction|poster|srcset|imagesrcset|" + (
    f"{'|'.join(_URLS_OF_TAGS)})"
)
"""Matches the name of an attribute that may take an address, in small letters."""
_OPENED_ATTRIBUTE = late_pattern(r'(\0?)(?<![\w:.-])([\w:.-]+)\s*=\s*"\Z')
_AMID_WORD = late_pattern(r"[\w:.-]\Z")
_OPENED_TAG = late_pattern(r"(?s:.*)<([\w:.-]+)")
_CLOSES_CDATA = "a value that ends in ] would make ]]> with the > after it; write &gt; there"
URL_SEPARATOR = late_pattern(r"[\s,]+")
_TAG = late_pattern(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>|&[^&;]*;", re.DOTALL
)
_QUOTED = late_pattern(r"\"[^\"]*\"|'[^']*'")
_ENTITY = late_pattern(r"&[^&;]*;")


def _attribute_mode(before: str, *, amid_word: bool) -> str:
    """Return the mode of XML after `before`, which ends with the quote that opens an attribute.

    `amid_word`: a branch before it may end amid a word.
    """
    name, tag = _OPENED_ATTRIBUTE.search(before), _OPENED_TAG.match(before)
    if name is None or (name[1] and amid_word):  # a branch may hold the name, or some of it
        message = "write the name and the quote of an attribute together"
        raise PlacementError(f'{message}, as in title="{{{{ value }}}}"')
    attribute = name[2].lower().rpartition(":")[2]
    if not re.fullmatch(URL_ATTRIBUTE, attribute):
        return "attribute"
    tags = _URLS_OF_TAGS.get(attribute)
    if tags and tag and not re.fullmatch(tags, tag[1], re.IGNORECASE):
        return "attribute"
    return "urls" if attribute.endswith("srcset") or attribute == "ping" else "url"


def xml_text(value: object) -> Safe:
    """Return a value for character data; `&`, `<` and the `>` of `]]>` are escaped."""
    if isinstance(value, Safe):
        return value
    if type(value) is VerbatimContent:
        return value.delimited()
    text = value if type(value) is Content else to_label(value)
    if "&" in text or "<" in text or "]]>" in text:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    return Safe(XML_ILLEGAL.sub("\ufffd", text))


def xml_joined(value: object) -> Safe:
    """Return character data after another value or a bracket, where a `>` may end a `]]>`."""
    text = xml_text(value)
    if isinstance(value, Safe | VerbatimContent):
        return text
    return Safe(re.sub(r"^(\]{0,2})>", r"\1&gt;", text))


def xml_unknown(value: object) -> Safe:
    """Return a value that suits both text and an attribute: another template decides."""
    return value if isinstance(value, Safe) else xml_attribute(value)


def xml_attribute(value: object) -> Safe:
    """Return a label for an attribute in double quotes; safe text is escaped here too."""
    if isinstance(value, Safe):
        return Safe(value.replace("<", "&lt;").replace('"', "&quot;"))
    text = to_label(value)
    if "&" in text or "<" in text or '"' in text or ">" in text:
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        # `]]>` is harmless in an attribute, but a macro may print this between tags.
        text = text.replace("]]>", "]]&gt;")
    return Safe(XML_ILLEGAL.sub("\ufffd", text))


class Xml(Syntax):
    """XML 1.0, and HTML by the same rules. Modes: `tag`, `attribute`, `comment`, `unknown`.

    Amid a word of a tag, such as the name of an attribute, the mode is `word`.
    In an attribute that takes an address the mode is `url`, and `url_part` or `url_rest` after text
    of the template's own; `urls` and so on in one that takes several.
    """

    name = "xml"
    is_taggable = True
    keeps_returns = False
    uncarried = (XML_ILLEGAL, "characters that XML cannot carry, replaced by U+FFFD")
    places: ClassVar = {
        "text": xml_text,
        "joined": xml_joined,
        "attribute": xml_attribute,
        "unknown": xml_unknown,
        **url_places(DECODED_IN_XML),
    }
    _text = re.compile(r"<!(?=--)|<!\[CDATA\[|[<>]")
    _marks: ClassVar = {
        "": _text,
        "unknown": _text,  # the first angle bracket tells
        "tag": re.compile(r"[\"'>]"),
        "word": re.compile(r"[\"'>]"),
        "attribute": re.compile(r'"'),
        "comment": re.compile(r"-->"),
        **dict.fromkeys(
            ("url", "url_part", "url_rest", "urls", "urls_part", "urls_rest"), re.compile(r'"')
        ),
    }
    """By mode: the marks that may end it."""

    def start(self, known: bool) -> str:
        return "" if known else "unknown"

    def feed(self, mode: str, line: LineParts, text: str) -> str:
        at, was = 0, mode
        if mode in ("", "unknown") and ends_with_value(line) and text.startswith((">", "]>")):
            raise PlacementError(_CLOSES_CDATA)
        if mode.startswith("url") and (not line or ends_with_value(line)):
            self._refuse_scheme(mode, text)
        while found := self._marks[mode].search(text, at):
            mark, at = found[0], found.end()
            if mark == "'":  # the escape of attributes leaves this quote alone
                at = text.find("'", at) + 1
                if at == 0:
                    raise PlacementError("write attributes in double quotes")
            elif mark == "<![CDATA[":
                at = text.find("]]>", at) + 3
                if at == 2:
                    raise PlacementError(
                        "a value cannot stand in a CDATA section; print it as text"
                    )
            elif mark == '"':
                before, opens = with_marks(line) + text[:at], mode in ("tag", "word")
                mode = _attribute_mode(before, amid_word=was == "word") if opens else "tag"
            else:
                mode = {"<!": "comment", "<": "tag", ">": "", "-->": ""}[mark]
        if mode in ("tag", "word") and text:
            return "word" if _AMID_WORD.search(text) else "tag"
        return self._after_url(mode, text[at:]) if mode.startswith("url") else mode

    def _refuse_scheme(self, mode: str, text: str) -> None:
        """Refuse text that would make a scheme of the values before it."""
        if mode.startswith("urls"):
            text = URL_SEPARATOR.split(text, maxsplit=1)[0]
        if not mode.endswith("_rest") and MADE_SCHEME.match(f"\0{text}"):
            raise PlacementError(MADE_SCHEME_MESSAGE)

    def _after_url(self, mode: str, text: str) -> str:
        """Return the mode after text of the template's own in an address."""
        kind, _, _ = mode.partition("_")
        if kind == "urls" and (last := URL_SEPARATOR.split(text))[1:]:
            mode, text = kind, last[-1]  # the next address begins
        if not text or mode.endswith("_rest"):
            return mode
        return f"{kind}_{'rest' if SETTLES_SCHEME.search(text) else 'part'}"

    def place(self, mode: str, line: LineParts) -> str:
        if mode.startswith("url"):
            place = mode.replace("urls", "url")
            return "url_part" if place == "url" and ends_with_value(line) else place
        if mode in ("tag", "word", "comment"):
            where = f"a value cannot stand in a {mode.replace('word', 'tag')}"
            raise PlacementError(f"{where}; put it in an attribute in double quotes")
        if mode:  # also `unknown`: in a macro or block, the escape that is right everywhere
            return mode
        # XML text must not hold `]]>`: after `]`, or a value that ends so, `]>` would make one.
        if ends_with_value(line) or static_text(line).endswith("]"):
            return "joined"
        return "text"

    def join(self, a: str, b: str) -> str:
        if {a, b} == {"tag", "word"}:
            return "word"
        if {a, b} & {"tag", "word", "comment"}:
            raise PlacementError(BRANCHES.format("the tag"))
        if a.startswith("url") and b.startswith("url"):
            return f"{a.partition('_')[0]}_part"  # what is right in either
        return "unknown"

    def end(self, mode: str) -> None:
        if mode in ("tag", "word", "attribute", "comment") or mode.startswith("url"):
            kinds = {"tag": "a tag", "word": "a tag", "comment": "a comment"}
            where = kinds.get(mode, "an attribute")
            message = f"a template or block cannot begin or end in {where}; close it first"
            raise PlacementError(message)

    def inside(self, text: str) -> Inside:
        tags = list(_TAG.finditer(text))

        def inside(place: int) -> bool:
            tag = around(tags, place)
            if tag is None:
                return True
            if tag[0][0] == "&" or tag[0][1] in "!?":
                return False
            value = around(list(_QUOTED.finditer(text, tag.start(), tag.end())), place)
            return (
                value is not None
                and around(list(_ENTITY.finditer(text, value.start(), value.end())), place) is None
            )

        return inside

    def problem(self, text: str, ending: str) -> str | None:
        from xml.parsers import expat

        if ending == "html":
            return None
        # Items beside each other have no root element.
        body = re.sub(r"\A\s*<\?xml[^>]*\?>|<!DOCTYPE[^>]*>", "", text)
        try:
            expat.ParserCreate().Parse(f"<all>{body}</all>", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            lines = text.splitlines()
            line = lines[min(error.lineno, len(lines)) - 1].strip()[:60]
            return f"no well-formed XML: {reason}, near {line!a}"
        return None


XML = Xml()
