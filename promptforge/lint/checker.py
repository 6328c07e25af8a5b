"""Everything that is wrong with templates, layouts and profiles, in one report.

The findings about one `layout.yaml` or one profile as a whole: its keys, what it builds on, what it names.

What is wrong with a `layout.yaml` or a profile: every key, not the first alone.

Rendering samples: what fails only when it runs, and what a layout costs before any text of an item is in it.

Rendering samples of whole prompts: which part is lost, and which mark of the frame an item could imitate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

import msgspec

from ..config.layouts import LAYOUT_VOCABULARY
from ..config.options import OPTION_VOCABULARY, PROMPT_PARTS, Options, apply_options
from ..config.profiles import PROFILE_VOCABULARY, load_profile
from ..config.schema import Vocabulary
from ..errors import (
    ProfileError,
    PromptForgeError,
    TemplateError,
    certain_correction,
    did_you_mean,
    quote,
    suggest_name,
)
from ..files import FORMAT_EXTENSIONS, format_of, read_bytes
from ..model import Item
from ..plugins import plugin_names
from ..prompts.compose import PromptTemplates
from ..rendering.context import LanguageTags, Setting
from ..rendering.page import Page
from ..selection.filter import Candidates
from ..templating.loader import (
    PROMPTS_FOLDER,
    Layout,
    TemplateName,
    Templates,
    did_you_mean_format,
    parse_template_name,
)
from ..text.delimiters import TAGGED, choose_framing
from ..tokenizers.base import Counter
from ..tokenizers.registry import get_tokenizer, strip_factor, suggest_spelling
from ..tokenizers.registry import list_tokenizers as tokenizers
from ..yaml_reader import SCHEMA_MODELINE, find_invisible, load_yaml_with_lines
from .findings import Edit, Finding, LintedText, drop_doubtful_edits, sort_findings
from .library import (
    KNOWN_KINDS,
    LayoutFiles,
    LayoutFormat,
    LintTargets,
    TemplateLibrary,
    list_files,
    misspelt_kind,
    prompt_part,
    unreadable_folders,
    variables_seen,
)
from .template_reader import MAX_TRIAL_STEPS, PROMPT_VARIABLES

SAMPLE_TEXT = "A sentence that is found in the text."

_METADATA = {
    "technique_id": "T1003.001", "tactics": ["credential-access"], "tools": ["mimikatz"],
    "mitigations": ["Privileged Account Management"], "url": "https://example.org", "author": "somebody",
}  # fmt: skip

_SWITCHES = ("headers", "line_numbers", "scores", "sources", "code")


class LayoutCost(NamedTuple):
    """What a layout costs in one format."""

    layout: str
    format: str
    page: int
    """Tokens of what stands around the items of one section."""
    items: dict[str, int]
    """By kind (`item`: all without a look of their own): the tokens that one item adds beside those of its text."""


class TrialFailure(NamedTuple):
    """A sample that a template could not print, or printed wrongly."""

    code: str
    where: str | None
    """`name:line`, where it is known."""
    message: str


def sample_items(kind: str) -> list[Item]:
    """Return an item of a kind with every field, and one with none but its text."""
    full = Item(
        kind=kind, content=SAMPLE_TEXT, summary="A summary.", name="name", path="src/file.py", start_line=3, end_line=9,
        language="python", score=0.85, id="sample-1", metadata=_METADATA,
    )  # fmt: skip
    found = msgspec.structs.replace(
        full, id="sample-2", origin="similarity", content=f"{SAMPLE_TEXT} Again."
    )
    return [full, Item(kind=kind, content=SAMPLE_TEXT, id="sample-3"), found]


def trial_failures(
    templates: Templates, layout: str, form: str, kinds: Sequence[str]
) -> list[TrialFailure]:
    """Return what goes wrong when samples of `kinds` are rendered, each failure once."""
    found: dict[tuple[str, str | None], TrialFailure] = {}
    counter = get_tokenizer("characters")
    items = [item for kind in (*kinds, "text") for item in sample_items(kind)]
    on: dict[str, Any] = {
        **dict.fromkeys(_SWITCHES, True),
        "header": "Before",
        "footer": "After",
        "query": "what?",
    }
    try:
        look = templates.layout(layout, form)
    except PromptForgeError as error:
        return [TrialFailure("PF814", None, str(error))]
    for changes in (on, dict.fromkeys(_SWITCHES, False), {}):
        for some in (items, items[:1], items[1:2], []):
            try:
                page = _page(look, counter, some, changes)
                text = "".join(page.render({i: page.variants(i)[0] for i in range(len(some))}))
            except TemplateError as error:
                message = error.bare
                found.setdefault(
                    ("PF814", error.where), TrialFailure("PF814", error.where, message)
                )
                continue
            except PromptForgeError as error:
                found.setdefault(("PF814", None), TrialFailure("PF814", None, str(error)))
                continue
            wrong = _misshapen(text, page.look.syntax, page.look.page_name)
            if wrong:
                found.setdefault(("PF815", None), TrialFailure("PF815", page.look.page_name, wrong))
    return list(found.values())


def measure_layout(
    templates: Templates,
    layout: str,
    form: str,
    kinds: Sequence[str],
    tokenizer: str,
) -> LayoutCost:
    """Return what a layout costs in a format, by rendering samples of `kinds` (`item` for any other kind).

    What an item adds is half of what a page of four such items has more than one of two, less its own text; what is
    left of the page of two is the page's own.
    """
    counter, look = get_tokenizer(tokenizer), templates.layout(layout, form)
    costs, fixed = {}, 0
    for kind in kinds:
        one = sample_items("text" if kind == "item" else kind)[0]
        row = [
            msgspec.structs.replace(one, start_line=10 * n, end_line=10 * n + 6)
            for n in range(1, 5)
        ]
        page = _page(look, counter, row, {})
        two, four = (
            page.count(page.render({i: page.variants(i)[0] for i in range(number)}))
            for number in (2, 4)
        )
        costs[kind] = max(0, round((four - two) / 2) - counter.count(SAMPLE_TEXT))
        fixed = max(fixed, 2 * two - four)
    return LayoutCost(layout, form, fixed, costs)


def _page(look: Layout, counter: Counter, items: list[Item], changes: dict[str, Any]) -> Page:
    options = apply_options(apply_options(Options(), look.settings.options), changes)
    tag = LanguageTags({}).tags(options, look.settings)
    entries = Candidates(list(items), [item.score for item in items], list(range(len(items))), {})
    return Page(entries, Setting(look, options, counter, tag, tag))


def _misshapen(text: str, syntax: str, page: str) -> str | None:
    """Return why a text is not what its syntax says; `None` where it is, or where there is nothing to say."""
    if not text.strip():
        return None
    if syntax == "json":
        lines = text.splitlines() if page.endswith(".jsonl.j2") else [text]
        try:
            for line in filter(str.strip, lines):
                json.loads(line)
        except ValueError as error:
            return f"a sample of this page is no JSON: {error}"
    if syntax == "xml" and page.endswith((".xml.j2", ".svg.j2")):
        body = re.sub(r"\A\s*<\?xml[^>]*\?>|<!DOCTYPE[^>]*>", "", text)
        try:
            expat.ParserCreate().Parse(f"<all>{body}</all>", True)
        except expat.ExpatError as error:
            reason = (
                expat.errors.messages.get(error.code, str(error))
                if hasattr(expat, "errors")
                else str(error)
            )
            line = text.splitlines()[min(error.lineno, len(text.splitlines())) - 1].strip()[:60]
            return f"a sample of this page is no well-formed XML: {reason}, near {line!a}"
    return None


def cost_rows(prices: Sequence[LayoutCost]) -> Iterator[tuple[str, str, int, str, int]]:
    """Yield a row for each kind: layout, form, tokens of the page, kind, tokens an item."""
    for one in prices:
        for kind, tokens in one.items.items():
            yield one.layout, one.format, one.page, kind, tokens


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class YamlKeys:
    """The keys of one YAML file, each checked on its own."""

    def __init__(self, text: LintedText, vocabulary: Vocabulary) -> None:
        self.text = text
        self.values: dict[str, Any] = {}
        """Those that are good."""
        self.findings: list[Finding] = []
        self._lines: Mapping[tuple[str | int, ...], int] = {}
        for line, char in find_invisible(text.text):
            self.findings.append(
                text.on(line, "PF834", f"the character {char} cannot be seen here")
            )
        try:
            values, self._lines = load_yaml_with_lines(text.text, text.path)
        except ProfileError as error:
            line, message = split_place(error, text.path)
            self.findings.append(text.on(line, "PF830", message, column=error.column))
            return
        if values is not None and not isinstance(values, dict):
            message = "the file has lines of the form `key: value`, with a blank after the colon"
            self.findings.append(text.on(self._first(), "PF830", message))
            return
        values = values or {}
        for key, value in values.items():
            try:
                self.values[key] = vocabulary.check(key, value, lambda _: text.path)
            except ProfileError as error:
                message = error.bare
                if key not in vocabulary:
                    new = (
                        None if key in vocabulary.elsewhere else certain_correction(key, vocabulary)
                    )
                    self.findings.append(
                        self.key(key, "PF831", message, None if new in values else new)
                    )
                else:
                    self.findings.append(self.value(key, "PF832", message, error.inside))

    def key(self, key: str, code: str, message: str, new: str | None = None) -> Finding:
        """Return a finding about a key; `new` is what `--fix` calls it."""
        start = self._start(key)
        found = re.compile(rf"[\"']?{re.escape(key)}[\"']?").search(self.text.text, start)
        if found is None or "\n" in self.text.text[start : found.start()]:
            return self.text.on(self._line(key), code, message)
        length = found.end() - found.start()
        return self.text.at(
            found.start(),
            length,
            code,
            message,
            Edit(found.start(), found.end(), new) if new else None,
        )

    def _first(self) -> int:
        """Return the first line that holds more than a comment."""
        lines = enumerate(self.text.text.split("\n"), 1)
        return next(
            (n for n, line in lines if line.strip() and not line.lstrip().startswith("#")), 1
        )

    def value(self, key: str, code: str, message: str, inside: tuple[str, ...] = ()) -> Finding:
        """Return a finding about the value of a key, or of one `inside` of it."""
        start = self._start(key)
        if inside and (found := self._inside(start, key, inside)) is not None:
            which = 1 if "unknown key" in message or not found[2] else 2
            return self.text.at(found.start(which), len(found[which]), code, message)
        found = re.compile(
            rf"[\"']?{re.escape(key)}[\"']?\s*:[ \t]*([^\n]*?)[ \t]*(?:[ \t]#[^\n]*)?(?=\n|\Z)"
        ).search(self.text.text, start)
        if found is None or "\n" in self.text.text[start : found.start()] or not found[1]:
            return self.key(key, code, message)
        return self.text.at(found.start(1), len(found[1]), code, message)

    def word(self, key: str, word: str, code: str, message: str) -> Finding:
        """Return a finding about a word in the value of a key."""
        found = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])").search(
            self.text.text, self._start(key)
        )
        return (
            self.text.at(found.start(), len(word), code, message)
            if found
            else self.key(key, code, message)
        )

    def _inside(self, at: int, key: str, inside: tuple[str, ...]) -> re.Match[str] | None:
        found = None
        for word in (key, *inside):
            pattern = rf"([\"']?{re.escape(word)}[\"']?)\s*:[ \t]*([^\n,}}]*[^\s,}}])?"
            found = re.compile(pattern).search(self.text.text, at)
            if found is None:
                return None
            at = found.end(1)
        return found

    def _line(self, key: str) -> int:
        return self._lines.get((key,), 1)

    def _start(self, key: str) -> int:
        lines = self.text.text.split("\n")[: self._line(key) - 1]
        return sum(len(line) + 1 for line in lines)


def split_place(error: ProfileError, path: str) -> tuple[int, str]:
    """Return the line and the message of an error about the file `path`."""
    found = re.match(rf"{re.escape(path)}:(\d+): (.*)", str(error), re.DOTALL)
    return (int(found[1]), found[2]) if found else (1, str(error).removeprefix(f"{path}: "))


def check_modeline(text: LintedText, schema: str) -> Iterator[Finding]:
    """Yield what is to be said of the first line, which tells editors where the schema is."""
    first = text.text.split("\n")[0]
    if not first.startswith(SCHEMA_MODELINE):
        edit = Edit(0, 0, f"{SCHEMA_MODELINE}{schema}\n")
        if (Path(text.path).parent / schema).is_file():
            yield text.at(
                0,
                1,
                "PF835",
                f"editors check and complete this file if it begins with {edit.text[:-1]}",
                edit,
            )
        return
    named = first.removeprefix(SCHEMA_MODELINE).strip()
    if "://" not in named and not (Path(text.path).parent / named).is_file():
        at = len(SCHEMA_MODELINE)
        yield text.at(
            at,
            len(named),
            "PF835",
            f'there is no schema "{named}"; `promptforge schema profile` prints it',
        )


def check_figures(keys: YamlKeys, merged: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what does not add up among the figures of a profile; `merged` holds those of its layers too."""
    options = {
        **{name: getattr(Options(), name) for name in ("max_tokens", "context_window", "reserve")},
        **merged,
    }
    window, reserve, most = (options[name] for name in ("context_window", "reserve", "max_tokens"))
    say = _sayer(keys)
    if window is not None:
        if reserve is not None and reserve >= window:
            message = (
                f"reserve {reserve:,} leaves nothing of the context_window, {window:,}; lower it"
            )
            yield from say(("reserve", "context_window"), "PF840", message)
        elif most is not None and most > window - (reserve or 0):
            left = window - (reserve or 0)
            message = (
                f"max_tokens {most:,} is more than the window leaves after the reserve, {left:,}"
            )
            if "max_tokens" not in keys.values:
                message += f"; nobody set it here: say max_tokens: {left}, or less"
            yield from say(("max_tokens", "reserve", "context_window"), "PF841", message)
    budgets = options.get("section_budgets") or {}
    share = sum(budget.share for budget in budgets.values())
    if share > 1 + 1e-9:
        yield from say(
            ("section_budgets",),
            "PF842",
            f"the shares of the sections add up to {share:.0%} of max_tokens; 100% is all there is",
        )
    least = sum(budget.min_tokens for budget in budgets.values())
    if most is not None and least > most:
        message = f"the sections are sure of {least:,} tokens together, and max_tokens is {most:,}"
        yield from say(("section_budgets", "max_tokens"), "PF842", message)
    for name, budget in budgets.items():
        if budget.max_tokens is not None and budget.min_tokens > budget.max_tokens:
            message = f'"{name}" is sure of {budget.min_tokens:,} tokens and may take {budget.max_tokens:,}'
            yield from say(("section_budgets",), "PF842", message)


