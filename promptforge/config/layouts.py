"""Layouts: the settings of a `layout.yaml`.

One beside the folders of the layouts holds for all of them; that of a layout is laid over it, and a
user's over the shipped one of its name, key by key.
"""

import functools
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta

from ..errors import ProfileError, quote, suggest_name
from ..files import shipped_folder
from ..files.access import read_utf8
from ..text.format import Marks
from ..yaml_reader import load_shipped_yaml
from .options import FORMER_OPTIONS, OPTION_VOCABULARY, LibraryName
from .profiles import read_values
from .schema import Rule, Vocabulary, matching, rules_of

LAYOUT_OPTIONS = (
    "group_by", "separator", "order", "marker", "headers", "lines", "scores", "sources",
    "tree", "code", "header", "footer", "fence_language", "combine", "score_order", "min_score",
    "max_items",
)  # fmt: skip
"""Options that a layout may set: display and the use of found items. Cost belongs to profiles."""
_TagOrNone = Annotated[str, matching("[A-Za-z0-9_+#.-]*", "a language tag such as python or c++")]
_Extension = Annotated[str, Meta(pattern=r"^\.?[a-z0-9_+#.-]+$(?!\n)")]


NO_BASE = "a layout.yaml beside the folders holds for all layouts, so it has no base"
_PLACEHOLDER = re.compile(r"\{\w+\}")
_PHRASE = re.compile(r"[^\x00-\x1f\x7f\x85\u2028\u2029]*")
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")


class KindSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of one kind of items; an empty one is not set."""

    category: Annotated[str, matching("[A-Za-z0-9_-]*", "a word such as documentation")] = ""
    title: str = ""
    """The kind in words."""
    trim_as: str = ""
    """The kind or language as which its text is shortened."""


_KINDS_TAKE = "a mapping of kinds, each to category, title or trim_as, such as {log: {title: Log}}"


class LayoutSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one layout."""

    # fmt: off
    base: Annotated[LibraryName | None,
        "Another layout: its templates stand in for missing ones; none: no layout."] = None
    description: Annotated[str, "One sentence for lists."] = ""
    syntax: Annotated[Literal["markdown", "xml", "json", "yaml", "toon", "plain"] | None,
        "Escapes templates with an ending that is no syntax; none: as plain text."] = None
    sections: Annotated[tuple[str, ...], "The keys of the first sections, in their order."] = ()
    titles: Annotated[dict[str, str], "Key of a section → its heading."] = {}
    languages: Annotated[dict[_Extension, _TagOrNone] | None,
        "Extension of a file → language tag, the only tags of this layout; none: all tags."] = None
    words: Annotated[dict[str, str],
        "Words that no template prints: marks of what is left out, and of places."] = {}
    kinds: Annotated[
        Annotated[dict[str, KindSettings], Meta(extra={"takes": _KINDS_TAKE})],
        "A kind of items → its category, its title, and the kind as which it is shortened."] = {}
    # fmt: on
    trim_end: Annotated[bool, "Take white space off the end of the text."] = False
    options: Annotated[dict[str, Any], ""] = {}
    """Checked display options, `group_by` and `separator` among them."""

    stated: Annotated[tuple[str, ...], ""] = ()
    """Keys of its file, without options."""

    def over(self, base: Self) -> Self:
        """Return these settings over those of `base`; mappings are merged key by key."""
        own = {key: getattr(self, key) for key in self.stated}
        for key in ("titles", "languages", "words"):
            if own.get(key):
                own[key] = {**(getattr(base, key) or {}), **own[key]}
        if "kinds" in own:
            own["kinds"] = {**base.kinds, **own["kinds"]}
            for kind in self.kinds.keys() & base.kinds:
                given = msgspec.structs.asdict(self.kinds[kind])
                given = {name: value for name, value in given.items() if value}
                own["kinds"][kind] = msgspec.structs.replace(base.kinds[kind], **given)
        return msgspec.structs.replace(
            base,
            **own,
            options=base.options | self.options,
            stated=tuple(dict.fromkeys(base.stated + self.stated)),
        )

    @property
    def group_by(self) -> str:
        """The meaning of `group_by: auto` in this layout."""
        return str(self.options.get("group_by", "none"))

    @property
    def separator(self) -> str | None:
        """The text between two items when the option is none; `None` leaves it to the templates."""
        text: str | None = self.options.get("separator")
        return text

    def marks(self, marker: str) -> Marks:
        """Return its words, with the option `marker`."""
        words = {**shipped_words()["words"], **self.words}
        return Marks(marker, **{name: words[name] for name in Marks._fields[1:]})

    @property
    def headings(self) -> dict[str, str]:
        """The headings of sections by kind: `titles`, then the titles of kinds."""
        return {**self.of_kinds("title"), **self.titles}

    def of_kinds(self, setting: str) -> dict[str, str]:
        """Return one setting of the kinds by kind, where it is set."""
        found = {kind: getattr(each, setting) for kind, each in self.kinds.items()}
        return {kind: value for kind, value in found.items() if value}


