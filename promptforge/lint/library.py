"""The template files there are, each read and parsed once; what they draw on, and what they use of what they see.

Which layouts there are, which files they are made of, and which files nobody reads.

What there is to check: paths → template folders, profiles, and the files among them that are meant.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import nodes

from ..config.layouts import LayoutSettings, load_layout_settings
from ..errors import OptionError, PromptForgeError, quote, suggest_name
from ..files import YAML_SUFFIXES, read_bytes
from ..selection.group import CATEGORY_OF_KIND
from ..templating.autoescape import references, template_syntax
from ..templating.failures import node_offset, word_length
from ..templating.loader import PROMPTS_FOLDER, Templates, parse_template_name
from ..trimming.kinds import PROGRAM_KINDS, TRIMMERS_BY_KIND
from ..yaml_reader import load_yaml
from .findings import Edit, Finding, LintedText
from .template_reader import (
    ANY_SHAPE,
    ITEM_VARIABLES,
    MAX_TRIAL_STEPS,
    PAGE_VARIABLES,
    PROMPT_VARIABLES,
    ParsedTemplate,
    Scope,
    ScopeWalk,
    Shape,
    count_steps,
    parse_template,
)

KNOWN_KINDS = frozenset(
    {*CATEGORY_OF_KIND, *TRIMMERS_BY_KIND, *PROGRAM_KINDS, "custom", "entity", "file", "text"}
)
"""Kinds that are known by name; there may be any others."""


class LayoutFormat(NamedTuple):
    """A layout in one ending: its page, and the looks of kinds by their names (`item` for all others)."""

    layout: str
    ending: str
    page: str
    items: Mapping[str, str]


class LayoutFiles:
    """The layouts of some folders, read without stopping at what is wrong with one of them."""

    def __init__(self, templates: Templates, names: list[str]) -> None:
        self._templates = templates
        self._settings: dict[str, LayoutSettings | None] = {}
        self.names: dict[str, list[str]] = {}
        """The names of the templates in each layout's folder."""
        for name in names:
            if name.endswith("/layout.yaml") or parse_template_name(name):
                self.names.setdefault(name.split("/")[0], []).append(name)
        self.layouts = {
            layout
            for layout, files in self.names.items()
            if any("/layout." in name for name in files)
        }

    def settings(self, layout: str) -> LayoutSettings | None:
        """Return the settings of a layout, its own alone; `None` where its `layout.yaml` cannot be read."""
        if layout not in self._settings:
            name = f"{layout}/layout.yaml"
            self._settings[layout] = LayoutSettings()
            if self._templates.find(name) is not None:
                try:
                    text, found = self._templates.source(name)
                    self._settings[layout] = load_layout_settings(text, str(found.path))
                except PromptForgeError:  # said where layout.yaml is looked at
                    self._settings[layout] = None
        return self._settings[layout]

    def _base(self, layout: str) -> str | None:
        name = f"{layout}/layout.yaml"
        found = self._templates.find(name)
        if found is None or (
            found.shipped and "base:" not in self._templates.source(name)[0]
        ):  # no YAML to be read
            return None
        settings = self.settings(layout)
        return settings.base if settings else None

    def kinds(self, layout: str) -> set[str]:
        """Return the kinds that a layout, or one that it is based on, has looks for, and the sections of its bases."""
        chain = self.chain(layout)
        found = {
            part.stem
            for folder in chain
            for name in self.names[folder]
            if (part := parse_template_name(name)) is not None
        }
        settings = [self.settings(folder) for folder in chain]
        above = {key for each in settings[1:] if each for key in (*each.sections, *each.titles)}
        return found | above

    def chain(self, layout: str) -> list[str]:
        """Return a layout and those it is based on, nearest first; it ends where a base is not there."""
        chain: list[str] = []
        name: str | None = layout
        while name and name in self.layouts and name not in chain:
            chain.append(name)
            name = self._base(name)
        return chain

    def pairs(self) -> Iterator[LayoutFormat]:
        """Yield every layout in every ending it has."""
        for layout in sorted(self.layouts):
            found: dict[str, dict[str, str]] = {}
            for folder in self.chain(layout):
                for name in self.names[folder]:
                    part = parse_template_name(name)
                    if part is not None:
                        found.setdefault(part.ending, {}).setdefault(part.stem, name)
            for ending, files in sorted(found.items()):
                page = files.pop("layout", None)
                if page is not None:
                    yield LayoutFormat(layout, ending, page, files)