def check_separators(keys: YamlKeys) -> Iterator[Finding]:
    """Yield which texts between and before items open what they do not close, so that Markdown takes items into it."""
    for name in ("separator", "header"):
        mark = _left_open(str(keys.values.get(name) or ""))
        if mark:
            message = f"{name} opens {mark} and does not close it, so in Markdown the items after it are part of that"
            yield keys.value(name, "PF844", message)


def _left_open(text: str) -> str | None:
    mark = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and not mark:
            mark = found[1]
        elif found and found[1].startswith(mark) and not line[found.end() :].strip():
            mark = ""
    return mark or ("<!--" if text.count("<!--") > text.count("-->") else None)


def _sayer(keys: YamlKeys) -> Callable[[tuple[str, ...], str, str], Iterator[Finding]]:
    def say(names: tuple[str, ...], code: str, message: str) -> Iterator[Finding]:
        here = [name for name in names if name in keys.values]
        if here:  # otherwise it is a file below that is to blame, and it has its own findings
            yield keys.value(here[0], code, message)

    return say


def check_encoding(path: Path) -> Iterator[Finding]:
    """Yield what a file has that is left out when it is read: a byte order mark, line ends of Windows."""
    try:
        data = read_bytes(path)
    except OSError:  # said where it is read
        return
    said = []
    if data.startswith(b"\xef\xbb\xbf"):
        said.append("a byte order mark")
    if b"\r\n" in data:
        said.append("line ends of Windows")
    if said:
        yield LintedText(path, "").whole(
            "PF826", f"has {' and '.join(said)}, which are left out", Edit(0, 0, "")
        )


