"""The files that a check reads: paths a user names, layouts, and templates parsed once each."""

from __future__ import annotations

import difflib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import nodes

from ..authoring.golden import is_cases_file
from ..config.layouts import LayoutSettings, shipped_words
from ..errors import OptionError, PromptForgeError, quote, suggest_name
from ..files import YAML_SUFFIXES, read_utf8
from ..templating.autoescape import references, template_syntax
from ..templating.failures import node_offset, word_length
from ..templating.loader import PROMPTS_FOLDER, TemplateName, Templates
from ..trimming.kinds import PROGRAM_KINDS, TRIMMERS_BY_KIND
from ..yaml_reader import load_yaml
from .findings import Edit, Finding, LintedText
from .template_reader import (
    ANY_SHAPE,
    ITEM_VARIABLES,
    PAGE_VARIABLES,
    PROMPT_VARIABLES,
    ParsedTemplate,
    Scope,
    Shape,
    parse_template,
    walk_scopes,
)

# --- paths that a user names ----------------------------------------------------------------------

MAX_FILES_LISTED = 50_000
MAX_FOLDER_DEPTH = 4
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})


class LintTargets:
    """Folders and files to check."""

    def __init__(self) -> None:
        self.templates: list[Path] = []
        """Template folders."""
        self.profiles: list[Path] = []
        """Profile files."""
        self.cases: list[Path] = []
        """Files of cases that lie among the profiles."""
        self._files: set[Path] = set()
        self._whole_folders: set[Path] = set()

    def add(self, path: Path) -> None:
        """Add a file or folder; raises `OptionError` if there is nothing to check."""
        if path.is_dir():
            self._add_folder(path)
        elif not path.exists():
            raise OptionError(f"there is no file or folder {quote(str(path))}")
        elif path.suffix == ".j2" or path.name == "layout.yaml":
            self._add_part(path, _depth_in_templates(path))
        else:
            other = _other_use(path)
            if path.suffix not in YAML_SUFFIXES or other:
                known = "neither a template (.j2), a layout.yaml nor a profile (.yaml)"
                raise OptionError(f"{quote(str(path))} is {known}{other}")
            self.profiles.append(path)

    def asks_for(self, path: Path) -> bool:
        """Tell whether findings about a file are asked for."""
        if path in self._files or path in self.profiles or path in self.cases:
            return True
        return any(path.is_relative_to(folder) for folder in self._whole_folders)

    def stray_files(self) -> Iterator[tuple[Path, Path]]:
        """Yield folder and file of every file in the template folders that are checked whole."""
        for folder in self._whole_folders:
            for path in _list_files(folder):
                yield folder, path

    def unreadable_folders(self) -> Iterator[str]:
        """Yield the folders directly in template folders that cannot be listed."""
        for folder in self._whole_folders:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.path)
            except OSError:
                yield str(folder)
                continue
            for entry in entries:
                if entry.is_dir() and not os.access(entry.path, os.R_OK | os.X_OK):
                    yield entry.path

    def _add_folder(self, path: Path) -> None:
        try:
            names = set(os.listdir(path))
        except OSError as error:
            message = f"the folder {quote(str(path))} cannot be read: {error.strerror}"
            raise OptionError(message) from None
        if any(map(_is_page, names)) and not _holds_layouts(path) and path.name != "templates":
            self._add_part(path, 1)
        elif _is_prompt_set(path):
            self._add_part(path, 2)
        elif os.path.basename(os.path.abspath(path)) == PROMPTS_FOLDER and _holds_layouts(path):
            self._add_part(path, 1)
        else:
            self._add_project(path, names)

    def _add_project(self, path: Path, names: set[str]) -> None:
        """Add a folder of templates, of profiles, or one with both in folders of these names."""
        found = True
        # A folder of templates may well lie beside one of profiles, and be called anything.
        if _holds_layouts(path) or any(name.endswith((".j2", "layout.yaml")) for name in names):
            self._add_whole(path)
        elif {"templates", "profiles"} & {name for name in names if (path / name).is_dir()}:
            if (path / "templates").is_dir():
                self._add_whole(path / "templates")
            if (path / "profiles").is_dir():
                self._add_profiles(path / "profiles")
        else:
            found = self._add_profiles(path)
        if path.name == "profiles":
            found = self._add_profiles(path) or found
        if not found and (names or path.name not in ("templates", "profiles")):
            why = ""
            if self.cases:
                why = f"; {self.cases[-1].name}{_other_use(self.cases[-1])[1:]}"
            message = f"the folder {quote(str(path))} holds no templates, layouts or profiles{why}"
            raise OptionError(message)

    def _add_profiles(self, path: Path) -> bool:
        """Add the profiles of a folder; tell whether there are any."""
        listed = [each for each in sorted(path.iterdir()) if each.suffix in YAML_SUFFIXES]
        cases = [each for each in listed if is_cases_file(each)]
        profiles = [each for each in listed if each not in cases]
        self.cases += (each for each in cases if each not in self.cases)
        self.profiles += (each for each in profiles if each not in self.profiles)
        return bool(profiles)

    def _add_part(self, path: Path, depth: int) -> None:
        """Add a file, or all files of a folder, at this depth in a template folder."""
        if len(path.parts) < depth:  # `item.md.j2`, seen from its own folder
            path = Path(os.path.abspath(path))
        self._add_templates(path.parents[depth - 1])
        self._files.update([path] if path.is_file() else _list_files(path))

    def _add_whole(self, path: Path) -> None:
        self._add_templates(path)
        self._whole_folders.add(path)

    def _add_templates(self, path: Path) -> None:
        if path not in self.templates:
            self.templates.append(path)