def variables_seen(stem: str) -> Mapping[str, Shape]:
    """Return the variables of the page, or of the template of an item."""
    return PAGE_VARIABLES if stem == "layout" else ITEM_VARIABLES


def misspelt_kind(stem: str, named: Iterable[str] = ()) -> str | None:
    """Return the kind, known or `named` by the layout, that `stem` may be a misspelling of."""
    if stem in KNOWN_KINDS or stem in ("layout", "item") or stem in named:
        return None
    close = difflib.get_close_matches(
        stem, [*KNOWN_KINDS, *named, "layout", "item"], n=1, cutoff=0.8
    )
    return close[0] if close else None


def prompt_part(name: str) -> str | None:
    """Return the part of a whole prompt that the template `prompt/SET/PART.EXT.j2` prints; `None` for any other."""
    folder, _, file = name.rpartition("/")
    part, _, ending = file.removesuffix(".j2").partition(".")
    known = (
        folder.startswith("prompt/") and folder.count("/") == 1 and file.endswith(".j2") and ending
    )
    return part if known and part in PROMPT_VARIABLES else None


MAX_FILES_LISTED = 50_000
"""Files of one folder that are looked at."""

MAX_FOLDER_DEPTH = 4
"""Folders within folders in which they are looked for."""

_SKIPPED = frozenset({"__pycache__", "node_modules"})


class LintTargets:
    """Folders and files to check."""

    def __init__(self) -> None:
        self.templates: list[Path] = []
        """Template folders."""
        self.profiles: list[Path] = []
        """Profile files."""
        self.others: list[Path] = []
        """Files of cases that lie among the profiles."""
        self.only: set[Path] = set()
        """The template files that are meant; empty: all in the folders."""
        self.all: set[Path] = set()
        """The template folders of which every file is meant."""

    def add(self, path: Path) -> None:
        """Add a file or folder. Raises `OptionError` for what is not there or nothing to check."""
        if path.is_dir():
            self._add_folder(path)
        elif not path.exists():
            raise OptionError(f"there is no file or folder {quote(str(path))}")
        elif path.suffix == ".j2" and _is_set(path.parent):
            self._some(path, 3)
        elif path.suffix == ".j2" or path.name == "layout.yaml":
            nested = _is_root(path.parent) and not any(
                _is_page(each.name) for each in path.parent.iterdir()
            )
            self._some(path, 1 if nested and path.suffix == ".j2" else 2)
        else:
            other = _other(path)
            if path.suffix not in YAML_SUFFIXES or other:
                message = f"{quote(str(path))} is neither a template (.j2), a layout.yaml nor a profile (.yaml)"
                raise OptionError(f"{message}{other}")
            self.profiles.append(path)

    def _add_folder(self, path: Path) -> None:
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            raise OptionError(
                f"the folder {quote(str(path))} cannot be read: {error.strerror}"
            ) from None
        names = {entry.name for entry in entries}
        if any(map(_is_page, names)) and not _is_root(path):
            self._some(path, 1)
            return
        if _is_set(path) or (
            os.path.basename(os.path.abspath(path)) == PROMPTS_FOLDER and _is_root(path)
        ):
            self._some(path, 2 if _is_set(path) else 1)
            return
        known = False
        if _is_root(path) or any(name.endswith(".j2") for name in names):
            self._root(path)
            self.all.add(path)
            known = True
        else:
            for name in ("templates", "profiles"):
                if name in names and (path / name).is_dir():
                    self._part(path / name, name)
                    known = True
        if not known or path.name == "profiles":
            known = self._profiles(path) or known
        if not known and (names or path.name not in ("templates", "profiles")):
            why = f"; {self.others[-1].name}{_other(self.others[-1])[1:]}" if self.others else ""
            raise OptionError(
                f"the folder {quote(str(path))} holds no templates, layouts or profiles{why}"
            )

    def _profiles(self, path: Path) -> bool:
        """Add the profiles of a folder, and tell whether there are any."""
        listed = [each for each in sorted(path.iterdir()) if each.suffix in YAML_SUFFIXES]
        others = [each for each in listed if holds_cases(each)]
        self.others += others
        self.profiles += (found := [each for each in listed if each not in others])
        return bool(found)

    def _part(self, path: Path, name: str) -> None:
        if name == "templates":
            self._root(path)
            self.all.add(path)
        else:
            self._profiles(path)

    def _some(self, path: Path, depth: int) -> None:
        """Add a file, or all of a folder, that lies so deep in a template folder."""
        if len(path.parts) < depth:  # `item.md.j2`, seen from its own folder
            path = Path(os.path.abspath(path))
        self._root(path.parents[depth - 1])
        self.only.update([path] if path.is_file() else list_files(path))

    def _root(self, path: Path) -> None:
        if path not in self.templates:
            self.templates.append(path)

    def meant(self, path: Path) -> bool:
        """Whether findings about a template file are asked for."""
        return path in self.only or any(path.is_relative_to(folder) for folder in self.all)