def check_layout_settings(
    templates: Templates, known: LayoutFiles, name: str, path: Path
) -> Iterator[Finding]:
    """Yield what is wrong with the settings of a layout."""
    try:
        text = LintedText(path, templates.source(name)[0])
    except PromptForgeError as error:
        yield Finding(str(path), 0, 0, "PF825", str(error).removeprefix(f"{path}: "))
        return
    yield from check_encoding(path)
    keys = YamlKeys(text, LAYOUT_VOCABULARY)
    yield from keys.findings
    own = name.split("/")[0]
    base = keys.values.get("base")
    if base is not None and base not in known.layouts:
        yield keys.value(
            "base",
            "PF833",
            f'there is no layout "{base}"{suggest_name(base, known.layouts - {own})}',
        )
    elif base is not None and own in known.chain(base):
        yield keys.value("base", "PF833", f'"{base}" is based on "{own}" in turn, in a circle')
    if keys.values.get("group_by") == "auto":
        yield keys.value(
            "group_by", "PF832", "auto means what the layout says, and this is where it says it"
        )
    yield from check_separators(keys)
    if keys.values.get("group_by", "kind") in ("kind", "category"):
        for key in ("sections", "titles"):
            yield from _sections(keys, key, known.kinds(own))
    yield from check_modeline(text, "../layout.schema.json")


