"""Layouts: the settings of a `layout.yaml`."""

from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from ..errors import ProfileError
from .options import OPTION_VOCABULARY, LibraryName
from .profiles import read_values
from .schema import Rule, Vocabulary, matching, rules_of

LAYOUT_OPTIONS = (
    "group_by", "separator", "order", "marker", "headers", "line_numbers", "scores", "sources",
    "code", "header", "footer", "fence_language", "combine", "score_order", "min_score",
    "max_items",
)  # fmt: skip
"""Options that a layout may set: display and the use of found items. Cost belongs to profiles."""
_TagOrNone = Annotated[str, matching("[A-Za-z0-9_+#.-]*", "a language tag such as python or c++")]
_Extension = Annotated[str, Meta(pattern=r"^\.?[a-z0-9_+#.-]+$(?!\n)")]


class LayoutSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one layout."""

    # fmt: off
    base: Annotated[LibraryName | None,
        "Another layout: its templates stand in for missing ones; none: no layout."] = None
    description: Annotated[str, "One sentence for lists."] = ""
    sections: Annotated[tuple[str, ...], "The keys of the first sections, in their order."] = ()
    titles: Annotated[dict[str, str], "Key of a section → its heading."] = {}
    languages: Annotated[dict[_Extension, _TagOrNone] | None,
        "Extension of a file → language tag, the only tags of this layout; none: all tags."] = None
    # fmt: on
    trim_end: Annotated[bool, "Take white space off the end of the text."] = False
    options: Annotated[dict[str, Any], ""] = {}
    """Checked display options, `group_by` and `separator` among them."""

    stated: Annotated[tuple[str, ...], ""] = ()
    """Keys of its file, without options."""

    def over(self, base: Self) -> Self:
        """Return these settings over those of `base`; mappings are merged key by key."""
        own = {key: getattr(self, key) for key in self.stated}
        for key in ("titles", "languages"):
            if own.get(key):
                own[key] = {**(getattr(base, key) or {}), **own[key]}
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


def _rules() -> dict[str, Rule]:
    own = rules_of(LayoutSettings)
    del own["options"], own["stated"]
    return own | {name: OPTION_VOCABULARY.rules[name] for name in LAYOUT_OPTIONS}


_ELSEWHERE = dict.fromkeys(OPTION_VOCABULARY, "it belongs in a profile, not in a layout")
LAYOUT_VOCABULARY = Vocabulary(
    "key", _rules(), _ELSEWHERE | {"extends": "a layout that builds on another says base"}
)
"""Every key of a `layout.yaml`."""


def load_layout_settings(text: str, where: str) -> LayoutSettings:
    """Return the settings in `text`, the content of the file `where`.

    Raises `ProfileError` with `file:line` for an unknown key, an option of profiles, a bad value.
    """
    values, place = read_values(LAYOUT_VOCABULARY, text, where)
    if values.get("group_by") == "auto":
        raise ProfileError(
            "group_by: auto has no meaning here; say none, file, kind, category, origin or a"
            " metadata key",
            where=place("group_by"),
            option="group_by",
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