def _is_page(name: str) -> bool:
    return name == "layout.yaml" or (name.startswith("layout.") and name.endswith(".j2"))


def _is_root(path: Path) -> bool:
    return any(
        any(path.glob(pattern))
        for pattern in ("*/layout.yaml", "*/*.j2", f"{PROMPTS_FOLDER}/*/*.j2")
    )


def _is_set(folder: Path) -> bool:
    """Whether a folder is a set of templates for whole prompts: `prompt/SET`."""
    above = Path(os.path.abspath(folder)).parent
    return above.name == PROMPTS_FOLDER and not any(_is_page(each.name) for each in above.iterdir())


def _other(path: Path) -> str:
    """Return what a YAML or JSON file is that is no profile, and which command takes it; empty where it may be one."""
    if path.suffix in (".json", ".jsonl"):
        return "; files of items are for `promptforge render`"
    if path.suffix not in YAML_SUFFIXES:
        return ""
    if holds_cases(path):
        return "; it holds cases, which `promptforge test` takes"
    try:
        values = load_yaml(read_bytes(path).decode("utf-8-sig"), str(path))
    except (OSError, ValueError, PromptForgeError):  # said where it is read
        return ""
    if isinstance(values, list) or (isinstance(values, dict) and "items" in values):
        return "; it holds items, which `promptforge render` takes"
    return (
        "; it is a job: `promptforge render --job`"
        if isinstance(values, dict) and "knowledge" in values
        else ""
    )


def holds_cases(path: Path) -> bool:
    """Whether a YAML file, which may be broken, says `cases:` at the margin."""
    try:
        return any(
            line.startswith(b"cases:")
            for line in read_bytes(path).removeprefix(b"\xef\xbb\xbf").splitlines()
        )
    except OSError:  # said where it is read
        return False