def _sections(keys: YamlKeys, key: str, kinds: set[str]) -> Iterator[Finding]:
    """Yield the sections that a key names and that are no kind of `kinds`, but nearly one."""
    for name in keys.values.get(key) or ():
        if (near := misspelt_kind(name, kinds)) is not None:
            message = f'no kind and no template is called {quote(name)}; did you mean "{near}"?'
            yield keys.word(key, name, "PF821", message)


def check_item_templates(
    library: TemplateLibrary, known: LayoutFiles, meant: Mapping[str, Path]
) -> Iterator[Finding]:
    """Yield the looks of kinds that a layout has in some of its formats and not in the others."""
    pairs = list(known.pairs())
    for name, path in meant.items():
        part = parse_template_name(name)
        if (
            part is None
            or part.stem in ("layout", "item")
            or library.templates.find(f"shipped/{name}") is not None
        ):
            continue
        have = [pair for pair in pairs if pair.layout == part.layout]
        lacking = [pair.ending for pair in have if part.stem not in pair.items]
        first = min((pair.ending for pair in have if part.stem in pair.items), default="")
        if lacking and part.ending == first:
            message = f'in {", ".join(lacking)} the layout shows the kind "{part.stem}" by `item`; this look is for {first}'
            yield LintedText(path, "").whole("PF828", message)


def check_profile(
    path: Path, folders: Sequence[Path], known: LayoutFiles, templates: Templates
) -> Iterator[Finding]:
    """Yield what is wrong with a profile."""
    try:
        data = read_bytes(path)
        text = LintedText(path, data.decode("utf-8-sig").replace("\r\n", "\n"))
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            "is not UTF-8 text; save it as UTF-8"
            if isinstance(error, ValueError)
            else f"cannot be read: {error}"
        )
        yield Finding(str(path), 0, 0, "PF825", reason)
        return
    yield from check_encoding(path)
    keys = YamlKeys(text, PROFILE_VOCABULARY)
    yield from keys.findings
    yield from check_modeline(text, "schema.json")
    merged: dict[str, Any] = {}
    if any(f.severity == "error" for f in keys.findings):
        try:  # the figures below it are right all the same
            merged = load_profile(keys.values.get("extends") or "default", folders).options
        except ProfileError as error:
            file = (error.where or "").rpartition(":")[0]
            message = str(error) if not file else f"what this builds on is wrong: {error}"
            if file and Path(file).resolve() == path.resolve():  # it leads back to here
                message = f'"{keys.values.get("extends")}" builds on this file in turn, in a circle'
            yield keys.value("extends", "PF833", message)
    else:
        try:
            merged = load_profile(path, folders).options
        except ProfileError as error:
            line, message = split_place(error, str(path))
            if error.where and error.where.rpartition(":")[0] == str(path):
                yield (
                    keys.value("extends", "PF833", message)
                    if error.option
                    else text.on(line, "PF832", message)
                )
            else:
                yield keys.value("extends", "PF833", f"what this builds on is wrong: {message}")
    merged = {
        **merged,
        **{key: keys.values[key] for key in keys.values if key in OPTION_VOCABULARY},
    }
    yield from check_figures(keys, merged)
    yield from check_separators(keys)
    yield from _named(keys, merged, known, templates)