def _is_page(name: str) -> bool:
    return name == "layout.yaml" or (name.startswith("layout.") and name.endswith(".j2"))


def _holds_layouts(path: Path) -> bool:
    patterns = ("*/layout.yaml", "*/*.j2", f"{PROMPTS_FOLDER}/*/*.j2")
    return any(any(path.glob(pattern)) for pattern in patterns)


def _is_prompt_set(folder: Path) -> bool:
    """Tell whether a folder is `prompt/SET`."""
    above = Path(os.path.abspath(folder)).parent
    return above.name == PROMPTS_FOLDER and not any(_is_page(each.name) for each in above.iterdir())


def _depth_in_templates(path: Path) -> int:
    """Return the number of folders between a template file and its template folder, plus one."""
    if path.suffix != ".j2":  # beside the layouts it holds for all of them
        beside = path.parent.name == "templates" or _holds_layouts(path.parent)
        return 2 - beside
    if _is_prompt_set(path.parent):
        return 3
    # A file beside the layouts, where no template belongs: check says so.
    pages = any(_is_page(each.name) for each in path.parent.iterdir())
    if _holds_layouts(path.parent) and not pages:
        return 1
    return 2


def _other_use(path: Path) -> str:
    """Return the command that takes a file that is no profile, as the end of a message."""
    if path.suffix in (".json", ".jsonl"):
        return "; files of items are for `promptforge render`"
    if path.suffix not in YAML_SUFFIXES:
        return ""
    if is_cases_file(path):
        return "; it holds cases, which `promptforge test` takes"
    try:
        values = load_yaml(read_utf8(path), str(path))
    except (OSError, ValueError, PromptForgeError):  # said where it is read
        return ""
    if isinstance(values, list) or (isinstance(values, dict) and "items" in values):
        return "; it holds items, which `promptforge render` takes"
    if isinstance(values, dict) and "knowledge" in values:
        return "; it is a job: `promptforge render --job`"
    return ""


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its folders, none that is hidden; links are not followed."""
    left = MAX_FILES_LISTED
    for root, folders, files in os.walk(folder):
        left -= len(folders) + len(files)
        if left < 0:
            return
        shown = {name for name in folders if not name.startswith(".")} - _SKIPPED_FOLDERS
        if len(Path(root).relative_to(folder).parts) + 1 >= MAX_FOLDER_DEPTH:
            shown.clear()
        folders[:] = sorted(shown)  # `os.walk` goes on with these
        yield from (Path(root, name) for name in sorted(files) if not name.startswith("."))


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
    def files(self) -> tuple[str, ...]:
        """The names of its templates, the page first."""
        return self.page, *self.items.values()


class LayoutFiles:
    """The layouts of some folders. Unlike the engine, it goes on after a broken `layout.yaml`."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self._settings: dict[str, LayoutSettings | None] = {}
        self.templates: defaultdict[str, list[tuple[TemplateName, str]]] = defaultdict(list)
        """The templates in each layout's folder, each with its name in parts."""
        self.layouts: set[str] = set()
        for name in templates.names():
            parts = TemplateName.parse(name)
            if parts is not None:
                self.templates[parts.layout].append((parts, name))
        self.layouts.update(templates.layouts())

    def settings(self, layout: str) -> LayoutSettings | None:
        """Return a layout's own settings; `None` if its `layout.yaml` cannot be read."""
        if layout not in self._settings:
            try:
                self._settings[layout] = self._templates.folder_settings(layout)
            except PromptForgeError:  # said where layout.yaml is checked
                self._settings[layout] = None
        return self._settings[layout]

    def chain(self, layout: str) -> list[str]:
        """Return a layout and its bases, nearest first; it ends before a base that is missing."""
        chain: list[str] = []
        name: str | None = layout
        while name and self._templates.is_layout(name) and name not in chain:
            chain.append(name)
            name = getattr(self.settings(name), "base", None)
        return chain

    def kinds(self, layout: str) -> set[str]:
        """Return the kinds that a layout and its bases have templates for, and bases' sections."""
        chain = self.chain(layout)
        templates_of = self._templates.templates_of
        found = {parts.stem for folder in chain for parts, _ in templates_of(folder)}
        for settings in map(self.settings, chain[1:]):
            if settings is not None:
                found |= {*settings.sections, *settings.titles}
        return found

    def named_kinds(self, layout: str) -> set[str]:
        """Return the kinds a layout names itself: in its settings, or in more than one ending."""
        settings = self.settings(layout) or LayoutSettings()
        named = {*settings.sections, *settings.titles, *settings.kinds}
        stems = [parts.stem for parts, _ in self.templates[layout]]
        return named | {stem for stem in stems if stems.count(stem) > 1}

    def formats(self) -> Iterator[LayoutFormat]:
        """Yield every layout in every ending it has."""
        for layout in sorted(self.layouts):
            found: defaultdict[str, dict[str, str]] = defaultdict(dict)
            for folder in self.chain(layout):
                for parts, name in self._templates.templates_of(folder):
                    found[parts.ending].setdefault(parts.stem, name)
            for ending, files in sorted(found.items()):
                page = files.pop("layout", None)
                if page is not None:
                    yield LayoutFormat(layout, ending, page, files)