@functools.cache
def shipped_words() -> Mapping[str, Mapping[str, Any]]:
    """Return the shipped settings of all layouts, as their file has them: `words` and `kinds`."""
    path = shipped_folder("templates") / "layout.yaml"
    found: dict[str, dict[str, Any]] = load_shipped_yaml(read_utf8(path), str(path))[0]
    return found


RETIRED_WORDS = frozenset(
    f"{name}_{end}"
    for end in ("left_out", "gone")
    for name in ("line", "lines", "row", "rows", "characters", "sentences")
)
"""Words of earlier files, which counted what is left out: they are read, and print nothing."""


def wrong_words(words: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the first wrong one of `words`, and the message about it."""
    shipped = shipped_words()["words"]
    for name, phrase in words.items():
        if name in RETIRED_WORDS:
            continue
        if name not in shipped:
            return name, f"unknown key {quote(name)}{suggest_name(name, shipped)}"
        has, takes = (set(_PLACEHOLDER.findall(text)) for text in (phrase, shipped[name]))
        if not has <= takes:
            said = ", ".join(sorted(takes)) or "no words in braces"
            return name, f"{name} fills in {said}; got {', '.join(sorted(has - takes))}"
        if not _PHRASE.fullmatch(phrase):
            return name, f"{name} takes a text on one line"
        if name == "content_tag" and not _TAG_NAME.fullmatch(phrase):
            return name, f"{name} takes letters, digits, '_' and '-'; got {quote(phrase)}"
    return None


def _rules() -> dict[str, Rule]:
    own = rules_of(LayoutSettings)
    del own["options"], own["stated"]
    return own | {name: OPTION_VOCABULARY.rules[name] for name in LAYOUT_OPTIONS}


_ELSEWHERE = dict.fromkeys(OPTION_VOCABULARY, "it belongs in a profile, not in a layout")
LAYOUT_VOCABULARY = Vocabulary(
    "key",
    _rules(),
    _ELSEWHERE | {"extends": "a layout that builds on another says base"},
    FORMER_OPTIONS,
)
"""Every key of a `layout.yaml`."""


@functools.lru_cache(maxsize=256)
def load_layout_settings(text: str, where: str) -> LayoutSettings:
    """Return the settings in `text`, the content of the file `where`.

    Raises `ProfileError` with `file:line` for an unknown key, an option of profiles, a bad value.
    """
    values, place = read_values(LAYOUT_VOCABULARY, text, where)
    if values.get("group_by") == "auto":
        raise ProfileError(
            "group_by: auto has no meaning here; use none, file, kind, category, origin or a"
            " metadata key",
            where=place("group_by"),
            option="group_by",
        )
    wrong = wrong_words(values.get("words", {}))
    if wrong is not None:
        raise ProfileError(
            f"words: {wrong[1]}", where=place("words"), option="words", inside=(wrong[0],)
        )
    if values.get("languages"):
        values["languages"] = {
            extension.removeprefix("."): tag for extension, tag in values["languages"].items()
        }
    own = {key: value for key, value in values.items() if key not in LAYOUT_OPTIONS}
    display = {key: value for key, value in values.items() if key in LAYOUT_OPTIONS}
    return LayoutSettings(**own, options=display, stated=tuple(own))


def layout_schema() -> dict[str, Any]:
    """Return the JSON Schema of a `layout.yaml`."""
    return LAYOUT_VOCABULARY.schema("promptforge layout")