def _named(
    keys: YamlKeys, merged: dict[str, Any], known: LayoutFiles, templates: Templates
) -> Iterator[Finding]:
    """Yield layouts, formats and tokenizers that a profile names and that are not there."""
    layout = merged.get("layout", Options().layout)
    if "layout" in keys.values and layout not in known.layouts:
        yield keys.value(
            "layout",
            "PF836",
            f"there is no layout {quote(layout)}{suggest_name(layout, known.layouts)}",
        )
    elif "format" in keys.values or "layout" in keys.values:
        wanted = merged.get("format", Options().format)
        try:
            have = templates.formats(layout)
        except PromptForgeError:  # said where the layout is looked at
            have = [wanted]
        if wanted not in have:
            key = "format" if "format" in keys.values else "layout"
            message = f'the layout "{layout}" has no format {quote(wanted)}{did_you_mean_format(wanted, have)}'
            yield keys.value(key, "PF836", message)
    order = keys.values.get("prompt_order")
    if order is not None and "context" not in order:
        yield keys.value(
            "prompt_order",
            "PF845",
            "names no context, so no item is ever in the prompt; add context",
        )
    if merged.get("group_by", "auto") in ("auto", "none", "kind", "category"):
        yield from _sections(keys, "section_budgets", known.kinds(layout))
    asked, format = keys.values.get("framing", "auto"), merged.get("format", Options().format)  # noqa: A001
    # a profile may well ask for tags wherever these can stand, which a rendering says in a note
    if (
        format in FORMAT_EXTENSIONS
        and asked != TAGGED
        and (problem := choose_framing(asked, FORMAT_EXTENSIONS[format], format)[1])
    ):
        yield keys.value("framing", "PF107", problem)
    prompt = keys.values.get("prompt")
    if prompt is not None and prompt.removeprefix("shipped/") not in templates.prompts():
        yield keys.value(
            "prompt",
            "PF836",
            f"there is no prompt {quote(prompt)}{suggest_name(prompt, templates.prompts())}",
        )
    tokenizer = keys.values.get("tokenizer")
    if isinstance(tokenizer, str):
        base = strip_factor(tokenizer)
        names = [name for name, _ in [*tokenizers(), *plugin_names("tokenizers")]]
        if base.startswith("file:"):
            if not Path(base.removeprefix("file:")).is_file():
                yield keys.value(
                    "tokenizer", "PF836", f"there is no file {quote(base.removeprefix('file:'))}"
                )
        elif (meant := suggest_spelling(tokenizer)) is not None:
            message = f"unknown tokenizer {quote(tokenizer)}; did you mean {quote(meant)}?"
            yield keys.value("tokenizer", "PF836", message)
        elif base not in names:
            yield keys.value(
                "tokenizer",
                "PF836",
                f"unknown tokenizer {quote(tokenizer)}{suggest_name(base, names)}",
            )


_CITATION = "Name the sources."


def check_prompt_templates(
    library: TemplateLibrary, meant: Mapping[str, Path], wrong: set[str]
) -> Iterator[Finding]:
    """Yield what goes wrong in the sets of prompt templates that are `meant`; none that draws on a `wrong` file."""
    names = [
        name for name in meant if name.startswith(f"{PROMPTS_FOLDER}/") and name.count("/") == 2
    ]
    ends: dict[tuple[str, str], None] = {}
    for name in names:
        _, own, file = name.split("/")
        ends[own, file.removesuffix(".j2").partition(".")[2]] = None
    for own, ending in ends:
        try:
            frame = PromptTemplates(library.templates, own, format_of(ending))
            files = [frame.template(part) for part in (*PROMPT_PARTS, "prompt")]
        except PromptForgeError:  # a name that is no part has its finding
            continue
        drawn = set[str]().union(*map(library.drawn, files))
        paths = {str(found.path) for found in map(library.templates.find, drawn) if found}
        if paths & wrong or any(library.weight(name) >= MAX_TRIAL_STEPS for name in files):
            continue
        yield from _findings(frame, library, meant, names)


