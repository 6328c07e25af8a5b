"""State of one preview, and the work on it: requests of the page, files, renderings.

A `Session` holds the items, the options and the list of files that the page may show. The page
sends views with unsaved texts; a `RenderQueue` renders them in a sandbox. A save needs the version
of the file that the page has seen. Golden cases go into one file in the folder of tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import re
import shutil
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
import watchfiles

from ..authoring import golden
from ..authoring.golden import parse_cases
from ..authoring.recipes import as_command, as_profile, as_python
from ..config.options import OPTION_VOCABULARY
from ..config.profiles import find_profiles
from ..errors import (
    Diagnostics,
    OptionError,
    PromptForgeError,
    TemplateError,
    quote,
    suggest_name,
)
from ..files import YAML_SUFFIXES, read_bytes, remove_unfinished, shipped_folder, write_whole
from ..model import Item
from ..sandbox.process import Sandbox
from ..sources.item_files import parse_items
from ..templating.loader import Templates
from .render_worker import CASES_FILE_NAME

MAX_DRAFTS = 20
"""Files with unsaved changes at one time."""
MAX_DRAFT_FOLDERS = 64
"""Newest versions of profiles with unsaved changes that are kept in folders."""
MAX_EDITABLE_BYTES = 256 * 1024
"""Bytes of a file that can be edited on the page."""
MAX_LISTENERS = 8
"""Browsers that may listen at a time; all pages of one share a stream."""
MAX_ROWS_ASKED = 200
"""Items in one request for budgets."""
MAX_LINES_KEPT = 64
"""Newest requests that are remembered, one for each page and kind."""
OVERTAKEN_SECONDS = 0.4
"""Seconds after which work that nobody waits for any more is ended."""
POLL_SECONDS = 0.5
"""Seconds between two looks at the files of items."""
HEARTBEAT_SECONDS = 15.0
"""Seconds of silence after which listeners get a sign of life."""
MEMORY_LIMIT_BYTES = 1 << 30
"""Bytes of memory for a rendering."""
TIME_LIMIT_SECONDS = {"quick": 4, "thorough": 20}
"""Seconds that templates may take, by worker; more for many items."""
WORKER_OF = {
    **dict.fromkeys(("page", "values"), "quick"),
    **dict.fromkeys(("needs", "account", "remedies", "curve", "comparison", "prompt"), "thorough"),
    **dict.fromkeys(("findings", "as_case", "case"), "thorough"),
}
"""The worker of each kind of request: a text never waits for its account."""
DRAW_TASK = "promptforge.preview.render_worker:draw"
RECORD_TASK = "promptforge.preview.render_worker:record_case"
CHECK_TASK = "promptforge.lint.checker:check_draft"
Answer = dict[str, Any]
SAMPLE_FILE = Path(golden.__file__).with_name("start") / "items.json"
FOLDERS = ("templates", "profiles")
RECORD_SUFFIXES = (".json", ".jsonl", ".ndjson", *YAML_SUFFIXES)
Changed = Callable[[], Awaitable[None]]


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
    """Any other options, by their names."""

    def chosen(self) -> dict[str, Any]:
        """Return all options that are chosen."""
        own = {name: getattr(self, name) for name in OWN_CHOICES}
        return {**self.options, **{n: value for n, value in own.items() if value is not None}}


Row = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class PageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for a text, its account, a comparison, the whole prompt, or findings."""

    view: View
    other: View | None = None
    """Second side of a comparison."""
    drafts: dict[str, str] = {}
    """Id of a file → its text in the editor."""
    tokens: bool = False
    """Also return the ends of all tokens."""
    to: str = "roles"
    """Shape of the whole prompt."""
    tab: Annotated[str, msgspec.Meta(max_length=40)] = ""
    """A word of each open page: a request overtakes older ones of its own page alone."""
    rows: Annotated[list[Row], msgspec.Meta(max_length=MAX_ROWS_ASKED)] = []
    """Numbers of the items in sight: their budgets are asked for."""
    picked: Row | None = None
    """Number of the item that was chosen."""
    top: Row = 0
    """The largest budget of a curve, in tokens."""
    file: str = ""
    """Id of the draft that is checked."""


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
    """The user's folder around it."""
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
    """Messages as plain data, in the shape of any provider."""


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
    """The file of all items, if they come from one."""
    words: Sequence[str] = ()
    """The command that prints the same text, without the choices of the page."""
    drafts_folder: Path = field(default_factory=Path)
    """A folder for unsaved texts; emptied when the preview ends."""
    stamp: int = 0
    files: dict[str, EditableFile] = field(default_factory=dict)
    items_key: str = ""
    size: int = 0
    """Bytes of the items, roughly."""

    def __post_init__(self) -> None:
        if self.profile is not None and self.profile.endswith(YAML_SUFFIXES):
            # A profile given by its path: look in its folder first.
            path = Path(self.profile)
            self.profiles, self.profile = [path.parent, *self.profiles], path.stem
        self._draft_profiles: dict[Path, None] = {}
        self.profiles = [folder.resolve() for folder in self.profiles]
        self.templates = [folder.resolve() for folder in self.templates]
        self.tests = self.tests and self.tests.resolve()
        own = self.own_folder("templates") or self.own_folder("profiles")
        if self.tests is None and own is not None:
            self.tests = own.parent / "tests"
        self.replace_items(self.items)
        self.list_files()

    def replace_items(self, items: Sequence[Item]) -> None:
        """Replace the items."""
        self.items = list(items)
        self.records = [msgspec.to_builtins(item) for item in items]
        data = repr(self.records).encode("utf-8", "backslashreplace")
        self.size, self.items_key = len(data), hashlib.sha256(data).hexdigest()

    def list_files(self) -> None:
        """List the files anew and count a change."""
        self.stamp += 1
        self._known = Templates(self.templates)
        self.files = {}
        for name in self._known.names():
            if at := self._known.find(name):
                self._list_file("templates", name, at.path, self.templates)
        for name, _, path in find_profiles(self.profiles):
            self._list_file("profiles", name, path, self.profiles)

    def _list_file(self, what: str, name: str, path: Path, folders: list[Path]) -> None:
        # Hashed, so that it is the same in each run, and the page finds its open tabs again.
        key = hashlib.sha256(f"{what}/{name}".encode()).hexdigest()[:16]
        own = next((folder for folder in folders if path.is_relative_to(folder)), None)
        self.files[key] = EditableFile(key, what, name, path, own or path.parent, own is None)

    def own_folder(self, what: str) -> Path | None:
        """Return the user's first folder, for copies of shipped files; `None` without any."""
        folders = {"templates": self.templates, "profiles": self.profiles}[what]
        return next(iter(folders), None)

    def settings(self, view: View, drafts: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the settings of a rendering as plain data, for another process.

        `drafts` maps ids of files to unsaved texts; those of profiles go into `drafts_folder`.
        Raises `OptionError` for a value that an option does not take, and for an unknown file.
        """
        names = [name for name, _, _ in find_profiles(self.profiles)]
        # Only a name: a path here would read any file of this machine.
        if view.profile is not None and view.profile not in names:
            hint = suggest_name(view.profile, names)
            raise OptionError(f"there is no profile {quote(view.profile)}{hint}")
        options = dict(self.options)
        if self.texts.user:
            options.setdefault("query", self.texts.user)
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
                profiles = [self._draft_profile(file.name, text), *profiles]
        return {
            "stamp": self.stamp,
            "profile": view.profile or self.profile,
            "templates": [texts, *templates] if texts else templates,
            "profiles": profiles,
            "allow_outside": self.allow_outside,
            "options": msgspec.to_builtins(options),
        }

    def _draft_profile(self, name: str, text: str) -> str:
        """Write the draft of a profile into a folder of its own; return the folder."""
        key = hashlib.sha256(f"{name}\0{text}".encode("utf-8", "replace")).hexdigest()[:16]
        folder = self.drafts_folder / key
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8", errors="replace")
        # Each key press brings another one: only the newest can still be asked for.
        self._draft_profiles[folder] = self._draft_profiles.pop(folder, None)
        while len(self._draft_profiles) > MAX_DRAFT_FOLDERS:
            shutil.rmtree(oldest := next(iter(self._draft_profiles)), ignore_errors=True)
            del self._draft_profiles[oldest]
        return str(folder)

    def draft_to_check(self, id: str, drafts: Mapping[str, str]) -> dict[str, Any]:
        """Return the request that checks a draft, or a file as it is."""
        file = self.find_file(id)
        text = drafts.get(id)
        if text is None:
            text = read_file(file).text
        folders = {what: [str(each) for each in getattr(self, what)] for what in FOLDERS}
        name = f"{file.what}/{file.shown}"
        return {"name": name, "text": text, "folder": str(self.drafts_folder), **folders}

    def recipes(self, view: View) -> dict[str, str]:
        """Return the view as a command, as a profile of YAML and as Python."""
        chosen = view.chosen()
        words = [*(self.words or ["promptforge", "render", "items.json"])]
        profile = {"profile": view.profile} if view.profile else {}
        options = {**self.options, **chosen}
        folders = {n: [str(each) for each in getattr(self, n)] for n in FOLDERS if getattr(self, n)}
        named = {"profile": view.profile or self.profile} if view.profile or self.profile else {}
        file = str(self.items_file) if self.items_file else None
        return {
            "command": as_command(words, {**profile, **chosen}),
            "yaml": as_profile(view.profile or self.profile, msgspec.to_builtins(options)),
            "python": as_python(file, {**named, **folders, **msgspec.to_builtins(options)}),
        }

    def take_items(self, text: str, name: str, *, sample: bool = False) -> list[str]:
        """Replace the items by those in a text that was pasted or dropped; return what is said.

        A text that holds no items is one item itself. Raises `ItemError` for half a file of them.
        """
        diagnostics = Diagnostics()
        if sample:
            text, name = SAMPLE_FILE.read_text(encoding="utf-8"), SAMPLE_FILE.name
        if Path(name).suffix.lower() in RECORD_SUFFIXES or text.lstrip()[:1] in ("[", "{"):
            found = parse_items(text, where=name, diagnostics=diagnostics)
        else:
            found = [Item(kind="document", name=name, content=text)]
        self.replace_items(found)
        self.items_file = None
        return [str(each) for each in diagnostics]

    def prompt_texts(self, view: View) -> dict[str, Any]:
        """Return the texts around the context; a query typed on the page is the question too."""
        texts = self.texts._asdict()
        if "query" not in self.options and view.query is not None:
            texts["user"] = view.query
        return texts

    def find_file(self, id: str) -> EditableFile:
        """Return the file with an id; raises `OptionError`."""
        found = self.files.get(id)
        if found is None:
            raise OptionError("there is no such file; it may have been renamed or removed")
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
    "variable": "variables", "field of `item`": "fields", "tag": "tags", "filter": "filters",
    "key": "layout_keys",
}  # fmt: skip
"""Heading of the first column of a table in the guide to templates → the kind of its words."""
OPTION_SCHEMAS = {name: rule.schema() for name, rule in OPTION_VOCABULARY.rules.items()}
"""The options with their meaning, their values and their defaults."""


def words_of_templates() -> dict[str, dict[str, str]]:
    """Return what may stand in a template or a `layout.yaml`, by kind, each with its meaning.

    The tables of the guide to templates say it, so it is written once.
    """
    found: dict[str, dict[str, str]] = {kind: {} for kind in _WORD_TABLES.values()}
    kind = None
    guide = shipped_folder("templates") / "README.md"
    for line in guide.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            kind = None
        elif cells[0] in _WORD_TABLES:
            kind = _WORD_TABLES[cells[0]]
            if cells[1:2] == ["holds"]:  # the keys of a case
                kind = None
        elif kind is not None:
            meaning = " · ".join(cell.replace("\\|", "|") for cell in cells[1:])
            for words in re.findall(r"`([^`]+)`", cells[0]):
                for word in _words_in(kind, words):
                    found[kind].setdefault(word, meaning)
    found["variables"]["item"] = "the item of this template"
    for name in ("headers", "line_numbers", "scores", "code"):
        found["variables"][name] = OPTION_VOCABULARY.rules[name].doc
    return found


def _words_in(kind: str, words: str) -> list[str]:
    if kind == "filters":  # `item.name \| code`, `list \| join(", ")`
        return re.findall(r"\|\s*(\w+)", words)
    if kind == "tags":
        return re.findall(r"{%\s*(\w+)", words)
    if kind == "fields":
        return [words.removeprefix("item.")]
    return [words]


# --- renderings -----------------------------------------------------------------------------------


class OvertakenError(Exception):
    """A newer request of the same page and kind came."""


class RenderQueue:
    """The requests for one worker: of those that a page repeats, only the newest is done."""

    def __init__(self, session: Session, seconds: float) -> None:
        """Start no process yet; `seconds` is the templates' time."""
        self._session = session
        self._seconds = seconds
        self._sandbox = self._new_sandbox()
        self._lock = asyncio.Lock()
        self._newest: dict[tuple[str, str], int] = {}
        self._number = 0
        self._running: tuple[tuple[str, str], float] | None = None

    @property
    def _allowed_seconds(self) -> float:
        return self._seconds + self._session.size / 250_000  # bytes of items in a second

    def _new_sandbox(self) -> Sandbox:
        return Sandbox(seconds=self._allowed_seconds, memory=MEMORY_LIMIT_BYTES)

    async def draw(
        self, request: Mapping[str, Any], task: str = DRAW_TASK, line: tuple[str, str] = ("", "")
    ) -> Answer:
        """Return the task's answer, or `{"error": …}`; raises `OvertakenError`.

        `line` is the page and the kind of the request: a newer one of the same line overtakes it.
        """
        self._number += 1
        mine = self._newest[line] = self._number
        while len(self._newest) > MAX_LINES_KEPT:
            del self._newest[min(self._newest, key=self._newest.__getitem__)]
        self._end_overtaken(line)
        async with self._lock:
            # Each keystroke asks for a rendering; only the latest is worth one.
            self._refuse_overtaken(line, mine)
            if self._sandbox.seconds < self._allowed_seconds:  # there are more items than before
                self._sandbox.close()
                self._sandbox = self._new_sandbox()
            self._running = line, asyncio.get_running_loop().time()
            try:
                answer = await self._ask(request, task)
            except PromptForgeError as error:
                self._refuse_overtaken(line, mine)  # it was ended for that
                return {"error": describe_error(error, self._session)}
            finally:
                self._running = None
            return answer

    async def _ask(self, request: Mapping[str, Any], task: str) -> Answer:
        session, call = self._session, self._sandbox.call
        given = {"items_key": session.items_key, "items": None, "tokens": False, **request}
        answer: Answer = await asyncio.to_thread(call, task, given)
        # Items are sent once: megabytes, while a keystroke in a template is a few bytes.
        if answer.get("needs") == "items":
            given["items"] = session.records
            answer = await asyncio.to_thread(call, task, given)
        return answer

    def _refuse_overtaken(self, line: tuple[str, str], mine: int) -> None:
        if self._newest.get(line, mine) != mine:
            raise OvertakenError

    def _end_overtaken(self, line: tuple[str, str]) -> None:
        """End the rendering under way if `line` no longer waits for it, unless it is about done."""
        if self._running is None or self._running[0] != line:
            return
        if asyncio.get_running_loop().time() - self._running[1] > OVERTAKEN_SECONDS:
            old, self._sandbox = self._sandbox, self._new_sandbox()
            self._running = None
            # Closing waits for the call to fail, which it does in its own thread.
            threading.Thread(target=old.close, daemon=True).start()

    def close(self) -> None:
        """End the process of the sandbox."""
        self._sandbox.close()


def describe_error(error: PromptForgeError, session: Session) -> dict[str, Any]:
    """Return kind, message and place of an error for the page, without a path of this machine."""
    name, line = error.where or "", None
    if found := re.fullmatch(r"(.*?):(\d+)", name, re.DOTALL):
        name, line = found[1], int(found[2])
    shipped = [shipped_folder("templates"), shipped_folder("profiles")]
    roots = [*session.templates, *session.profiles, *shipped, session.tests]
    if session.items_file:
        roots.append(session.items_file.parent)
    name, message = (_without_roots(text, roots) for text in (name, error.bare))
    kind = type(error).__name__.removesuffix("Error").lower()
    said: dict[str, Any] = {"kind": kind, "message": message}
    if name:
        ids = {file.name: file.id for file in session.files.values()}
        ids |= {file.shown: file.id for file in session.files.values()}
        said |= {"name": name, "line": line, "file": ids.get(name)}
    for fact in ("needed", "largest", "option"):
        if getattr(error, fact, None) is not None:
            said[fact] = getattr(error, fact)
    return said


def _without_roots(text: str, roots: Sequence[Path | None]) -> str:
    paths = {path for root in roots if root for path in (str(root), str(root.resolve()))}
    for path in sorted(paths, key=len, reverse=True):  # an inner folder before the one around it
        if len(path) > 1:
            text = text.replace(f"{path}/", "")
    return text


# --- reading and saving files ---------------------------------------------------------------------


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
    if read_file(file).tag != seen:
        raise SaveError(f"{file.shown} was changed by somebody else since it was opened here", 412)
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
    write_file(path, folder, data, file.shown)
    return _content_tag(data)


def write_file(path: Path, folder: Path, data: bytes, shown: str) -> None:
    """Write a file inside `folder`, at one stroke; make its folder. Raises `SaveError`."""
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise SaveError(f"{shown} lies behind a link that leads out of your folder", 409)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        real = path.resolve()
        remove_unfinished(real.parent, real.name)
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else None
        with write_whole(real, mode) as written:
            written.write(data)
    except OSError as error:
        raise SaveError(f"{shown} cannot be written: {error.strerror}", 409) from None


class CaseFile(NamedTuple):
    """The file at one moment."""

    path: Path
    source: str
    """Its text; empty before the first case."""
    tag: str
    names: list[str]
    """Names of its cases."""

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
        found.path.parent.mkdir(exist_ok=True)
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


def save_cases(session: Session, found: CaseFile, source: str) -> None:
    """Write the text that the sandbox returned.

    Templates of strangers ran there, so the text is not trusted: it must add one case to the file.
    """
    goes_on = source.startswith(found.source.rstrip("\n"))
    if not goes_on or len(parse_cases(source, found.path)) != len(found.names) + 1:
        raise SaveError("the case could not be written", 409)
    load_cases(session, found.tag)
    write_file(found.path, found.path.parent, source.encode("utf-8"), found.shown)


# --- changes of files by somebody else ------------------------------------------------------------


class ChangeFeed:
    """A signal to all listening pages that something has changed; it carries no data."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()
        self.number = 0
        """Number of changes so far: a page that has heard of this one knows all of them."""

    def tell(self) -> None:
        """Wake all listeners."""
        self.number += 1
        for listener in self._listeners:
            listener.set()

    @property
    def full(self) -> bool:
        """True while no more pages can listen."""
        return len(self._listeners) >= MAX_LISTENERS

    async def listen(self) -> AsyncIterator[bool]:
        """Yield True for a change, False for a sign of life."""
        heard = asyncio.Event()
        self._listeners.add(heard)
        try:
            while True:
                try:
                    await asyncio.wait_for(heard.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield False
                    continue
                heard.clear()
                yield True
        finally:
            self._listeners.discard(heard)


def _is_ours(_change: watchfiles.Change, path: str) -> bool:
    name = Path(path).name
    # A name without a dot may be a new folder. Files written into it before it is watched make no
    # event of their own.
    return (name.endswith((".j2", *YAML_SUFFIXES)) or "." not in name) and not name.startswith(".")


async def watch_folders(folders: Sequence[Path], changed: Changed) -> None:
    """Call `changed` after a change of a template or profile, in `folders` or shipped."""
    every = [*folders, shipped_folder("templates"), shipped_folder("profiles")]
    there = list(dict.fromkeys(folder.resolve() for folder in every if folder.is_dir()))
    async for _ in watchfiles.awatch(
        *there, watch_filter=_is_ours, debounce=50, step=20, rust_timeout=1000
    ):
        await changed()


async def watch_files(paths: Sequence[Path], changed: Changed) -> None:
    """Call `changed` after a change of size or time of a file.

    Polled: a file of items may lie in a folder of a million others, which nobody wants watched.
    """
    before = [_state(path) for path in paths]
    while paths:
        await asyncio.sleep(POLL_SECONDS)
        now = [_state(path) for path in paths]
        if now != before:
            before = now
            await changed()


def _state(path: Path) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns
    return None