def list_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, sorted, none that is hidden, links to folders not followed."""
    left = MAX_FILES_LISTED
    waiting: list[tuple[Path, int]] = [(folder, 1)]
    while waiting:
        path, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name, reverse=True)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            left -= 1
            if left < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_FOLDER_DEPTH:
                    waiting.append((Path(entry.path), depth + 1))
            else:
                yield Path(entry.path)


def unreadable_folders(folder: Path) -> Sequence[str]:
    """Return the folders directly in `folder` that cannot be listed."""
    found = []
    try:
        for entry in os.scandir(folder):
            if entry.is_dir() and not os.access(entry.path, os.R_OK | os.X_OK):
                found.append(entry.path)
    except OSError:
        found.append(str(folder))
    return sorted(found)


_NAMED = re.compile(r"[\"']([\w./-]+\.j2)[\"']")

MAX_WALKS = 2000
"""How many different views of templates are looked at for one root; pieces that include each other twice make many."""


class LintedTemplate(NamedTuple):
    """One template, read."""

    name: str
    text: LintedText
    shipped: bool
    parsed: ParsedTemplate
    links: tuple[tuple[nodes.Node, int, str], ...]
    """What it extends, includes and imports from: the node, the place of the name, the name."""


class TemplateLibrary:
    """All templates of some folders."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self.names = templates.names()
        self.unreadable: list[tuple[str, str]] = []
        """Files that cannot be read, and why."""
        self.findings: list[Finding] = []
        self._volumes: dict[str, LintedTemplate | None] = {}
        self._walked: dict[tuple[str, tuple[str, ...]], dict[str, Scope]] = {}
        self._drawn: dict[str, set[str]] = {}
        self._left = MAX_WALKS
        self._circles: set[str] = set()
        """Templates that draw on themselves."""
        self._weights: dict[str, int] = {}

    def volume(self, name: str) -> LintedTemplate | None:
        """Return the template of a name, parsed; `None` where it is not there or cannot be read."""
        if name not in self._volumes:
            self._volumes[name] = self._read(name)
        return self._volumes[name]

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
            links = [
                (node, node_offset(at), target) for node, at, target in references(parsed.root)
            ]
        return LintedTemplate(
            name, LintedText(found.path, text), found.shipped, parsed, tuple(links)
        )

    def drawn(self, name: str) -> set[str]:
        """Return the names of a template and of all that it may draw on, told without parsing: rather too many."""
        if name not in self._drawn:
            found = self._drawn[name] = {name}
            waiting = [name]
            while waiting:
                for other in self._named(waiting.pop()) - found:
                    found.add(other)
                    waiting.append(other)
        return self._drawn[name]

    def _named(self, name: str) -> set[str]:
        try:
            return set(_NAMED.findall(self.templates.source(name)[0]))
        except PromptForgeError:
            return set()

    def weight(self, name: str) -> int:
        """Return how much a template does at the most, with all that it draws on; see `weight.MOST`."""
        if name not in self._weights:
            self._weights[name] = MAX_TRIAL_STEPS  # one that draws on itself
            volume = self.volume(name)
            root = volume.parsed.root if volume is not None else None
            try:
                self._weights[name] = count_steps(root, self.weight) if root is not None else 0
            except RecursionError:
                return MAX_TRIAL_STEPS
        return self._weights[name]

    # --- what is wrong with one file --------------------------------------------------------------------------------

    def read(self, name: str) -> None:
        """Note what is wrong with a template as a text of the language, and with what it draws on."""
        volume = self.volume(name)
        if volume is None:
            return
        text = volume.text
        self.findings += [text.problem(p) for p in volume.parsed.problems]
        for node, at, target in volume.links:
            length = word_length(text.text, at)
            other = self.volume(target)
            if other is None:
                if self.templates.find(target) is None:
                    hint = suggest_name(target, self.names)
                    self.findings.append(
                        text.at(at, length, "PF805", f'there is no template "{target}"{hint}')
                    )
            elif self._leads(other, str(text.path)):
                self.findings.append(self._circle(volume, at, length, target))
            elif isinstance(node, nodes.FromImport) and other.parsed.root is not None:
                macros = {macro.name for macro in other.parsed.root.find_all(nodes.Macro)}
                for word in (n if isinstance(n, str) else n[0] for n in node.names):
                    if word not in macros:
                        place = max(text.text.find(word, at + length), at)
                        message = f'"{target}" has no macro "{word}"{suggest_name(word, macros)}'
                        self.findings.append(text.at(place, len(word), "PF805", message))
        if volume.parsed.root is not None:
            self.findings += _outside(volume)

    def _leads(self, start: LintedTemplate, path: str) -> bool:
        """Whether a template draws on the file `path`, itself or by way of others."""
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            volume = waiting.pop()
            if str(volume.text.path) == path:
                return True
            if str(volume.text.path) in seen:
                continue
            seen.add(str(volume.text.path))
            waiting += [
                other for _, _, target in volume.links if (other := self.volume(target)) is not None
            ]
        return False

    def _circle(self, volume: LintedTemplate, at: int, length: int, target: str) -> Finding:
        self._circles.add(volume.name)
        original = self.templates.find(f"shipped/{target}")
        if original is not None and not volume.shipped and target == volume.name:
            edit = Edit(at + 1, at + 1, "shipped/")
            message = f'this is the file itself; the original is "shipped/{target}"'
            return volume.text.at(at, length, "PF807", message, edit)
        if target == volume.name:
            return volume.text.at(
                at,
                length,
                "PF807",
                "this is the file itself; name the one it builds on, or take it out",
            )
        way_out = (
            f'the original is "shipped/{target}"'
            if original is not None
            else "one of them must do without"
        )
        return volume.text.at(
            at, length, "PF807", f'"{target}" draws on this file in turn, in a circle; {way_out}'
        )

    # --- what a template uses of what it sees -----------------------------------------------------------------------

    def walk(
        self, name: str, scope: Mapping[str, Shape], within: Sequence[str] = ()
    ) -> dict[str, Scope]:
        """Walk a template, and those it draws on, that sees `scope`; return what its blocks see, by their names."""
        key = (name, tuple(sorted(f"{word} {id(shape)}" for word, shape in scope.items())))
        if not within:
            self._left = MAX_WALKS
        self._left -= 1
        if key in self._walked or name in within or self._left < 0:
            return self._walked.get(key, {})
        self._walked[key] = {}
        volume = self.volume(name)
        if volume is None or volume.parsed.root is None:
            return {}
        inside = (*within, name)
        root = volume.parsed.root
        parent = next(
            (target for node, _, target in volume.links if isinstance(node, nodes.Extends)), None
        )
        outer: dict[str, Scope] = {}
        if parent is not None:
            if not self._known_above(volume):  # what its blocks would see is not known
                return {}
            bound = {n.name: ANY_SHAPE for n in root.find_all(nodes.Name) if n.ctx == "store"}
            outer = self.walk(parent, {**bound, **scope}, inside)
        for node, _, target in volume.links:
            if isinstance(node, nodes.FromImport):
                self.walk(target, {}, inside)

        def follow(target: str, seen: Mapping[str, Shape]) -> None:
            self.walk(target, seen, inside)

        walk = ScopeWalk(volume.text.text, template_syntax(name), follow, outer)
        walk.run(root, scope)
        self.findings += [volume.text.problem(p) for p in walk.problems]
        if parent is not None:
            self._blocks(volume, outer)
        self._walked[key] = {**outer, **walk.blocks}
        return self._walked[key]

    def _known_above(self, volume: LintedTemplate) -> bool:
        """Whether all templates that one extends are there, can be read, and do not lead back to themselves."""
        seen = {str(volume.text.path)}
        links = volume.links
        while parent := next(
            (target for node, _, target in links if isinstance(node, nodes.Extends)), None
        ):
            above = self.volume(parent)
            if above is None or above.parsed.root is None or str(above.text.path) in seen:
                return False
            seen.add(str(above.text.path))
            links = above.links
        return True

    def _blocks(self, volume: LintedTemplate, outer: Mapping[str, Scope]) -> None:
        """Note blocks that no parent has, and so nobody shows."""
        root = volume.parsed.root
        assert root is not None
        if volume.name in self._circles:  # what is above it is not known
            return
        for block in root.find_all(nodes.Block):
            if block.name in outer or not any(block is node for node in root.body):
                continue
            at = node_offset(block)
            place = max(volume.text.text.find(block.name, at + 5), at)
            message = f'no template above has a block "{block.name}", so it is not shown{suggest_name(block.name, outer)}'
            self.findings.append(volume.text.at(place, len(block.name), "PF813", message))


def _outside(volume: LintedTemplate) -> Iterator[Finding]:
    """Yield what stands outside the blocks of a template that extends another."""
    root, text = volume.parsed.root, volume.text
    assert root is not None
    begun = False
    if not any(isinstance(node, nodes.Extends) for node in root.body):
        return
    for node in root.body:
        begun = begun or isinstance(node, nodes.Extends)
        if not isinstance(node, nodes.Output):
            continue
        for child in node.nodes:
            at = node_offset(child)
            data = child.data if isinstance(child, nodes.TemplateData) else "x"
            start = at + len(data) - len(data.lstrip())
            if data.strip() and begun:
                message = "this stands outside of the blocks, so it is not printed"
                yield text.at(start, len(data.strip().split("\n")[0]), "PF812", message)
            elif data.strip():
                yield text.at(
                    start,
                    1,
                    "PF812",
                    "this stands before the page that is extended, and is printed there",
                )
            elif not begun and data:
                message = "the blank line before {% extends %} is printed; {% extends %} follows the comment at once"
                yield text.at(at, 1, "PF812", message, Edit(at, at + len(data), ""))
