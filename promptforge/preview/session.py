"""State of one preview: the items, the options, the files that the page may show.

The page sends views with unsaved texts; a `RenderQueue` renders them in a sandbox. To save a file,
the page names the version that it has seen.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec

from ..authoring import golden
from ..authoring.golden import parse_cases
from ..config.options import OPTION_VOCABULARY, as_command, as_profile, as_python
from ..config.profiles import find_profiles, load_profile
from ..engine import REASONS, Templates
from ..errors import (
    Diagnostic,
    Diagnostics,
    ItemError,
    OptionError,
    PromptForgeError,
    TemplateError,
    quote,
    suggest_name,
)
from ..files import YAML_SUFFIXES, folder_stamps, shipped_folder, tokenizer_file
from ..files.access import (
    Access,
    copy_once,
    leads_outside,
    make_folder,
    make_temporary_folder,
    read_bytes,
    read_utf8,
    remove_folder,
    remove_unfinished,
    write_whole,
)
from ..model import Item
from ..sources.item_files import parse_items

MAX_DRAFTS = 20
MAX_DRAFT_FOLDERS = 64
"""Newest versions of profiles with unsaved changes that are kept in folders."""
MAX_EDITABLE_BYTES = 256 * 1024
MAX_ROWS_ASKED = 200
CASES_FILE_NAME = "preview.yaml"
SAMPLE_FILE = Path(golden.__file__).with_name("start") / "items.json"
FOLDERS = ("templates", "profiles")
_WORDS_OF_TEXTS = (
    *OPTION_VOCABULARY, *FOLDERS, "profile", "allow_outside", "quiet", "workspace", "settings",
    *(f"{name}{file}" for name in ("system", "instructions", "user") for file in ("", "_file")),
    "history",
)  # fmt: skip
"""Names of flags that bring no items."""
RECORD_SUFFIXES = (".json", ".jsonl", ".ndjson", *YAML_SUFFIXES)


# --- requests of the page -------------------------------------------------------------------------


OWN_CHOICES = ("layout", "format", "max_tokens", "query")
"""Options that the page always shows; the others are in its drawer."""


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's choices on the page; `None` leaves one to the command line and the profile."""

    profile: str | None = None
    layout: str | None = None
    format: str | None = None
    max_tokens: int | None = None
    query: str | None = None
    options: dict[str, Any] = {}

    def chosen(self) -> dict[str, Any]:
        """Return all options that are chosen."""
        own = {name: getattr(self, name) for name in OWN_CHOICES}
        return {**self.options, **{n: value for n, value in own.items() if value is not None}}


Row = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class PageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a text, its account, a comparison, the whole prompt, or findings."""

    view: View
    other: View | None = None
    drafts: dict[str, str] = {}
    """Id of a file → its text in the editor."""
    tokens: bool = False
    """Also return the ends of all tokens."""
    to: str = "roles"
    tab: Annotated[str, msgspec.Meta(max_length=40)] = ""
    """A word of each open page: a request overtakes older ones of its own page alone."""
    rows: Annotated[list[Row], msgspec.Meta(max_length=MAX_ROWS_ASKED)] = []
    """Numbers of the items in sight: their budgets are asked for."""
    picked: Row | None = None
    file: str = ""
    expression: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    """Text between the braces of a `{{ }}` under the pointer."""


class CaseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to save the view as a golden case, as the files on the disk render it."""

    view: View
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    expect: Literal["text", "bounds"]


Asked = TypeVar("Asked")