def variables_seen(stem: str) -> Mapping[str, Shape]:
    """Return the variables of the page, or those of an item template."""
    return PAGE_VARIABLES if stem == "layout" else ITEM_VARIABLES


def misspelt_kind(stem: str, named: Iterable[str] = ()) -> str | None:
    """Return the kind, known or `named` by the layout, that `stem` may be a misspelling of."""
    known = {*known_kinds(), *named, "layout", "item"}
    if stem in known:
        return None
    close = difflib.get_close_matches(stem, sorted(known), n=1, cutoff=0.8)
    return next(iter(close), None)


def prompt_part(name: str) -> str | None:
    """Return PART of `prompt/SET/PART.EXT.j2`; `None` for any other name."""
    folder, _, file = name.rpartition("/")
    part, _, ending = file.removesuffix(".j2").partition(".")
    if not folder.startswith("prompt/") or folder.count("/") != 1 or not file.endswith(".j2"):
        return None
    return part if ending and part in PROMPT_VARIABLES else None


# --- templates ------------------------------------------------------------------------------------

MAX_WALKS = 2000
"""Walks from one root. Pieces that include each other twice make endlessly many."""
_TEMPLATE_NAME = re.compile(r"[\"']([\w./-]+\.j2)[\"']")


class LintedTemplate(NamedTuple):
    """One template, parsed."""

    name: str
    text: LintedText
    shipped: bool
    parsed: ParsedTemplate
    links: tuple[tuple[nodes.Node, int, str], ...]
    """The templates it extends, includes or imports from: statement, offset of the name, name."""

    @property
    def body(self) -> list[nodes.Node]:
        """Its statements; none if it cannot be read."""
        return getattr(self.parsed.root, "body", [])

    @property
    def parent(self) -> str | None:
        """The template it extends."""
        return next((name for node, _, name in self.links if isinstance(node, nodes.Extends)), None)