def _findings(
    frame: PromptTemplates, library: TemplateLibrary, meant: Mapping[str, Path], names: list[str]
) -> Iterator[Finding]:
    whole = frame.template("prompt")
    first = next(volume for volume in map(library.volume, names) if volume is not None)
    try:
        lost: dict[str, list[str]] = {}
        for part, template in frame.unprinted(PROMPT_PARTS):
            lost.setdefault(template, []).append(part)
        bare = frame.bare_delimiter(_CITATION)
    except TemplateError as error:
        name, _, line = (error.where or "").partition(":")
        volume, message = library.volume(name), error.bare
        if volume is not None and name in meant and line.isdigit():
            yield volume.text.on(int(line), "PF814", message)
        else:
            yield first.text.whole("PF814", message)
        return
    for template, parts in lost.items():
        volume = library.volume(template) if template in meant else first
        way = (
            "{{ part.text }}"
            if template == whole
            else "{{ message.text }}"
            if parts == ["history"]
            else parts[0]
        )
        way = way if way.startswith("{{") else f"{{{{ {way} }}}}"
        each = " of every part" if template == whole else ""
        message = f"given and not printed: {', '.join(parts)}; print {way}{each}"
        yield (volume or first).text.whole("PF818", message)
    if bare is not None:
        text, at = _standing(library, bare, names) or (first.text, None)
        if at is None and lost:  # a part that is lost comes first
            return
        mark = quote(bare if at is None else text.text[at : at + len(bare)])
        message = f"{mark} has no {{{{ boundary }}}}, so a prompt of which a part holds the same is refused"
        yield (
            text.whole("PF819", message) if at is None else text.at(at, len(bare), "PF819", message)
        )


def _standing(
    library: TemplateLibrary, mark: str, names: list[str]
) -> tuple[LintedText, int | None] | None:
    """Return the template of a frame in which a mark stands as it is printed, and where."""
    for name in names:
        volume = library.volume(name)
        found = (
            re.search(re.escape(mark), volume.text.text, re.IGNORECASE)
            if volume is not None
            else None
        )
        if volume is not None and found is not None:
            return volume.text, found.start()
    return None


MAX_LAYOUTS_TRIED = 200
"""Pairs of layout and format of which samples are rendered."""


class LintReport(NamedTuple):
    """What a check has found."""

    findings: list[Finding]
    prices: list[LayoutCost]
    tokenizer: str | None
    """What counted the prices."""
    files: int
    """How many files were looked at."""


def check(
    targets: LintTargets, folders: Sequence[Path] = (), profile_folders: Sequence[Path] = (), profile: str | None = None,
    *, prices: bool | None = False,
) -> LintReport:  # fmt: skip
    """Check what `targets` names. `folders` and `profile_folders` are searched for what it builds on.

    `profile` is the one by whose tokenizer and options `prices` are measured, for `None` once nothing is wrong.
    Raises `PromptForgeError` for a folder or profile that cannot be used at all.
    """
    templates = Templates([*targets.templates, *(f for f in folders if f not in targets.templates)])
    library = TemplateLibrary(templates)
    known = LayoutFiles(templates, library.names)
    found: list[Finding] = []
    meant = {
        name: path
        for name in library.names
        if (path := _path(templates, name)) and targets.meant(path)
    }
    found += _templates(library, known, meant)
    for name, path in meant.items():
        if name.endswith("/layout.yaml"):
            found += check_layout_settings(templates, known, name, path)
    for folder in targets.all:
        found += _strays(folder, library, known.layouts)
    files = [*meant.values()]
    everywhere = [*dict.fromkeys([*(path.parent for path in targets.profiles), *profile_folders])]
    for path in targets.others:
        found.append(
            Finding(str(path), 0, 0, "PF827", "a file of cases; `promptforge test` reads it")
        )
    for path in targets.profiles:
        found += check_profile(path, everywhere, known, templates)
        files.append(path)
    touched = [pair for pair in known.pairs() if _touched(pair, known, meant)]
    wrong = {f.path for f in found if f.severity == "error"}
    light = [pair for pair in touched if not _closure(library, pair) & wrong]
    found += _heavy(library, light, meant)
    good = [pair for pair in light if not any(True for _ in _heavy(library, [pair], None))][
        :MAX_LAYOUTS_TRIED
    ]
    for pair in good:
        if not {pair.page, *pair.items.values()}.isdisjoint(meant):
            found += _tried(library, pair, meant)
    found += check_item_templates(library, known, meant)
    found += check_prompt_templates(library, meant, wrong)
    measured: list[LayoutCost] = []
    tokenizer = None
    if prices is None:
        prices = all(finding.severity == "note" for finding in found)
    if prices and good:
        measured, tokenizer, more = _priced(templates, good, profile, everywhere, found)
        found += more
    reported = [f for f in drop_doubtful_edits(sort_findings(found)) if _asked(f, targets)]
    return LintReport(reported, measured, tokenizer, len(set(files)))


def _path(templates: Templates, name: str) -> Path | None:
    found = templates.find(name)
    return None if found is None else found.path


def _asked(finding: Finding, targets: LintTargets) -> bool:
    path = Path(finding.path)
    return path in targets.profiles or path in targets.others or targets.meant(path)