def decode_request(body: bytes, shape: type[Asked]) -> Asked:
    """Parse the body of a request; raises `OptionError`."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OptionError(f"not a request of this page: {error}") from None


def read_request(body: bytes) -> PageRequest:
    """Parse a request to draw, within the limits for drafts; raises `OptionError`."""
    asked = decode_request(body, PageRequest)
    if len(asked.drafts) > MAX_DRAFTS:
        raise OptionError(f"more than {MAX_DRAFTS} files with changes at a time; save some")
    for text in asked.drafts.values():
        if len(text.encode("utf-8", "surrogatepass")) > MAX_EDITABLE_BYTES:
            raise OptionError(f"a file is larger than {MAX_EDITABLE_BYTES // 1024} kB")
    return asked


# --- the session ----------------------------------------------------------------------------------


class EditableFile(msgspec.Struct, frozen=True):
    """A file that the page can show. The page knows its id; its path never leaves this process."""

    id: str
    what: str
    """`templates` or `profiles`."""
    name: str
    """`chunks/item.md.j2`, `chunks/layout.yaml`; of a profile `claude`."""
    path: Path
    folder: Path
    shipped: bool

    @property
    def shown(self) -> str:
        """Its name on the page."""
        return f"{self.name}.yaml" if self.what == "profiles" else self.name

    def describe(self) -> dict[str, Any]:
        """Return its description for the page."""
        return {"id": self.id, "what": self.what, "name": self.shown, "shipped": self.shipped}


class PromptTexts(NamedTuple):
    """Texts of a whole prompt around its context."""

    system: str | None = None
    instructions: str | None = None
    user: str | None = None
    """The question; also the query, unless an option sets one."""
    history: list[Any] | None = None


Stamp = tuple[int, ...] | None
"""Size, times of change and inode of a file; None where there is none."""


def file_stamp(path: Path) -> Stamp:
    """Return the stamp of a file."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino


def _editable_file(what: str, name: str, path: Path, folders: list[Path]) -> EditableFile:
    # Hashed, so that it is the same in each run, and the page finds its open tabs again.
    key = hashlib.sha256(f"{what}/{name}".encode()).hexdigest()[:16]
    own = next((folder for folder in folders if path.is_relative_to(folder)), None)
    return EditableFile(key, what, name, path, own or path.parent, own is None)