class TemplateLibrary:
    """All templates of some folders, and the findings about them."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self.names = templates.names()
        self.unreadable: list[tuple[str, str]] = []
        """Files that cannot be read, and why."""
        self.findings: list[Finding] = []
        self._parsed: dict[str, LintedTemplate | None] = {}
        self._walked: dict[tuple[str, tuple[str, ...]], dict[str, Scope]] = {}
        self._walks_left = MAX_WALKS
        self._circular: set[str] = set()
        """Templates that draw on themselves."""

    def template(self, name: str) -> LintedTemplate | None:
        """Return the template `name`, parsed; `None` if it is missing or cannot be read."""
        if name not in self._parsed:
            self._parsed[name] = self._read(name)
        return self._parsed[name]

    def path(self, name: str) -> Path | None:
        """Return the file of the template `name`."""
        found = self.templates.find(name)
        return None if found is None else found.path

    def _read(self, name: str) -> LintedTemplate | None:
        found = self.templates.find(name)
        if found is None:
            return None
        try:
            text, _ = self.templates.source(name)
        except PromptForgeError as error:
            self.unreadable.append((str(found.path), str(error).removeprefix(f"{found.path}: ")))
            return None
        parsed = parse_template(text, name)
        links: list[tuple[nodes.Node, int, str]] = []
        if parsed.root is not None:
            links = [(node, node_offset(at), other) for node, at, other in references(parsed.root)]
        return LintedTemplate(
            name, LintedText(found.path, text), found.shipped, parsed, tuple(links)
        )

    def reached(self, name: str) -> set[str]:
        """Return a template and all that it draws on, by their names."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                template = self.template(one)
                if template is not None:
                    waiting += [other for _, _, other in template.links]
        return found

    def mentioned(self, names: Iterable[str]) -> set[str]:
        """Return templates and all that they may draw on, told without parsing: rather too many.

        A check of one file must not parse all the shipped templates.
        """
        found = set(names)
        waiting = list(found)
        while waiting:
            try:
                text, _ = self.templates.source(waiting.pop())
            except PromptForgeError:
                continue
            more = set(_TEMPLATE_NAME.findall(text)) - found
            found |= more
            waiting += more
        return found

    # --- one file ---------------------------------------------------------------------------------

    def read(self, name: str) -> None:
        """Note the problems of one template, and of its links to others."""
        template = self.template(name)
        if template is None:
            return
        self.findings += map(template.text.mistake, template.parsed.problems)
        for node, at, target in template.links:
            self.findings += self._link(template, node, at, target)
        if template.parent is not None:
            self.findings += _outside_blocks(template)

    def _link(
        self, template: LintedTemplate, node: nodes.Node, at: int, target: str
    ) -> Iterator[Finding]:
        text = template.text
        length = word_length(text.text, at)
        other = self.template(target)
        if other is None:
            if self.path(target) is None:
                hint = suggest_name(target, self.names)
                yield text.at(at, length, "PF805", f'there is no template "{target}"{hint}')
        elif Path(text.path) in map(self.path, self.reached(target)):
            self._circular.add(template.name)
            yield self._circle(template, at, length, target)
        elif isinstance(node, nodes.FromImport) and other.parsed.root is not None:
            macros = {macro.name for macro in other.parsed.root.find_all(nodes.Macro)}
            for word in (name if isinstance(name, str) else name[0] for name in node.names):
                if word not in macros:
                    place = max(text.text.find(word, at + length), at)
                    message = f'"{target}" has no macro "{word}"{suggest_name(word, macros)}'
                    yield text.at(place, len(word), "PF805", message)

    def _circle(self, template: LintedTemplate, at: int, length: int, target: str) -> Finding:
        shipped = self.templates.find(f"shipped/{target}") is not None
        edit = None
        if target != template.name:
            way_out = "one of them must do without"
            if shipped:
                way_out = f'the original is "shipped/{target}"'
            message = f'"{target}" draws on this file in turn, in a circle; {way_out}'
        elif shipped and not template.shipped:
            edit = Edit(at + 1, at + 1, "shipped/")
            message = f'this is the file itself; the original is "shipped/{target}"'
        else:
            message = "this is the file itself; name the one it builds on, or take it out"
        return template.text.at(at, length, "PF807", message, edit)

    # --- variables and blocks ---------------------------------------------------------------------

    def walk(
        self, name: str, scope: Mapping[str, Shape], within: Sequence[str] = ()
    ) -> dict[str, Scope]:
        """Follow a template and those it draws on, given its variables.

        Returns the variables of its blocks, by their names.
        """
        # The same template with the same variables has the same findings.
        key = (name, tuple(sorted(f"{word} {id(shape)}" for word, shape in scope.items())))
        if not within:
            self._walks_left = MAX_WALKS
        self._walks_left -= 1
        if key in self._walked or name in within or self._walks_left < 0:
            return self._walked.get(key, {})
        self._walked[key] = {}
        template = self.template(name)
        if template is None or template.parsed.root is None:
            return {}
        inside = (*within, name)
        root, parent = template.parsed.root, template.parent
        outer: dict[str, Scope] = {}
        if parent is not None:
            if not self._knows_parents(template):  # then the variables of its blocks are unknown
                return {}
            bound = {n.name: ANY_SHAPE for n in root.find_all(nodes.Name) if n.ctx == "store"}
            outer = self.walk(parent, {**bound, **scope}, inside)
        for node, _, target in template.links:
            if isinstance(node, nodes.FromImport):
                self.walk(target, {}, inside)

        def follow(target: str, seen: Mapping[str, Shape]) -> None:
            self.walk(target, seen, inside)

        text, syntax = template.text.text, template_syntax(name)
        walked = walk_scopes(root, text, syntax, scope, outer, follow)
        self.findings += map(template.text.mistake, walked.problems)
        if parent is not None and name not in self._circular:
            self.findings += _unknown_blocks(template, outer)
        self._walked[key] = {**outer, **walked.blocks}
        return self._walked[key]

    def _knows_parents(self, template: LintedTemplate) -> bool:
        """Tell whether all templates above one are there, can be read, and are no circle."""
        seen = {template.text.path}
        while template.parent is not None:
            above = self.template(template.parent)
            if above is None or above.parsed.root is None or above.text.path in seen:
                return False
            seen.add(above.text.path)
            template = above
        return True


