"""Checking template folders and profiles: all findings, in one report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..config.options import Options
from ..config.profiles import load_profile
from ..errors import did_you_mean, suggest_name
from ..files import FORMAT_EXTENSIONS
from ..templating.loader import TemplateName, Templates
from .findings import Finding, about_file, drop_doubtful_edits, sort_findings
from .library import (
    KNOWN_KINDS,
    LayoutFiles,
    LayoutFormat,
    LintTargets,
    TemplateLibrary,
    misspelt_kind,
    prompt_part,
    variables_seen,
)
from .template_reader import PROMPT_VARIABLES
from .trial import LayoutCost, measure_layout, try_layout, try_prompts
from .yaml_files import check_encoding, check_layout_settings, check_profile

MAX_LAYOUTS_TRIED = 200
"""Pairs of layout and format that samples are rendered of."""


class LintReport(NamedTuple):
    """The result of a check."""

    findings: list[Finding]
    costs: list[LayoutCost]
    tokenizer: str | None
    """The tokenizer that counted the costs."""
    files: int
    """Number of files checked."""


def check(
    targets: LintTargets,
    folders: Sequence[Path] = (),
    profile_folders: Sequence[Path] = (),
    profile: str | None = None,
    *,
    costs: bool | None = False,
) -> LintReport:
    """Check the files of `targets`; templates and profiles may build on those in the folders.

    `costs` measures the layouts by the tokenizer of `profile`; `None` only if nothing is wrong.
    Raises `PromptForgeError` for a folder or profile that cannot be used at all.
    """
    above = [folder for folder in folders if folder not in targets.templates]
    own = _Check(targets, Templates([*targets.templates, *above]))
    profiles = dict.fromkeys([*(path.parent for path in targets.profiles), *profile_folders])
    own.check_files(list(profiles))
    tried = own.try_samples()
    measured: list[LayoutCost] = []
    tokenizer = None
    if costs is None:
        costs = all(finding.severity == "note" for finding in own.found)
    if costs and tried:
        loaded = load_profile(profile or "default", list(profiles))
        tokenizer = str(loaded.options.get("tokenizer", Options().tokenizer))
        most = loaded.options.get("max_tokens", Options().max_tokens)
        measured = own.measure(tried, tokenizer, most)
    asked = [f for f in sort_findings(own.found) if targets.asks_for(Path(f.path))]
    files = {*own.asked.values(), *targets.profiles}
    return LintReport(drop_doubtful_edits(asked), measured, tokenizer, len(files))


class _Check:
    """One check: its files, and the findings so far."""

    def __init__(self, targets: LintTargets, templates: Templates) -> None:
        self.found: list[Finding] = []
        self.library = library = TemplateLibrary(templates)
        self.asked = {
            name: path
            for name in library.names
            if (path := library.path(name)) is not None and targets.asks_for(path)
        }
        """The template files that findings are asked for, by name."""
        self._targets = targets
        self._templates = templates
        self._layouts = LayoutFiles(templates)
        self._formats = list(self._layouts.formats())
        self._used: set[str] = set()
        """Templates that a page, or a part of a prompt, draws on."""

    def check_files(self, profile_folders: list[Path]) -> None:
        """Check all files without rendering anything."""
        self._read_templates()
        self._walk_templates()
        self.found += self.library.findings
        self.found += (about_file(path, "PF825", why) for path, why in self.library.unreadable)
        self.found += self._unused_templates()
        self.found += self._names_of_templates()
        self.found += self._stray_files()
        for name, path in self.asked.items():
            if name.endswith("/layout.yaml"):
                self.found += check_layout_settings(self._templates, self._layouts, name, path)
        for path in self._targets.cases:
            message = "a file of cases; `promptforge test` reads it"
            self.found.append(about_file(path, "PF827", message))
        for path in self._targets.profiles:
            self.found += check_profile(path, profile_folders, self._layouts, self._templates)

    # --- templates --------------------------------------------------------------------------------

    def _read_templates(self) -> None:
        for name, path in self.asked.items():
            if name.endswith(".j2"):
                self.library.read(name)
                self.found += check_encoding(path)

    def _walk_templates(self) -> None:
        """Follow every template with the variables it has, from pages and parts of prompts."""
        for layout in self._formats:
            # Most layouts are shipped ones that nothing here touches.
            if self.asked.keys().isdisjoint(self.library.mentioned(layout.files)):
                continue
            for stem, name in (("layout", layout.page), *layout.items.items()):
                if name not in self._used:
                    self.library.walk(name, variables_seen(stem))
                    self._used |= self.library.reached(name)
            if "item" not in layout.items and layout.page in self.asked:
                file = f"item.{layout.ending}.j2"
                message = f'the layout "{layout.layout}" has no "{file}" for items of any kind;'
                message += " add it, or a base in layout.yaml"
                self.found.append(about_file(self.asked[layout.page], "PF822", message))
        for name in self.asked:
            if (part := prompt_part(name)) is not None:
                self.library.walk(name, PROMPT_VARIABLES[part])
                self._used |= self.library.reached(name)
        for name in self.asked:  # a template that no page reaches has its mistakes all the same
            parts = TemplateName.parse(name)
            if name not in self._used and parts is not None:
                self.library.walk(name, variables_seen(parts.stem))
                self._used |= self.library.reached(name) - {name}

    def _unused_templates(self) -> Iterator[Finding]:
        """Yield templates that nobody reads; a missing page is said once for all its files."""
        unread: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.asked:
            readable = self._layouts.settings(name.split("/")[0]) is not None
            if name.endswith(".j2") and name not in self._used and readable:
                why = self._why_unused(name)
                key = why
                if not why.startswith("the layout"):  # that may be said of many files
                    key = f"{name}: {why}"
                unread[key].append(name)
        for why, names in unread.items():
            message = why.removeprefix(f"{names[0]}: ")
            if len(names) > 1:
                message += f"; so nobody reads {len(names) - 1} more here"
            yield about_file(self.asked[names[0]], "PF820", message)

    def _why_unused(self, name: str) -> str:
        parts = TemplateName.parse(name)
        if parts is None:
            return _why_no_part(name)
        if parts.layout not in self._layouts.layouts:
            hint = did_you_mean(parts.layout, self._layouts.layouts)
            hint = hint or "; a layout.yaml with `base:` makes one of it"
            return f'"{parts.layout}" is no layout: it has neither a page nor a layout.yaml{hint}'
        ending = FORMAT_EXTENSIONS.get(parts.ending, parts.ending)
        have = sorted({pair.ending for pair in self._formats if pair.layout == parts.layout})
        if ending != parts.ending:
            call = f'call it "{parts.stem}.{ending}.j2"'
            return f'the format {parts.ending} ends in "{ending}": {call}'
        if longer := [each for each in have if each.startswith(f"{ending}.")]:
            call = f'call it "{parts.stem}.{longer[0]}.j2"'
            return f'the format {ending} ends in "{longer[0]}" here: {call}'
        hint = suggest_name(ending, have)
        return f'the layout "{parts.layout}" has no page "layout.{ending}.j2"{hint}'

    def _names_of_templates(self) -> Iterator[Finding]:
        """Yield misspelt kinds, files in place of shipped ones, and kinds that lack formats."""
        for name, path in self.asked.items():
            parts = TemplateName.parse(name)
            shipped = self.library.path(f"shipped/{name}")
            if parts is not None and (name in self._used or self._is_broken(parts)):
                named = self._layouts.named_kinds(parts.layout)
                if (near := misspelt_kind(parts.stem, named)) is not None:
                    message = f'shows items of the kind "{parts.stem}"; did you mean "{near}"?'
                    yield about_file(path, "PF821", message)
            if name.endswith(".j2") and shipped and shipped.resolve() != path.resolve():
                message = f'stands in for the shipped "{name}"; the original is "shipped/{name}"'
                yield about_file(path, "PF823", message)
            if parts is not None and parts.stem not in ("layout", "item") and not shipped:
                yield from self._lacking_formats(parts, path)

    def _is_broken(self, parts: TemplateName) -> bool:
        return self._layouts.settings(parts.layout) is None

    def _lacking_formats(self, parts: TemplateName, path: Path) -> Iterator[Finding]:
        pairs = [pair for pair in self._formats if pair.layout == parts.layout]
        lacking = [pair.ending for pair in pairs if parts.stem not in pair.items]
        first = min((pair.ending for pair in pairs if parts.stem in pair.items), default="")
        if lacking and parts.ending == first:
            others = f'in {", ".join(lacking)} the layout shows the kind "{parts.stem}" by `item`'
            yield about_file(path, "PF828", f"{others}; this template is for {first}")

    def _stray_files(self) -> Iterator[Finding]:
        """Yield files like templates or settings that are not read, because of their names."""
        for unreadable in self._targets.unreadable_folders():
            yield about_file(unreadable, "PF825", "the folder cannot be read")
        names = set(self.library.names)
        for folder, path in self._targets.stray_files():
            name = path.relative_to(folder).as_posix()
            if name not in names and (why := self._why_stray(name, path)):
                yield about_file(path, "PF824", f"is not read{why}")

    def _why_stray(self, name: str, path: Path) -> str | None:
        suffix = path.suffix
        deep = name.count("/")
        if name.endswith("layout.yml"):
            return '; settings are called "layout.yaml"'
        if suffix in (".jinja", ".jinja2", ".tmpl") or name.endswith(".j2.txt"):
            return '; templates are called "LAYOUT/PART.EXT.j2"'
        if suffix[1:] in FORMAT_EXTENSIONS.values() and deep == 1:
            stem = path.name.partition(".")[0]
            plain = stem == stem.lower() and stem.replace("_", "").isalnum()
            in_layout = plain and name.split("/")[0] in self._layouts.layouts
            if in_layout or stem in (*KNOWN_KINDS, "layout", "item"):
                return f'; a template is called "{path.name}.j2"'
        if suffix != ".j2":
            return None
        if path.is_symlink():
            return ": is a link that leads out of the folder, or nowhere"
        if deep > 1:
            return ": lies too deep; templates are called LAYOUT/PART.EXT.j2"
        rule = "a name keeps to letters, digits, '_', '.' and '-'"
        return f": {rule}, and does not begin with '.' or '-'"

    # --- samples ----------------------------------------------------------------------------------

    def try_samples(self) -> list[LayoutFormat]:
        """Render samples of layouts and prompts; return the layouts that were good enough."""
        # A file with errors fails in a sample too: that would say the same twice.
        wrong = {finding.path for finding in self.found if finding.severity == "error"}
        good = []
        for layout in self._formats:
            settings = [f"{folder}/layout.yaml" for folder in self._layouts.chain(layout.layout)]
            if self.asked.keys().isdisjoint({*layout.files, *settings}):
                continue
            if wrong.isdisjoint(self._paths_of(layout)):
                heavy = [name for name in layout.files if self.library.is_heavy(name)]
                for name in heavy:
                    if name in self.asked:
                        message = "does so much that no sample of it was rendered"
                        self.found.append(about_file(self.asked[name], "PF817", message))
                if not heavy:
                    good.append(layout)
        del good[MAX_LAYOUTS_TRIED:]
        for layout in good:
            if not self.asked.keys().isdisjoint(layout.files):
                self.found += try_layout(self.library, layout, self.asked)
        self.found += try_prompts(self.library, self.asked, wrong)
        return good

    def _paths_of(self, layout: LayoutFormat) -> set[str]:
        """Return the files of a layout in one format, with all that they draw on."""
        names = set[str]().union(*map(self.library.reached, layout.files))
        return {str(self.library.path(name)) for name in (*names, f"{layout.layout}/layout.yaml")}

    def measure(
        self, layouts: Sequence[LayoutFormat], tokenizer: str, most: int | None
    ) -> list[LayoutCost]:
        """Return the costs of layouts; note pages that cost more than `most` tokens."""
        failed = {finding.path for finding in self.found if finding.code == "PF814"}
        costs = []
        for layout in layouts:
            if failed & {str(self.library.path(name)) for name in layout.files}:
                continue
            cost = measure_layout(self._templates, layout, tokenizer)
            costs.append(cost)
            if most is not None and cost.page > most:
                message = f"the page costs {cost.page:,} tokens without any item,"
                message += f" and max_tokens is {most:,}"
                page = self.library.path(layout.page)
                self.found.append(about_file(page or layout.page, "PF843", message))
        return costs


def _why_no_part(name: str) -> str:
    """Return why nobody reads a template with a name that is no layout's."""
    deep = name.count("/")
    if name.startswith("prompt/") and deep == 2:
        stem = name.rpartition("/")[2].partition(".")[0]
        return f'"{stem}" is no part of a prompt{suggest_name(stem, PROMPT_VARIABLES)}'
    if deep == 0 and not name.startswith("_"):
        return "lies beside the layouts; templates are called LAYOUT/PART.EXT.j2"
    if deep == 1 and "." not in name.removesuffix(".j2"):
        return f'has no format; call it "{Path(name).stem}.md.j2", or with xml, json or txt for md'
    return "no template extends, includes or imports from this one; do so, or delete it"
