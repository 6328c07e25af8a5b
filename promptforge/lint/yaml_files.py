"""Checking `layout.yaml` and profiles: every key, and how the values go together.

`LayoutFiles` are the layouts that they speak of.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..config.layouts import LAYOUT_VOCABULARY, NO_BASE, LayoutSettings, shipped_words, wrong_words
from ..config.options import OPTION_VOCABULARY, PROMPT_PARTS, TEMPLATE_OPTIONS, Options
from ..config.profiles import PROFILE_VOCABULARY, load_profile
from ..config.schema import Vocabulary
from ..engine import FORMAT_EXTENSIONS, Templates, format_of, list_tokenizers
from ..errors import ProfileError, PromptForgeError, certain_correction, quote, suggest_name
from ..files import tokenizer_file
from ..files.access import ALLOW_OUTSIDE, leads_outside, link_problem, read_utf8
from ..plugins import plugin_names
from ..templating.loader import suggest_format
from ..tokenizers.registry import strip_factor, suggest_spelling
from ..trimming.kinds import PROGRAM_KINDS, TRIMMERS_BY_KIND, refuse_unknown_trimmer
from ..yaml_reader import YamlPath, find_invisible, find_places, load_yaml
from .findings import Edit, Finding, LintedText, about_file

# --- layouts --------------------------------------------------------------------------------------


def known_kinds() -> set[str]:
    """Return the kinds that are known by name; there may be any others."""
    named = {*shipped_words()["kinds"], *TRIMMERS_BY_KIND, *PROGRAM_KINDS}
    return named | {"custom", "entity", "text"}


class LayoutFormat(NamedTuple):
    """A layout in one ending: its page, and its item templates by kind (`item` for all others)."""

    layout: str
    ending: str
    page: str
    items: Mapping[str, str]

    @property
    def format(self) -> str:
        """The format of its ending."""
        return format_of(self.ending)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its templates, the page first."""
        return self.page, *self.items.values()


class LayoutFiles:
    """The layouts of some folders. Unlike the engine, it goes on after a broken `layout.yaml`."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self._chains: dict[str, list[str]] = {}
        self.layouts = set(templates.layouts())

    def settings(self, layout: str) -> LayoutSettings | None:
        """Return a layout's own settings; `None` if its `layout.yaml` cannot be read."""
        try:
            return self._templates.folder_settings(layout)
        except PromptForgeError:  # said where layout.yaml is checked
            return None

    def chain(self, layout: str) -> list[str]:
        """Return a layout and its bases, nearest first; it ends before a base that is missing."""
        if layout not in self._chains:
            chain: list[str] = []
            name: str | None = layout
            while name and self._templates.is_layout(name) and name not in chain:
                chain.append(name)
                name = getattr(self.settings(name), "base", None)
            self._chains[layout] = chain
        return self._chains[layout]

    def kinds(self, layout: str) -> set[str]:
        """Return the kinds of a layout and its bases: by templates, settings, bases' sections."""
        chain = self.chain(layout)
        templates_of = self._templates.templates_of
        found = {parts.stem for folder in chain for parts, _ in templates_of(folder)}
        for folder in chain:
            settings = self.settings(folder) or LayoutSettings()
            found |= settings.kinds.keys()
            if folder != layout:
                found |= {*settings.sections, *settings.titles}
        return found

    def named_kinds(self, layout: str) -> set[str]:
        """Return the kinds a layout names itself: in its settings, or in more than one ending."""
        settings = self.settings(layout) or LayoutSettings()
        named = {*settings.sections, *settings.titles, *settings.kinds}
        stems = [parts.stem for parts, _ in self._templates.templates_of(layout)]
        return named | {stem for stem in stems if stems.count(stem) > 1}

    def pages(self, layout: str) -> list[LayoutFormat]:
        """Return the layouts, each in its formats, that are based on a layout, or all for ""."""
        return [each for each in self.formats() if not layout or layout in self.chain(each.layout)]

    def formats(self) -> Iterator[LayoutFormat]:
        """Yield every layout in every ending it has."""
        for layout in sorted(self.layouts):
            found: defaultdict[str, dict[str, str]] = defaultdict(dict)
            for folder in self.chain(layout):
                for parts, name in self._templates.templates_of(folder):
                    found[parts.ending].setdefault(parts.stem, name)
            for ending, files in sorted(found.items()):
                page = files.pop("layout", None)
                if page is not None and FORMAT_EXTENSIONS.get(ending) in (None, ending):
                    yield LayoutFormat(layout, ending, page, files)


def misspelt_kind(stem: str, named: Iterable[str] = ()) -> str | None:
    """Return the kind, known or `named` by the layout, that `stem` may be a misspelling of."""
    known = {*known_kinds(), *named, "layout", "item"}
    if stem in known:
        return None
    close = difflib.get_close_matches(stem, sorted(known), n=1, cutoff=0.8)
    return next(iter(close), None)