def _unknown_blocks(template: LintedTemplate, outer: Mapping[str, Scope]) -> Iterator[Finding]:
    """Yield blocks that no parent has, so that nobody shows them."""
    text = template.text
    for block in template.body:
        if isinstance(block, nodes.Block) and block.name not in outer:
            at = node_offset(block)
            place = max(text.text.find(block.name, at + 5), at)
            hint = suggest_name(block.name, outer)
            message = f'no template above has a block "{block.name}", so it is not shown{hint}'
            yield text.at(place, len(block.name), "PF813", message)


def _outside_blocks(template: LintedTemplate) -> Iterator[Finding]:
    """Yield text outside the blocks of a template that extends another."""
    text = template.text
    extended = False
    body = template.body
    if not any(isinstance(node, nodes.Extends) for node in body):  # only in an if or a loop
        return
    for node in body:
        extended = extended or isinstance(node, nodes.Extends)
        for child in getattr(node, "nodes", ()):  # of an `Output`, which prints
            at = node_offset(child)
            data = getattr(child, "data", "x")  # a value prints something or other
            start = at + len(data) - len(data.lstrip())
            if data.strip() and extended:
                message = "this stands outside of the blocks, so it is not printed"
                yield text.at(start, len(data.strip().split("\n")[0]), "PF812", message)
            elif data.strip():
                message = "this stands before the page that is extended, and is printed there"
                yield text.at(start, 1, "PF812", message)
            elif not extended and data:
                message = "the blank line before {% extends %} is printed;"
                message += " {% extends %} follows the comment at once"
                yield text.at(at, 1, "PF812", message, Edit(at, at + len(data), ""))