@dataclass
class Session:
    """State of one preview. `stamp` grows with each change of a file."""

    items: Sequence[Item]
    profile: str | None
    options: Mapping[str, Any]
    templates: list[Path]
    profiles: list[Path]
    edit: bool = False
    allow_outside: bool = False
    """Profiles may name files outside of their folders."""
    texts: PromptTexts = field(default_factory=PromptTexts)
    tests: Path | None = None
    """Folder for golden cases; `None`: `tests` beside the first of the user's own folders."""
    items_file: Path | None = None
    words: Sequence[Sequence[str]] = (("", "promptforge", "render", "items.json"),)
    """The command that prints the same text, without the choices of the page.

    Each part is the name of an option, `--` for all behind that word, or nothing, and its words.
    """
    loading: str | None = None
    """The call of `pf.load` that reads the same items; `None` where Python cannot name them."""
    pasted: bool = False
    """The items came from the page: the sources that `words` names bring none of them."""
    drafts_folder: Path | None = None
    """A folder for unsaved texts, made for the first one; `close` removes it."""
    stamp: int = 0
    files: dict[str, EditableFile] = field(default_factory=dict)
    items_key: str = ""
    size: int = 0
    """Bytes of the items, roughly."""
    notes: Sequence[Diagnostic] = ()
    """Problems met while settings and items were read."""

    def __post_init__(self) -> None:
        if self.profile is not None and self.profile.endswith(YAML_SUFFIXES):
            # A profile given by its path: look in its folder first.
            path = Path(self.profile)
            self.profiles, self.profile = [path.parent, *self.profiles], path.stem
        self.draft_profiles: dict[Path, None] = {}
        """Folders of unsaved profiles, the newest last."""
        # Links are kept: one may lead somewhere else later.
        self.profiles = [folder.absolute() for folder in self.profiles]
        self.templates = [folder.absolute() for folder in self.templates]
        self.tests = self.tests and self.tests.resolve()
        own = self.own_folder("templates") or self.own_folder("profiles")
        if self.tests is None and own is not None:
            self.tests = own.parent.resolve() / "tests"
        self.replace_items(self.items, self.notes)
        self.list_files()

    def replace_items(self, items: Sequence[Item], notes: Iterable[Diagnostic] = ()) -> None:
        """Replace the items, and the problems met while they were read."""
        self.items, self.notes = list(items), list(notes)
        self.records = [msgspec.to_builtins(item) for item in items]
        self.listed = getattr(items, "listed", ())
        data = repr((self.records, self.listed)).encode("utf-8", "backslashreplace")
        self.size, self.items_key = len(data), hashlib.sha256(data).hexdigest()

    def follow_files(self) -> bool:
        """List the files anew if one has changed; return whether one has."""
        vocabularies = {path: file_stamp(path) for path in self._vocabularies}
        if (self._stamps(), vocabularies) == (self._seen, self._vocabularies):
            return False
        # Half-written files are no error: their next change comes soon.
        with suppress(PromptForgeError):
            self.list_files()
        return True

    def list_files(self) -> None:
        """List the files anew and count a change."""
        with _ONE_AT_A_TIME:  # else an older list could take the place of that with a saved file
            self._seen = self._stamps()  # taken first: a later change is seen at the next look
            self.stamp += 1
            self._known = Templates(self.templates)
            files = {}
            for name in self._known.names():
                at = self._known.find(name)
                if at:
                    file = _editable_file("templates", name, at.path, self.templates)
                    files[file.id] = file
            for name, _, path in find_profiles(self.profiles):
                file = _editable_file("profiles", name, path, self.profiles)
                files[file.id] = file
            self.files = files
            self._vocabularies = self._tokenizer_files()

    def _tokenizer_files(self) -> dict[Path, Stamp]:
        """Return the stamps of the tokenizers' files that options and the user's profiles name."""
        named = [self.options.get("tokenizer")]
        for file in self.files.values():
            if file.what == "profiles" and not file.shipped:
                with suppress(PromptForgeError):  # said when it is chosen
                    named.append(load_profile(file.name, self.profiles).options.get("tokenizer"))
        found = {Path(name) for name in map(tokenizer_file, named) if name}
        return {path: file_stamp(path) for path in found}

    def _stamps(self) -> list[Any]:
        every: list[Any] = []
        for folder in (*self.templates, shipped_folder("templates")):
            try:
                every.append(folder_stamps(folder))
            except TemplateError as error:  # such as a folder that is not there now
                every.append(str(error))
        for folder in (*self.profiles, shipped_folder("profiles")):
            found: list[Path] = []
            with suppress(OSError):  # not there, not a folder, not ours to read
                found = [path for path in folder.iterdir() if path.suffix in YAML_SUFFIXES]
            every.append({path: file_stamp(path) for path in found})
        return every

    def own_folder(self, what: str) -> Path | None:
        """Return the user's first folder, for copies of shipped files; `None` without any."""
        return next(iter(getattr(self, what)), None)

    def settings(self, view: View, drafts: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the settings of a rendering as plain data, for another process.

        `drafts` maps ids of files to unsaved texts; those of profiles go into `drafts_folder`.
        Raises `OptionError` for a value that an option does not take, and for an unknown file.
        """
        if view.profile is not None:
            self._expect_profile(view.profile)
        options = self._own_options()
        for name, value in view.chosen().items():
            # A file of a vocabulary is a path too.
            if name == "tokenizer" and ":" in str(value):
                raise OptionError("the page takes tokenizers by name alone", option=name)
            options[name] = OPTION_VOCABULARY.check(name, value)
        templates: list[Any] = [str(folder) for folder in self.templates]
        profiles = [str(folder) for folder in self.profiles]
        texts = {}
        for each, text in (drafts or {}).items():
            file = self.find_file(each)
            if file.what == "templates":
                texts[file.name] = text
            else:
                profiles = [self._draft_profile(file, text), *profiles]
        return {
            "stamp": self.stamp,
            "profile": view.profile or self.profile,
            "templates": [texts, *templates] if texts else templates,
            "profiles": profiles,
            "allow_outside": self.allow_outside,
            "options": msgspec.to_builtins(options),
        }

    def _own_options(self) -> dict[str, Any]:
        """Return the options of the command line; the question is the query unless one is set."""
        return {"query": self.texts.user, **self.options} if self.texts.user else {**self.options}

    def _expect_profile(self, name: str) -> None:
        """Raise `OptionError` unless it is the name of a profile."""
        # Only a name: a path here would read any file of this machine.
        named = [file for file in self.files.values() if file.name == name]
        if any(file.what == "profiles" and file.path.is_file() for file in named):
            return
        # The list of files is a little behind a `git checkout`.
        names = [each for each, *_ in find_profiles(self.profiles)]
        if name not in names:
            hint = suggest_name(name, names)
            raise OptionError(f"there is no profile {quote(name)}{hint}")

    def make_drafts_folder(self) -> Path:
        """Return the folder for unsaved texts; some systems empty theirs after days."""
        if self.drafts_folder is None or not self.drafts_folder.is_dir():
            self.drafts_folder = make_temporary_folder("promptforge-preview-")
        return self.drafts_folder

    def close(self) -> None:
        """Remove the unsaved texts."""
        if self.drafts_folder is not None:
            remove_folder(self.drafts_folder, whole=True)

    def _draft_profile(self, file: EditableFile, text: str) -> str:
        """Write the draft of a profile into a folder of its own; return the folder."""
        key = hashlib.sha256(f"{file.name}\0{text}".encode("utf-8", "replace")).hexdigest()[:16]
        with _keeping_draft(file.shown):
            folder = self.make_drafts_folder() / key
            make_folder(folder)
            _write_draft(folder / file.shown, text)
        # What is wrong with the draft, or with the file that it names, is said by the rendering.
        with suppress(PromptForgeError, OSError, ValueError):
            self._bring_tokenizer(folder, file)
        # Each key press brings another one: only the newest can still be asked for.
        self.draft_profiles[folder] = self.draft_profiles.pop(folder, None)
        while len(self.draft_profiles) > MAX_DRAFT_FOLDERS:
            oldest = next(iter(self.draft_profiles))
            remove_folder(oldest, whole=True)
            del self.draft_profiles[oldest]
        return str(folder)

    def _bring_tokenizer(self, folder: Path, file: EditableFile) -> None:
        """Put the tokenizer's file that a draft names beside it, as it lies beside the profile."""
        options = load_profile(file.name, [folder, *self.profiles]).options
        inner = Path(tokenizer_file(options.get("tokenizer")) or "").relative_to(folder)
        if leads_outside(str(inner), file.path.parent):
            return
        original, target = file.path.parent / inner, folder / inner
        # One copy for all drafts: it takes megabytes, and each key press brings another draft.
        word = f"{original}\0{file_stamp(original)}"
        copy = folder.parent / hashlib.sha256(word.encode()).hexdigest()[:16]
        copy_once(original, copy, target)

    def recipes(self, view: View) -> dict[str, str]:
        """Return the view as a command, as a profile of YAML and as Python."""
        chosen = view.chosen()
        flags = {"profile": view.profile, **chosen} if view.profile else chosen
        asks = self.prompt_texts(view)["user"]
        if any(self.texts) and asks != self.texts.user:  # the query of the page is the question
            flags = {**{n: flags[n] for n in flags if n != "query"}, "user": asks}
        options = {**self._own_options(), **chosen}
        words, ending = [*self.words], ""
        if self.pasted:
            words = [part for part in words[1:] if part[0] in _WORDS_OF_TEXTS]
            words = [(*self.words[0], "-"), *words]
            flags = {**self._own_options(), **flags}
            ending = f" <<'END'\n{msgspec.json.encode(self.records).decode()}\nEND"
        # A list that was typed and is chosen on the page would hold both.
        kept = [part for part in words if part[0] not in flags]
        before, behind = (
            [word for name, *typed in kept if (name == "--") == last for word in typed]
            for last in (False, True)
        )
        folders = {n: [str(each) for each in getattr(self, n)] for n in FOLDERS if getattr(self, n)}
        named = {"profile": view.profile or self.profile} if view.profile or self.profile else {}
        loading = self.loading or repr(self.records)
        return {
            "command": f"{as_command(before, flags)} {shlex.join(behind)}".rstrip() + ending,
            "yaml": as_profile(view.profile or self.profile, msgspec.to_builtins(options)),
            "python": as_python(loading, {**named, **folders, **msgspec.to_builtins(options)}),
        }

    def take_items(self, text: str, name: str, *, sample: bool = False) -> None:
        """Replace the items by those in a text that was pasted or dropped.

        A text that holds no items is one item itself. Raises `ItemError` for half a file of them.
        """
        diagnostics = Diagnostics()
        if sample:
            text, name = read_utf8(SAMPLE_FILE), SAMPLE_FILE.name
        if Path(name).suffix.lower() in RECORD_SUFFIXES or text.lstrip()[:1] in ("[", "{"):
            found = parse_items(text, where=name, diagnostics=diagnostics)
        else:
            found = [Item(kind="document", name=name, content=text)]
        self.replace_items(found, diagnostics)
        self.items_file, self.loading, self.pasted = None, None, True

    def prompt_texts(self, view: View) -> dict[str, Any]:
        """Return the texts around the context; a query typed on the page is the question too."""
        texts = self.texts._asdict()
        if "query" not in self.options and view.query is not None:
            texts["user"] = view.query
        return texts

    def find_file(self, id: str) -> EditableFile:
        """Return the file with an id; raises `SaveError`."""
        found = self.files.get(id)
        if found is None:
            raise SaveError("there is no such file; it may have been renamed or removed", 404)
        return found

    def describe_files(
        self, *, own: bool = False, named: Sequence[Sequence[str]] = ()
    ) -> list[dict[str, Any]]:
        """Describe files for the page: all of the user's own, or those `named`, as pairs."""
        known = {(file.what, file.name): file for file in self.files.values()}
        if own:
            return [file.describe() for file in known.values() if not file.shipped]
        found = (known.get((what, name)) for what, name in named)
        return [file.describe() for file in found if file]

    def choices(self) -> dict[str, Any]:
        """Return the layouts with their formats, and the profiles."""
        layouts = {}
        for name in self._known.layouts():
            try:
                layouts[name] = self._known.formats(name)
            except (TemplateError, OptionError):  # the error is shown when the layout is chosen
                layouts[name] = []
        known = find_profiles(self.profiles)
        profiles = [{"name": name, "description": about} for name, about, _ in known]
        return {"layouts": layouts, "profiles": profiles}


# --- words for the editor -------------------------------------------------------------------------

_WORD_TABLES = {
    "variable": ("variables", r"(.+)"),
    "field of `item`": ("fields", r"\A(?:item\.)?(.*)"),
    "tag": ("tags", r"{%\s*(\w+)"),
    "filter": ("filters", r"\|\s*(\w+)"),  # `item.name \| code`, `list \| join(", ")`
    "key": ("layout_keys", r"(.+)"),
}
"""Heading of the first column of a table in the guide to templates → the kind of its words, and
the pattern of these in what stands in backticks."""
REASON_LABELS = {
    name: {"short": reason.short, "lacks_room": reason.lacks_room}
    for name, reason in REASONS.items()
}
OPTION_SCHEMAS = {name: rule.schema() for name, rule in OPTION_VOCABULARY.rules.items()}
"""The options with their meaning, their values and their defaults."""


def words_of_templates() -> dict[str, dict[str, str]]:
    """Return what may stand in a template or a `layout.yaml`, by kind, each with its meaning.

    The tables of the guide to templates say it, so it is written once.
    """
    found: dict[str, dict[str, str]] = {kind: {} for kind, _ in _WORD_TABLES.values()}
    kind = pattern = None
    guide = shipped_folder("templates") / "README.md"
    for line in read_utf8(guide).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            kind = None
        elif cells[0] in _WORD_TABLES:
            kind, pattern = _WORD_TABLES[cells[0]]
            if cells[1:2] == ["holds"]:  # the keys of a case
                kind = None
        elif kind is not None and pattern is not None:
            meaning = " · ".join(cell.replace("\\|", "|") for cell in cells[1:])
            for words in re.findall(r"`([^`]+)`", cells[0]):
                for word in re.findall(pattern, words):
                    found[kind].setdefault(word, meaning)
    found["variables"]["item"] = "the item of this template"
    for name in ("headers", "scores", "code"):
        found["variables"][name] = OPTION_VOCABULARY.rules[name].doc
    found["variables"]["line_numbers"] = OPTION_VOCABULARY.rules["lines"].doc
    return found


# --- files that the page saves --------------------------------------------------------------------


_ONE_AT_A_TIME = threading.Lock()
"""Held while files are listed, and from the look at a version to the end of the write."""


class FileText(NamedTuple):
    """Text of a file and its version."""

    text: str
    tag: str
    """Hash of its bytes."""


class SaveError(PromptForgeError):
    """A refusal to read or save, with its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def read_file(file: EditableFile) -> FileText:
    """Read a file of the page; raises `SaveError` as `read_text` does."""
    return read_text(file.path, file.shown)


def read_text(path: Path, shown: str) -> FileText:
    """Read a regular file of UTF-8 text.

    Raises `SaveError`: 404 where it cannot be read, 409 where it is no such file or too large.
    """
    try:
        data = read_bytes(path, MAX_EDITABLE_BYTES)
        text = data.decode("utf-8-sig")
    except OSError as error:
        status = 404
        if error.errno in (errno.EINVAL, errno.EFBIG):  # a pipe or device; too large
            status = 409
        raise SaveError(f"{shown} cannot be read: {error.strerror}", status) from None
    except UnicodeDecodeError:
        raise SaveError(f"{shown} is not UTF-8 text", 409) from None
    return FileText(text.replace("\r\n", "\n"), _content_tag(data))


@contextmanager
def draft_to_check(
    session: Session, id: str, drafts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Give the request that checks a draft, or a file as it is; its folder is gone afterwards."""
    file = session.find_file(id)
    text = drafts.get(id)
    if text is None:
        text = read_file(file).text
    with _keeping_draft(file.shown):
        folder = make_temporary_folder(folder=session.make_drafts_folder())
    try:
        with _keeping_draft(file.shown):
            path = Path(folder, file.what, file.shown)
            make_folder(path.parent)
            _write_draft(path, text)
        folders = {what: [str(each) for each in getattr(session, what)] for what in FOLDERS}
        yield {"path": str(path), **folders}
    finally:
        remove_folder(folder, whole=True)


def _write_draft(path: Path, text: str) -> None:
    with write_whole(path, sync=False) as file:
        file.write(text.encode("utf-8", "replace"))


@contextmanager
def _keeping_draft(shown: str) -> Iterator[None]:
    """Raise `SaveError` where a draft cannot be written for the sandbox."""
    try:
        yield
    except OSError as error:
        raise SaveError(
            f"the changes in {shown} cannot be tried: the folder for temporary files takes none"
            f" ({error.strerror}); they stay on this page",
            507,
        ) from None


def _content_tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def save_file(session: Session, file: EditableFile, text: str, seen: str) -> str:
    """Write a file if its version is still `seen`; return the new version.

    Raises `SaveError`: read-only (403), changed meanwhile (412), too large (413),
    cannot be written (409).
    """
    if not session.edit:
        raise SaveError("this preview only shows; start it with --edit to save", 403)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        message = "the text holds half of a surrogate pair, which no file can hold"
        raise SaveError(message, 409) from None
    if len(data) > MAX_EDITABLE_BYTES:
        raise SaveError(f"{file.shown} would be larger than {MAX_EDITABLE_BYTES // 1024} kB", 413)
    with _ONE_AT_A_TIME:
        if read_file(file).tag != seen:
            message = f"{file.shown} was changed by somebody else since it was opened here"
            raise SaveError(message, 412)
        path, folder = file.path, file.folder
        if file.shipped:  # its copy goes into the user's first folder
            own = session.own_folder(file.what)
            if own is None:
                message = (
                    f"there is no folder of your own to save it in; start again with --{file.what}"
                )
                raise SaveError(f"{message} DIR", 409)
            path, folder = own / file.shown, own
            if path.exists():
                raise SaveError(f"{file.shown} is in your folder meanwhile", 412)
        return write_file(path, folder, data, file.shown)


def write_file(path: Path, folder: Path, data: bytes, shown: str) -> str:
    """Write a file inside `folder`, at one stroke; make its folder. Return its version.

    The page knows the line ends of Unix alone; those of the file stay. Raises `SaveError`.
    """
    try:
        access = Access(str(folder), root=str(folder))
        real = access.locate_output(os.path.relpath(path, folder))
    except ItemError:
        raise SaveError(f"{shown} lies behind a link that leads out of your folder", 409) from None
    try:
        make_folder(real.parent)
        before = read_bytes(real, MAX_EDITABLE_BYTES) if real.exists() else b""
        if 0 < before.count(b"\n") == before.count(b"\r\n"):
            data = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        remove_unfinished(real.parent, real.name)
        with write_whole(real) as written:
            written.write(data)
    except OSError as error:
        raise SaveError(f"{shown} cannot be written: {error.strerror}", 409) from None
    return _content_tag(data)


class CaseFile(NamedTuple):
    """The file at one moment."""

    path: Path
    source: str
    """Its text; empty before the first case."""
    tag: str
    names: list[str]

    @property
    def shown(self) -> str:
        """Its name on the page."""
        return f"{self.path.parent.name}/{self.path.name}"


def load_cases(session: Session, seen: str | None = None) -> CaseFile:
    """Read the file; with `seen`, refuse any other version.

    Raises `SaveError`: read-only (403), changed meanwhile (412), no folder, no text or behind a
    link (409). Raises `ItemError` where the file holds no cases.
    """
    if not session.edit:
        raise SaveError("this preview only shows; start it with --edit to save", 403)
    if session.tests is None:
        raise SaveError("there is no folder to save it in; start again with --tests DIR", 409)
    path = session.tests / CASES_FILE_NAME
    if path.is_symlink() or session.tests.resolve() != session.tests:
        raise SaveError(f"{session.tests.name}/{CASES_FILE_NAME} lies behind a link", 409)
    shown = f"{session.tests.name}/{CASES_FILE_NAME}"
    found = read_text(path, shown) if path.exists() else FileText("", _content_tag(b""))
    if seen is not None and seen != found.tag:
        raise SaveError(f"{shown} was changed by somebody else meanwhile", 412)
    cases = parse_cases(found.text, path) if found.text.strip() else []
    return CaseFile(path, found.text, found.tag, [case.name for case in cases])


def record_request(
    session: Session, found: CaseFile, settings: Mapping[str, Any], wanted: CaseRequest
) -> dict[str, Any]:
    """Return the request for `record_case`, and make the folder of the file.

    The case names other files relative to that folder, so it has to be there.
    """
    try:
        make_folder(found.path.parent, above=False)
    except OSError as error:
        message = f"{found.path.parent.name}/ cannot be made: {error.strerror}"
        raise SaveError(message, 409) from None
    return {
        "settings": settings,
        "name": wanted.name,
        "expect": wanted.expect,
        "source": found.source,
        "path": str(found.path),
        "items_file": str(session.items_file) if session.items_file else None,
    }


def case_request(session: Session) -> dict[str, Any]:
    """Return the request for the text of a case that is saved nowhere."""
    folder = session.tests or (session.items_file.parent if session.items_file else Path.cwd())
    return {
        "name": "a case of the preview",
        "expect": "bounds",
        "path": str(folder / CASES_FILE_NAME),
        "items_file": str(session.items_file) if session.items_file else None,
    }


def request_of_tests(session: Session, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request for `run_tests`: all golden cases of the user, and the drafts."""
    paths = sorted(session.tests.iterdir()) if session.tests and session.tests.is_dir() else []
    drafts = [each for each in settings["profiles"] if Path(each).parent == session.drafts_folder]
    return {
        "paths": [str(path) for path in paths if path.suffix in YAML_SUFFIXES],
        "templates": settings["templates"],
        "profiles": [each for each in settings["profiles"] if each not in drafts],
        "draft_profiles": drafts,
        "allow_outside": settings["allow_outside"],
    }


def save_cases(session: Session, found: CaseFile, source: str) -> None:
    """Write the text that the sandbox returned.

    Templates of strangers ran there, so the text is not trusted: it must add one case to the file.
    """
    goes_on = source.startswith(found.source.rstrip("\n"))
    if not goes_on or len(parse_cases(source, found.path)) != len(found.names) + 1:
        raise SaveError("the case could not be written", 409)
    with _ONE_AT_A_TIME:
        load_cases(session, found.tag)
        write_file(found.path, found.path.parent, source.encode("utf-8"), found.shown)