def _templates(
    library: TemplateLibrary, known: LayoutFiles, meant: dict[str, Path]
) -> Iterator[Finding]:
    for name in meant:
        if name.endswith(".j2"):
            library.read(name)
            yield from check_encoding(meant[name])
    pages = list(known.pairs())
    used: set[str] = set()
    for pair in pages:
        if meant.keys().isdisjoint(
            name for page in (pair.page, *pair.items.values()) for name in library.drawn(page)
        ):
            continue
        for stem, name in (("layout", pair.page), *pair.items.items()):
            if name not in used:
                library.walk(name, variables_seen(stem))
                used |= _reached(library, name)
        if "item" not in pair.items and pair.page in meant:
            look = f"item.{pair.ending}.j2"
            message = f'the layout "{pair.layout}" has no "{look}" for items of any kind; add it, or a base in layout.yaml'
            yield LintedText(meant[pair.page], "").whole("PF822", message)
    for name in meant:
        if (part_of_prompt := prompt_part(name)) is not None:
            library.walk(name, PROMPT_VARIABLES[part_of_prompt])
            used |= _reached(library, name)
    for name in meant:  # what no page reaches has its faults all the same
        part = parse_template_name(name)
        if name not in used and part is not None:
            library.walk(name, variables_seen(part.stem))
            used |= _reached(library, name) - {name}
    yield from library.findings
    yield from (Finding(path, 0, 0, "PF825", message) for path, message in library.unreadable)
    unread: dict[str, list[str]] = {}
    for name in meant:
        if not name.endswith(".j2"):
            continue
        text = LintedText(meant[name], "")
        if name not in used and known.settings(name.split("/")[0]) is not None:
            why = _why_unused(name, known, pages)
            unread.setdefault(why if why.startswith("the layout") else f"{name}: {why}", []).append(
                name
            )
        elif (part := parse_template_name(name)) and (
            near := misspelt_kind(part.stem, _kinds(part, known))
        ):
            yield text.whole(
                "PF821", f'shows items of the kind "{part.stem}"; did you mean "{near}"?'
            )
        original = library.templates.find(f"shipped/{name}")
        if original is not None and original.path.resolve() != meant[name].resolve():
            yield text.whole(
                "PF823", f'stands in for the shipped "{name}"; the original is "shipped/{name}"'
            )
    for why, names in unread.items():  # a page that is not there is said once
        others = f"; so nobody reads {len(names) - 1} more here" if len(names) > 1 else ""
        yield LintedText(meant[names[0]], "").whole(
            "PF820", why.removeprefix(f"{names[0]}: ") + others
        )


def _kinds(part: TemplateName, known: LayoutFiles) -> set[str]:
    """Return the kinds that a layout names: in its settings, which say what is right, else in more than one ending."""
    settings = known.settings(part.layout)
    named = {*settings.sections, *settings.titles} if settings else set()
    stems = [
        other.stem
        for name in known.names.get(part.layout, ())
        if (other := parse_template_name(name))
    ]
    return named | {stem for stem in stems if stems.count(stem) > 1}


