"""Checking template folders and profiles: all findings, in one report.

Files are first read, without rendering anything. Then samples are rendered of what is in order:
some failures show only when a template runs, and so does the cost of a layout.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..authoring.golden import is_cases_file, load_case_items, load_cases
from ..authoring.project import PROJECT_FILE
from ..config.options import Options
from ..config.profiles import load_profile
from ..engine import FORMAT_EXTENSIONS, PROMPTS_FOLDER, TemplateName, Templates, known_syntax
from ..errors import OptionError, PromptForgeError, did_you_mean, quote, suggest_name
from ..files import YAML_SUFFIXES
from ..files.access import read_utf8
from ..syntax.syntaxes import unknown_syntax
from ..yaml_reader import load_yaml
from .findings import Finding, about_file, drop_doubtful_edits, sort_findings
from .samples import LayoutCost, measure_layout, try_layout, try_prompts
from .template_reader import PROMPT_VARIABLES, TemplateLibrary, prompt_part, variables_seen
from .yaml_files import (
    LayoutFiles,
    LayoutFormat,
    check_layout_settings,
    check_profile,
    known_kinds,
    misspelt_kind,
)

MAX_LAYOUTS_TRIED = 200

# --- paths that a user names ----------------------------------------------------------------------

MAX_FILES_LISTED = 50_000
MAX_FOLDER_DEPTH = 4
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})


class LintTargets:
    """Folders and files to check."""

    def __init__(self) -> None:
        self.templates: list[Path] = []
        self.profiles: list[Path] = []
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
        if path in self._files or path in self.profiles:
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
            message = f"the folder {quote(str(path))} holds no templates, layouts or profiles"
            if any(is_cases_file(path / name) for name in names if name.endswith(YAML_SUFFIXES)):
                message += "; it holds cases, which `promptforge test` takes"
            else:
                message += f"; a template is {path / 'LAYOUT'}/item.md.j2, or layout.md.j2"
            raise OptionError(message)

    def _add_profiles(self, path: Path) -> bool:
        listed = [each for each in sorted(path.iterdir()) if each.suffix in YAML_SUFFIXES]
        profiles = [each for each in listed if not is_cases_file(each)]
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


# --- checking -------------------------------------------------------------------------------------


class LintReport(NamedTuple):
    """The result of a check."""

    findings: list[Finding]
    costs: list[LayoutCost]
    tokenizer: str | None
    files: int


def check(
    targets: LintTargets,
    folders: Sequence[Path] = (),
    profile_folders: Sequence[Path] = (),
    profile: str | None = None,
    *,
    costs: bool | None = False,
    allow_outside: bool = False,
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
        loaded = load_profile(profile, list(profiles))
        loaded.check_outside(allow_outside)
        tokenizer = str(loaded.options.get("tokenizer", Options().tokenizer))
        most = loaded.options.get("max_tokens", Options().max_tokens)
        measured = own.measure(tried, tokenizer, most)
    asked = [f for f in sort_findings(own.found) if targets.asks_for(Path(f.path))]
    files = {*own.asked.values(), *targets.profiles}
    return LintReport(drop_doubtful_edits(asked), measured, tokenizer, len(files))


def check_draft(request: Mapping[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    """Return the findings of one file as plain data, for an editor; a task of the sandbox.

    `request` has the `path` of the draft, in a folder of its own, and the folders `templates` and
    `profiles` that it builds on. Places are in UTF-16 units, as JavaScript counts.
    """
    begin()
    targets, path = LintTargets(), Path(request["path"])
    targets.add(path)
    folders = [[Path(folder) for folder in request[what]] for what in ("templates", "profiles")]
    report = check(targets, folders[0], folders[1])
    text = read_utf8(path)
    starts = [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]

    def at(place: int) -> int:
        return len(text[:place].encode("utf-16-le")) // 2

    findings = []
    for each in report.findings:
        # Of the file as a whole only errors: a draft lies alone in its folder, which says nothing.
        if Path(each.path) != path or not (each.line or each.severity == "error"):
            continue
        start = starts[min(max(each.line, 1), len(starts)) - 1]
        end = start + len(each.source)
        if each.column:
            end = start + max(each.end_column, each.column + 1) - 1
            start += each.column - 1
        edit = each.edit and [at(each.edit.start), at(each.edit.end), each.edit.text]
        findings.append(
            {
                "from": at(start), "to": at(end), "code": each.code, "edit": edit,
                "severity": each.severity, "message": each.message,
            }
        )  # fmt: skip
    return {"findings": findings}


class _Check:
    def __init__(self, targets: LintTargets, templates: Templates) -> None:
        self.found: list[Finding] = []
        self.library = library = TemplateLibrary(templates)
        self.asked = {
            name: path
            for name in library.names
            if (path := library.path(name)) is not None and targets.asks_for(path)
        }
        self._targets = targets
        self._templates = templates
        self._layouts = LayoutFiles(templates)
        self._formats = list(self._layouts.formats())
        self._used: set[str] = set()
        """Templates that a page, or a part of a prompt, draws on."""

    def check_files(self, profile_folders: list[Path]) -> None:
        """Check all files without rendering anything."""
        for name in self.asked:
            if name.endswith(".j2"):
                self.library.read(name)
        self.library.metadata_keys = _metadata_keys_of_cases(self._targets.templates)
        layouts = {layout.layout for layout in self._formats}
        self.library.kinds = set[str]().union(*map(self._layouts.named_kinds, layouts))
        self._walk_templates()
        self.found += self.library.findings
        self.found += (about_file(path, "PF825", why) for path, why in self.library.unreadable)
        self.found += self._unused_templates()
        self.found += self._names_of_templates()
        self.found += self._undeclared_syntaxes()
        self.found += self._stray_files()
        for name, path in self.asked.items():
            if f"/{name}".endswith("/layout.yaml"):
                self.found += check_layout_settings(self._templates, self._layouts, name, path)
        for path in self._targets.profiles:
            self.found += check_profile(path, profile_folders, self._layouts, self._templates)

    # --- templates --------------------------------------------------------------------------------

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
            part = prompt_part(name)
            if part is not None:
                self.library.walk(name, PROMPT_VARIABLES[part])
                self._used |= self.library.reached(name)
        for name in self.asked:  # a template that no page reaches has its mistakes all the same
            parts = TemplateName.parse(name)
            if name not in self._used and parts is not None:
                self.library.walk(name, variables_seen(parts.stem))
                self._used |= self.library.reached(name) - {name}

    def _unused_templates(self) -> Iterator[Finding]:
        """Yield templates that nobody reads; a missing page is said once for all its files."""
        unread: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for name in self.asked:
            readable = self._layouts.settings(name.split("/")[0]) is not None
            if name.endswith(".j2") and name not in self._used and readable:
                message = self._why_unused(name)
                many = message.startswith("the layout")  # that may be said of many files
                unread[message, "" if many else name].append(name)
        for (message, _), names in unread.items():
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
        longer = [each for each in have if each.startswith(f"{ending}.")]
        if longer:
            call = f'call it "{parts.stem}.{longer[0]}.j2"'
            return f'the format {ending} ends in "{longer[0]}" here: {call}'
        hint = suggest_name(ending, have) or "; add it, or a base in layout.yaml"
        return f'the layout "{parts.layout}" has no page "layout.{ending}.j2"{hint}'

    def _names_of_templates(self) -> Iterator[Finding]:
        """Yield misspelt kinds, and files in place of shipped ones."""
        for name, path in self.asked.items():
            parts = TemplateName.parse(name)
            shipped = self.library.path(f"shipped/{name}")
            if parts is not None and (
                name in self._used or self._layouts.settings(parts.layout) is None
            ):
                named = self._layouts.named_kinds(parts.layout)
                near = misspelt_kind(parts.stem, named)
                if near is not None:
                    message = f'shows items of the kind "{parts.stem}"; did you mean "{near}"?'
                    yield about_file(path, "PF821", message)
            if name.endswith(".j2") and shipped and shipped.resolve() != path.resolve():
                message = f'stands in for the shipped "{name}"; the original is "shipped/{name}"'
                yield about_file(path, "PF823", message)

    def _undeclared_syntaxes(self) -> Iterator[Finding]:
        for pair in self._formats:
            known = known_syntax(pair.ending) or self._templates.declared_syntax(pair.page)
            if pair.page in self.asked and known is None:
                message = unknown_syntax(pair.ending, pair.layout)
                yield about_file(self.asked[pair.page], "PF130", message)

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
        # `Layout.yaml` is another name on Linux; an editor of Windows adds `.txt`.
        spelt = path.name.lower().removesuffix(".txt")
        if spelt.endswith(("layout.yml", "layout.yaml")) and path.name != "layout.yaml":
            return '; settings are called "layout.yaml"'
        if suffix in (".jinja", ".jinja2", ".tmpl") or name.endswith(".j2.txt"):
            return '; templates are called "LAYOUT/PART.EXT.j2"'
        if suffix[1:] in FORMAT_EXTENSIONS.values() and deep == 1:
            stem = path.name.partition(".")[0]
            plain = stem == stem.lower() and stem.replace("_", "").isalnum()
            in_layout = plain and name.split("/")[0] in self._layouts.layouts
            if in_layout or stem in (*known_kinds(), "layout", "item"):
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
            folders = self._layouts.chain(layout.layout)
            settings = [*(f"{folder}/layout.yaml" for folder in folders), "layout.yaml"]
            if self.asked.keys().isdisjoint({*layout.files, *settings}):
                continue
            names = set[str]().union(*map(self.library.reached, layout.files))
            names.add(f"{layout.layout}/layout.yaml")
            if wrong.isdisjoint(str(self.library.path(name)) for name in names):
                good.append(layout)
        del good[MAX_LAYOUTS_TRIED:]
        for layout in good:
            if not self.asked.keys().isdisjoint(layout.files):
                self.found += try_layout(self.library, layout, self.asked)
        self.found += try_prompts(self.library, self.asked, wrong)
        return good

    def measure(
        self, layouts: Sequence[LayoutFormat], tokenizer: str, most: int | None
    ) -> list[LayoutCost]:
        """Return the costs of layouts; note pages that cost more than `most` tokens."""
        failed = {finding.path for finding in self.found if finding.code in ("PF814", "PF817")}
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


def _metadata_keys_of_cases(folders: Iterable[Path]) -> frozenset[str]:
    """Return the keys of metadata in the cases beside template folders; none if one is unknown."""
    keys: set[str] = set()
    for folder in folders:
        above = folder.resolve().parent
        is_project = folder.name == "templates" or (above / PROJECT_FILE).is_file()
        tests = above / "tests"
        files = sorted(tests.iterdir()) if is_project and tests.is_dir() else ()
        for path in files:
            if path.suffix not in YAML_SUFFIXES or not is_cases_file(path):
                continue
            try:
                cases = [case for case in load_cases(path) if case.problem is None]
                items = [item for case in cases for item in load_case_items(case)]
            except PromptForgeError:  # `promptforge test` says it
                return frozenset()
            keys.update(key for item in items for key in item.metadata)
    return frozenset(keys)


def _why_no_part(name: str) -> str:
    deep = name.count("/")
    if name.startswith("prompt/") and deep == 2:
        stem = name.rpartition("/")[2].partition(".")[0]
        return f'"{stem}" is no part of a prompt{suggest_name(stem, PROMPT_VARIABLES)}'
    if deep == 0 and not name.startswith("_"):
        return "lies beside the layouts; templates are called LAYOUT/PART.EXT.j2"
    if deep == 1 and "." not in name.removesuffix(".j2"):
        return f'has no format; call it "{Path(name).stem}.md.j2", or with xml, json or txt for md'
    return "no template extends, includes or imports from this one; do so, or delete it"