# --- keys -----------------------------------------------------------------------------------------


class YamlKeys:
    """The keys of one YAML file, each checked by itself."""

    def __init__(self, text: LintedText, vocabulary: Vocabulary) -> None:
        self.text = text
        self.values: dict[str, Any] = {}
        self.findings: list[Finding] = []
        self._places: Mapping[YamlPath, tuple[slice, slice]] = {}
        for line, char in find_invisible(text.text):
            message = f"the character {char} is invisible"
            self.findings.append(text.on(line, "PF834", message))
        try:
            values = load_yaml(text.text, text.path)
        except ProfileError as error:
            line, message = split_place(error, text.path)
            self.findings.append(text.on(line, "PF830", message, column=error.column))
            return
        if values is None or isinstance(values, dict):
            self._places = find_places(text.text)
            self._check(values or {}, vocabulary)
            return
        lines = enumerate(text.text.split("\n"), 1)
        first = next((n for n, line in lines if line.lstrip()[:1] not in ("", "#")), 1)
        message = "the file has lines of the form `key: value`, with a blank after the colon"
        self.findings.append(text.on(first, "PF830", message))

    def _check(self, values: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        for key, value in values.items():
            try:
                self.values[key] = vocabulary.check(key, value, lambda _: self.text.path)
            except ProfileError as error:
                if key in vocabulary:
                    self.findings.append(self.value(key, "PF832", error.bare, error.inside))
                    continue
                new = None
                if key not in vocabulary.elsewhere:
                    new = certain_correction(key, vocabulary)
                if new in values:
                    new = None
                self.findings.append(self.key(key, "PF831", error.bare, new))

    def key(self, key: str, code: str, message: str, new: str | None = None) -> Finding:
        """Return a finding about a key; `new` is the name that `--fix` writes."""
        if (key,) not in self._places:
            return self.text.on(1, code, message)
        place, _ = self._places[key,]
        edit = Edit(place.start, place.stop, new) if new else None
        return self.text.at(place.start, place.stop - place.start, code, message, edit)

    def value(self, key: str, code: str, message: str, inside: tuple[str, ...] = ()) -> Finding:
        """Return a finding about the value of a key, or of a key `inside` of it."""
        path = (key, *inside) if (key, *inside) in self._places else (key,)
        if path not in self._places:
            return self.text.on(1, code, message)
        word, place = self._places[path]
        # A value may begin on a line of its own, or be nothing.
        between = self.text.text[word.stop : place.start]
        if "unknown key" in message or "\n" in between or place.start == place.stop:
            place = word
        line = self.text.text[place].partition("\n")[0].rstrip()
        return self.text.at(place.start, len(line), code, message)

    def word(self, key: str, word: str, code: str, message: str) -> Finding:
        """Return a finding about a word in the value of a key."""
        pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        place = self._places[key,][1]
        found = pattern.search(self.text.text, place.start, place.stop)
        if found is None:
            return self.key(key, code, message)
        return self.text.at(found.start(), len(word), code, message)


def split_place(error: ProfileError, path: str) -> tuple[int, str]:
    """Return line and message of an error about the file `path`."""
    found = re.match(rf"{re.escape(path)}:(\d+): (.*)", str(error), re.DOTALL)
    if found is None:
        return 1, str(error).removeprefix(f"{path}: ")
    return int(found[1]), found[2]


# --- layout.yaml ----------------------------------------------------------------------------------


def check_layout_settings(
    templates: Templates, known: LayoutFiles, name: str, path: Path
) -> Iterator[Finding]:
    """Yield findings about the `layout.yaml` of a layout."""
    try:
        text = LintedText(path, templates.source(name)[0])
    except PromptForgeError as error:
        yield about_file(path, "PF825", str(error).removeprefix(f"{path}: "))
        return
    keys = YamlKeys(text, LAYOUT_VOCABULARY)
    yield from keys.findings
    own = name.rpartition("/")[0]  # "" for the settings of all layouts
    base = keys.values.get("base")
    if base is not None and not own:
        yield keys.key("base", "PF831", NO_BASE)
    elif base is not None and not templates.is_layout(base):
        hint = suggest_name(base, known.layouts - {own})
        yield keys.value("base", "PF833", f'there is no layout "{base}"{hint}')
    elif base is not None and own in known.chain(base):
        yield keys.value("base", "PF833", f'"{base}" is based on "{own}" in turn, in a circle')
    elif own and "/" not in own and not templates.templates_of(own) and not known.pages(own):
        message = f'the layout "{own}" has no page; add "layout.md.j2", or a base'
        yield about_file(path, "PF822", message)
    if keys.values.get("group_by") == "auto":
        message = "auto means what the layout says, and this is where it says it"
        yield keys.value("group_by", "PF832", message)
    yield from _words_and_kinds(keys)
    yield from _without_effect(keys, templates, known, own)
    yield from _left_open(keys)
    if keys.values.get("group_by", "kind") in ("kind", "category"):
        for key in ("sections", "titles"):
            yield from _misspelt_sections(keys, key, known.kinds(own))


_SECTION_TITLE = re.compile(r"\b(?!item\b)\w+\.title\b|\[\s*[\"']title")
"""A title of a section in a template; an item's `title` is its name."""


def _without_effect(
    keys: YamlKeys, templates: Templates, known: LayoutFiles, own: str
) -> Iterator[Finding]:
    """Yield findings about keys that no template of the layout, or of one based on it, prints."""
    stated = {"titles", *TEMPLATE_OPTIONS} & keys.values.keys()
    if keys.values.get("lines") == "each":  # the contents have the numbers
        stated.discard("lines")
    if not stated:
        return
    pairs = known.pages(own)
    if not pairs:
        return
    try:
        layouts = [templates.layout(each.layout, each.format) for each in pairs]
        printed = {
            name
            for name in stated
            if any(each.uses(TEMPLATE_OPTIONS.get(name, name)) for each in layouts)
        }
        if any(_SECTION_TITLE.search(each.sources()) for each in layouts):
            printed.add("titles")
    except PromptForgeError:  # said where these files are checked
        return
    message = "changes nothing: no template of the layout prints it"
    yield from (keys.key(key, "PF848", f"{key} {message}") for key in sorted(stated - printed))


def _words_and_kinds(keys: YamlKeys) -> Iterator[Finding]:
    wrong = wrong_words(keys.values.get("words", {}))
    if wrong is not None:
        yield keys.value("words", "PF832", f"words: {wrong[1]}", (wrong[0],))
    for kind, settings in keys.values.get("kinds", {}).items():
        if settings.trim_as and (message := refuse_unknown_trimmer(settings.trim_as)):
            yield keys.value("kinds", "PF832", message, (kind, "trim_as"))


# --- profiles -------------------------------------------------------------------------------------


def check_profile(
    path: Path, folders: Sequence[Path], known: LayoutFiles, templates: Templates
) -> Iterator[Finding]:
    """Yield findings about a profile."""
    problem = link_problem(path, path.parent)
    if problem:
        yield about_file(path, "PF825", problem)
        return
    try:
        data = read_utf8(path)
    except OSError as error:
        yield about_file(path, "PF825", f"cannot be read: {error.strerror}")
        return
    text = LintedText(path, data)
    keys = YamlKeys(text, PROFILE_VOCABULARY)
    yield from keys.findings
    below, wrong = _merged_options(path, folders, keys)
    if wrong is not None:
        yield wrong
    own = {key: value for key, value in keys.values.items() if key in OPTION_VOCABULARY}
    merged = {**below, **own}
    yield from _figures(keys, merged)
    yield from _left_open(keys)
    yield from _absent_names(keys, merged, known, templates)
    if "context" not in keys.values.get("prompt_order", PROMPT_PARTS):
        message = "names no context, so no item is ever in the prompt; add context"
        yield keys.value("prompt_order", "PF845", message)
    if merged.get("group_by", "auto") in ("auto", "none", "kind", "category"):
        kinds = known.kinds(merged.get("layout", Options().layout))
        yield from _misspelt_sections(keys, "section_budgets", kinds)


def _merged_options(
    path: Path, folders: Sequence[Path], keys: YamlKeys
) -> tuple[dict[str, Any], Finding | None]:
    """Return the options of a profile with those it builds on, and why these cannot be read."""
    broken = any(finding.severity == "error" for finding in keys.findings)
    loaded: Path | str = path
    if broken:  # it cannot be loaded itself; the one it extends can
        loaded = keys.values.get("extends") or "default"
    try:
        return load_profile(loaded, folders).options, None
    except ProfileError as error:
        file = (error.where or "").rpartition(":")[0]
        if broken:
            message = str(error)
            if file:
                message = f"what this builds on is wrong: {error}"
            if file and Path(file).resolve() == path.resolve():  # it leads back to here
                message = f'"{keys.values.get("extends")}" builds on this file too: circular'
            return {}, keys.value("extends", "PF833", message)
        line, message = split_place(error, str(path))
        if file != str(path):
            message = f"what this builds on is wrong: {message}"
        elif not error.option:
            return {}, keys.text.on(line, "PF832", message)
        return {}, keys.value("extends", "PF833", message)


def _absent_names(
    keys: YamlKeys, merged: Mapping[str, Any], known: LayoutFiles, templates: Templates
) -> Iterator[Finding]:
    """Yield layouts, formats, prompts and tokenizers that a profile names and that do not exist."""
    layout = merged.get("layout", Options().layout)
    if "layout" in keys.values and layout not in known.layouts:
        message = f"there is no layout {quote(layout)}{suggest_name(layout, known.layouts)}"
        yield keys.value("layout", "PF836", message)
    elif "format" in keys.values or "layout" in keys.values:
        wanted = merged.get("format", Options().format)
        try:
            have = templates.formats(layout)
        except PromptForgeError:  # said where the layout is checked
            have = [wanted]
        if wanted not in have:
            key = next(key for key in ("format", "layout") if key in keys.values)
            hint = suggest_format(wanted, have)
            message = f'the layout "{layout}" has no format {quote(wanted)}{hint}'
            yield keys.value(key, "PF836", message)
    prompt = keys.values.get("prompt")
    if prompt is not None and prompt.removeprefix("shipped/") not in templates.prompts():
        message = f"there is no prompt {quote(prompt)}{suggest_name(prompt, templates.prompts())}"
        yield keys.value("prompt", "PF836", message)
    tokenizer = keys.values.get("tokenizer")
    folder = Path(keys.text.path).parent
    file = tokenizer_file(tokenizer)
    if file is not None:
        reason = leads_outside(file, folder)
        if reason is not None:
            yield keys.value("tokenizer", "PF847", f"{reason}; {ALLOW_OUTSIDE}")
        if not (folder / file).is_file():
            yield keys.value("tokenizer", "PF836", f"there is no file {quote(file)}")
    elif isinstance(tokenizer, str) and (problem := _absent_tokenizer(tokenizer)):
        yield keys.value("tokenizer", "PF836", problem)


def _absent_tokenizer(name: str) -> str | None:
    base = strip_factor(name)
    meant = suggest_spelling(name)
    if meant is not None:
        return f"unknown tokenizer {quote(name)}; did you mean {quote(meant)}?"
    known = [each for each, _ in (*list_tokenizers(), *plugin_names("tokenizers"))]
    if base in known:
        return None
    return f"unknown tokenizer {quote(name)}{suggest_name(base, known)}"


def _figures(keys: YamlKeys, merged: Mapping[str, Any]) -> Iterator[Finding]:
    default = Options()
    window = merged.get("context_window", default.context_window)
    reserve = merged.get("reserve", default.reserve)
    most = merged.get("max_tokens", default.max_tokens)
    left = None if window is None else window - (reserve or 0)
    budgets = merged.get("section_budgets") or {}
    share = sum(budget.share for budget in budgets.values())
    least = sum(budget.min_tokens for budget in budgets.values())
    sections = ("section_budgets",)
    found: list[tuple[tuple[str, ...], str, str]] = []
    if left is not None and reserve is not None and left <= 0:
        message = f"reserve {reserve:,} leaves nothing of the context_window, {window:,}; lower it"
        found.append((("reserve", "context_window"), "PF840", message))
    if share > 1 + 1e-9:
        message = f"the shares of the sections add up to {share:.0%} of max_tokens"
        found.append((sections, "PF842", f"{message}; 100% is all there is"))
    if most is not None and least > most:
        message = f"the sections are sure of {least:,} tokens together, and max_tokens is {most:,}"
        found.append(((*sections, "max_tokens"), "PF842", message))
    for name, budget in budgets.items():
        if budget.max_tokens is not None and budget.min_tokens > budget.max_tokens:
            sure = f"is sure of {budget.min_tokens:,} tokens and may take {budget.max_tokens:,}"
            found.append((sections, "PF842", f'"{name}" {sure}'))
    for names, code, message in found:
        # The first of the names that this file sets is the one to change.
        here = [name for name in names if name in keys.values]
        if here:  # otherwise a file below is to blame, and has its own findings
            yield keys.value(here[0], code, message)


# --- both -----------------------------------------------------------------------------------------


def _misspelt_sections(keys: YamlKeys, key: str, kinds: set[str]) -> Iterator[Finding]:
    for name in keys.values.get(key) or ():
        near = misspelt_kind(name, kinds)
        if near is not None:
            message = f'no kind and no template is called {quote(name)}; did you mean "{near}"?'
            yield keys.word(key, name, "PF821", message)


def _left_open(keys: YamlKeys) -> Iterator[Finding]:
    """Yield texts around items that open a fence or comment in Markdown and do not close it."""
    for name in ("separator", "header"):
        text = str(keys.values.get(name) or "")
        mark = ""
        for line in text.split("\n"):
            found = re.match(r" {0,3}(`{3,}|~{3,})", line)
            if found and not mark:
                mark = found[1]
            elif found and found[1].startswith(mark) and not line[found.end() :].strip():
                mark = ""
        if not mark and text.count("<!--") > text.count("-->"):
            mark = "<!--"
        if mark:
            message = f"{name} opens {mark} and does not close it,"
            message += " so in Markdown the items after it are part of that"
            yield keys.value(name, "PF844", message)