def _reached(library: TemplateLibrary, name: str) -> set[str]:
    """Return the names of a template and of all that it draws on."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        volume = library.volume(one)
        waiting += [target for _, _, target in volume.links] if volume else []
    return seen


def _why_unused(name: str, known: LayoutFiles, pages: Sequence[LayoutFormat]) -> str:
    part = parse_template_name(name)
    if part is None and name.startswith("prompt/") and name.count("/") == 2:
        stem = name.rpartition("/")[2].partition(".")[0]
        return f'"{stem}" is no part of a prompt{suggest_name(stem, PROMPT_VARIABLES)}'
    if part is None and name.count("/") == 0 and not name.startswith("_"):
        return "lies beside the layouts; templates are called LAYOUT/PART.EXT.j2"
    if part is None and name.count("/") == 1 and "." not in name.removesuffix(".j2"):
        return f'has no format; call it "{Path(name).stem}.md.j2", or with xml, json or txt for md'
    if part is None:
        return "no template extends, includes or imports from this one; do so, or delete it"
    if part.layout not in known.layouts:
        hint = (
            did_you_mean(part.layout, known.layouts)
            or "; a layout.yaml with `base:` makes one of it"
        )
        return f'"{part.layout}" is no layout: it has neither a page nor a layout.yaml{hint}'
    if (ending := FORMAT_EXTENSIONS.get(part.ending)) is not None and ending != part.ending:
        return f'the format {part.ending} ends in "{ending}": call it "{part.stem}.{ending}.j2"'
    have = sorted({pair.ending for pair in pages if pair.layout == part.layout})
    if whole := [ending for ending in have if ending.startswith(f"{part.ending}.")]:
        return f'the format {part.ending} ends in "{whole[0]}" here: call it "{part.stem}.{whole[0]}.j2"'
    return f'the layout "{part.layout}" has no page "layout.{part.ending}.j2"{suggest_name(part.ending, have) if have else ""}'


def _is_look(path: Path, name: str, layouts: set[str]) -> bool:
    """Whether a file without `.j2` is called as a template of a layout is."""
    stem = path.name.partition(".")[0]
    in_layout = (
        name.split("/")[0] in layouts and stem == stem.lower() and stem.replace("_", "").isalnum()
    )
    return in_layout or stem in (*KNOWN_KINDS, "layout", "item")


def _strays(folder: Path, library: TemplateLibrary, layouts: set[str]) -> Iterator[Finding]:
    """Yield files that look like templates or settings and are not read, because of their names."""
    names = set(library.names)
    for unreadable in unreadable_folders(folder):
        yield Finding(unreadable, 0, 0, "PF825", "the folder cannot be read")
    for path in list_files(folder):
        name = path.relative_to(folder).as_posix()
        if name in names and library.templates.find(name) is not None:
            continue
        end = path.suffix
        if name.endswith("layout.yml"):
            yield LintedText(path, "").whole(
                "PF824", 'is not read; settings are called "layout.yaml"'
            )
        elif (
            end[1:] in FORMAT_EXTENSIONS.values()
            and name.count("/") == 1
            and _is_look(path, name, layouts)
        ):
            yield LintedText(path, "").whole(
                "PF824", f'is not read; a template is called "{path.name}.j2"'
            )
        elif end in (".jinja", ".jinja2", ".j2.txt", ".tmpl") or name.endswith(".j2.txt"):
            yield LintedText(path, "").whole(
                "PF824", 'is not read; templates are called "LAYOUT/PART.EXT.j2"'
            )
        elif end == ".j2":
            if path.is_symlink():
                why = "is a link that leads out of the folder, or nowhere"
            elif name.count("/") > 1:
                why = "lies too deep; templates are called LAYOUT/PART.EXT.j2"
            else:
                why = "a name keeps to letters, digits, '_', '.' and '-', and does not begin with '.' or '-'"
            yield LintedText(path, "").whole("PF824", f"is not read: {why}")


def _touched(pair: LayoutFormat, known: LayoutFiles, meant: dict[str, Path]) -> bool:
    names = {
        pair.page,
        *pair.items.values(),
        *(f"{layout}/layout.yaml" for layout in known.chain(pair.layout)),
    }
    return not names.isdisjoint(meant)


def _closure(library: TemplateLibrary, pair: LayoutFormat) -> set[str]:
    """Return the files that a layout is made of in one format."""
    names = set[str]().union(
        *(_reached(library, name) for name in (pair.page, *pair.items.values()))
    )
    paths = [_path(library.templates, name) for name in (*names, f"{pair.layout}/layout.yaml")]
    return {str(path) for path in paths if path is not None}


def _heavy(
    library: TemplateLibrary, pairs: Sequence[LayoutFormat], meant: dict[str, Path] | None
) -> Iterator[Finding]:
    """Yield templates that do so much that no sample of them is rendered; `meant` None: all of them."""
    for name in dict.fromkeys(name for pair in pairs for name in (pair.page, *pair.items.values())):
        volume = library.volume(name)
        if (
            volume is not None
            and library.weight(name) >= MAX_TRIAL_STEPS
            and (meant is None or name in meant)
        ):
            yield volume.text.whole("PF817", "does so much that no sample of it was rendered")


def _tried(
    library: TemplateLibrary, pair: LayoutFormat, meant: dict[str, Path]
) -> Iterator[Finding]:
    kinds = sorted(set(pair.items) - {"item"})
    for failure in trial_failures(library.templates, pair.layout, format_of(pair.ending), kinds):
        name, _, line = (failure.where or pair.page).partition(":")
        volume = library.volume(name) or library.volume(pair.page)
        number = int(line) if line.isdigit() else 0
        if volume is not None and str(volume.text.path) not in map(str, meant.values()):
            volume, number = _own(library, pair, meant), 0
        if volume is None:
            continue
        if number:
            yield volume.text.on(number, failure.code, failure.message)
        else:
            yield volume.text.whole(failure.code, failure.message)


def _own(library: TemplateLibrary, pair: LayoutFormat, meant: dict[str, Path]) -> Any:
    names = (name for name in (pair.page, *pair.items.values()) if name in meant)
    return next((library.volume(name) for name in names), None)


def _priced(
    templates: Templates,
    pairs: Sequence[LayoutFormat],
    profile: str | None,
    folders: Sequence[Path],
    found: list[Finding],
) -> tuple[list[LayoutCost], str, list[Finding]]:
    loaded = load_profile(profile or "default", folders)
    tokenizer = str(loaded.options.get("tokenizer", Options().tokenizer))
    failed = {f.path for f in found if f.code == "PF814"}
    most = loaded.options.get("max_tokens", Options().max_tokens)
    prices, more = [], []
    for pair in pairs:
        page = templates.find(pair.page)
        paths = {str(p.path) for p in map(templates.find, (pair.page, *pair.items.values())) if p}
        if page is None or paths & failed:
            continue
        kinds = ["item", *sorted(set(pair.items) - {"item"})]
        one = measure_layout(templates, pair.layout, format_of(pair.ending), kinds, tokenizer)
        prices.append(one)
        if most is not None and one.page > most:
            message = (
                f"the page costs {one.page:,} tokens without any item, and max_tokens is {most:,}"
            )
            more.append(Finding(str(page.path), 0, 0, "PF843", message))
    return prices, tokenizer, more
