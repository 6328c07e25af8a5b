"""Render templates of strangers in a process of their own, ended at its limits.

The engine bounds templates inside a process too; the sandbox holds if that fails, and bounds
memory, which no check inside a process can. Plain data goes in and comes back as JSON. Windows and
macOS cannot limit the memory of a process; there only the time is limited
(`Sandbox.limits_memory`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .. import errors
from ..errors import Diagnostic, Excerpt, PromptForgeError, StrictError, TemplateError
from ..files import Folders, TemplateSource, TemplateSources, folder_paths, template_sources
from ..plugins import PLUGINS_VARIABLE
from ..text.escape import to_label

MAX_START_SECONDS = 60.0
"""Time for a worker to start, and to load its profile and tokenizer, in seconds."""

MAX_IDLE_SECONDS = 0.0 if sys.platform == "win32" else 60.0
"""Time that a worker may wait for a processor, or for anything else, beyond the time that it runs.

A busy machine gives the same answers as an idle one. Windows cannot limit processor time: there the
seconds of the templates are those of the clock.
"""

MAX_ANSWER_VALUES = 2_000_000
"""Values of an answer: `{"":0}` takes forty times its text in the caller's memory."""
_MAX_UNCOUNTED_BYTES = 1 << 20
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

LENGTH_HEADER = struct.Struct("!I")

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from promptforge.sandbox.worker import serve

serve(float(sys.argv[2]), int(sys.argv[3]))
"""
# Everything else in the environment, such as keys of services, is kept from templates.
_KEPT = (
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    PLUGINS_VARIABLE,
)
# One thread and one arena: both reserve address space, and that is limited.
_ALONE = {"MALLOC_ARENA_MAX": "1", "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}


class _Facts(msgspec.Struct):
    """Facts that an error may carry beside its message."""

    where: str | None = None
    option: str | None = None
    absent: str | None = None
    field: str | None = None
    column: int | None = None
    inside: tuple[str, ...] = ()
    needed: int = 0
    largest: int = 0
    excerpt: Excerpt | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class _Answer(msgspec.Struct):
    """Words of a worker. One that was taken over says anything: no other shape is read."""

    memory: bool = False
    begin: bool = False
    value: Any = msgspec.UNSET
    error: str = ""
    message: str = ""
    facts: dict[str, Any] = {}
    retire: bool = True


class Sandbox:
    """A worker process for untrusted templates, started at the first call.

    The process stays for the next call: templates of another stranger go into another sandbox. Any
    thread may use it; calls wait for each other. Templates are stopped with a `TemplateError`
    if they take more than `seconds` of processor time, more than `memory` bytes, or answer with
    more than `answer` bytes or two million values; or if they wait for a minute (Windows limits
    the time on the clock instead). The next call gets a new worker. Close it, or use it in `with`.
    """

    def __init__(
        self, *, seconds: float = 1.5, memory: int = 512 << 20, answer: int = 64 << 20
    ) -> None:
        self.seconds = seconds
        self.memory = memory
        self.answer = answer
        self.limits_memory: bool | None = None
        """True if `memory` is enforced on this system; `None` before the first call."""
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._closed = False

    def render(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        templates: TemplateSources = None,
        profile: str | Path | None = None,
        profiles: Folders = None,
        allow_outside: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """Return the same as `Renderer(...).render(items, **options).to_dict()`.

        `items` are records of plain data, `templates` folders or texts by name.

        Raises the errors of `Renderer.render`, and `TemplateError` if the templates were stopped.
        """
        request = {
            "items": items,
            "options": options,
            "templates": [_plain(each) for each in template_sources(templates)],
            "profile": str(profile) if profile is not None else None,
            "profiles": [os.path.abspath(folder) for folder in folder_paths(profiles)],
            "allow_outside": allow_outside,
        }
        return _checked(self.call("promptforge.sandbox.worker:render", request), dict[str, Any])

    def call(self, task: str, argument: object) -> Any:
        """Run the function `task` (`module:function`) in the worker; return its plain data.

        The function takes `argument`, plain data too, and `begin`. It calls `begin` after loading
        everything that is trusted; from then on the seconds of the templates count.
        """
        with self._lock:
            if self._closed:
                raise PromptForgeError("this sandbox has been closed")
            worker, answer = self._ask({"task": task, "argument": argument})
            if answer.value is not msgspec.UNSET:
                return answer.value
            if answer.retire:
                self._replace(worker)
            raise _error(answer, self)

    def _ask(self, request: Mapping[str, Any], *, again: bool = True) -> tuple[_Worker, _Answer]:
        worker = self._worker
        # A forked process must not read the answers of its parent's worker.
        if worker is None or worker.owner != os.getpid():
            worker = self._worker = _Worker(self)
            if self._closed:  # meanwhile, when there was no worker yet to be killed
                worker.kill()
        try:
            answer = worker.ask(request)
        # After an interrupt an answer is still under way, and the next call must not read it.
        except BaseException:
            self._replace(worker)
            # Killed while it waited, as a system does that runs out of memory.
            if worker.vanished and again and not self._closed:
                return self._ask(request, again=False)
            raise
        self.limits_memory = worker.limits_memory
        return worker, answer

    def _replace(self, worker: _Worker) -> None:
        worker.end()
        # Started now, so that the next call does not wait for it.
        self._worker = None if self._closed else _Worker(self)

    def close(self) -> None:
        """End the worker; a call under way fails."""
        self._closed = True
        # Killed before the lock is taken, because a call under way holds the lock.
        worker = self._worker
        if worker is not None:
            worker.kill()
        with self._lock:
            if self._worker is not None:
                self._worker.end()
            self._worker = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Worker:
    def __init__(self, sandbox: Sandbox) -> None:
        self.owner = os.getpid()
        self.limits_memory: bool | None = None
        self._begun = False
        self.vanished = False
        """True for a process that ended by itself before any template ran."""
        self._seconds, self._max_answer = sandbox.seconds, sandbox.answer
        path = [*map(os.path.abspath, sys.path), str(Path(__file__).resolve().parents[2])]
        limits = [str(sandbox.seconds), str(sandbox.memory)]
        # Isolated (-I): no PYTHONPATH, no user site, and the working directory is not importable.
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM, json.dumps(path), *limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ} | _ALONE,
                start_new_session=True,  # Ctrl+C is for the caller
            )
        except OSError as error:  # too many processes or files, or no memory
            message = f"no process for templates can be started: {error.strerror}"
            raise PromptForgeError(message) from None
        self.kill = self._process.kill
        """End the process from another thread; the call that waits for it fails."""
        # Runs when the worker is dropped, and at the end of the interpreter at the latest.
        self.end = weakref.finalize(self, _end, self._process)

    def ask(self, request: Mapping[str, Any]) -> _Answer:
        """Return the answer to a request; raises `TemplateError` if the worker is stopped."""
        if self.limits_memory is None:
            self.limits_memory = self._receive(MAX_START_SECONDS).memory
        answer = self._receive(MAX_START_SECONDS, json.dumps(request).encode())
        if answer.begin:
            self._begun = True
            answer = self._receive(self._seconds)
            self._begun = False
        return answer

    def _receive(self, seconds: float, request: bytes | None = None) -> _Answer:
        """Send a request, if any, and return the next answer; it may take `seconds` to make."""
        stdin: Any = self._process.stdin
        stdout: Any = self._process.stdout
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(seconds + MAX_IDLE_SECONDS, stop)
        timer.daemon = True
        timer.start()
        data = b""
        try:
            if request is not None:
                stdin.write(LENGTH_HEADER.pack(len(request)) + request)
                stdin.flush()
            # A killed process ends its stream, so a read comes back short instead of waiting.
            head = stdout.read(LENGTH_HEADER.size)
            if len(head) == LENGTH_HEADER.size:
                (size,) = LENGTH_HEADER.unpack(head)
                if size > self._max_answer:
                    most = self._max_answer >> 20
                    raise TemplateError(f"the templates made more than {most} MiB and were stopped")
                data = stdout.read(size)
                if len(data) < size:
                    data = b""
        except OSError:
            pass
        finally:
            timer.cancel()
        if not data:
            raise self._failure(late.is_set(), seconds)
        if len(data) > _MAX_UNCOUNTED_BYTES and _count_values(data) > MAX_ANSWER_VALUES:
            said = f"the templates made more than {MAX_ANSWER_VALUES:,} values and were stopped"
            raise TemplateError(said)
        try:
            return _checked(json.loads(data), _Answer)
        except (ValueError, RecursionError):
            raise TemplateError(_UNREADABLE) from None

    def _failure(self, late: bool, seconds: float) -> PromptForgeError:
        self.kill()
        code = self._process.wait()
        self.vanished = not (late or self._begun)
        if self.limits_memory is None:
            return PromptForgeError(f"the worker for templates did not start (exit code {code})")
        if late:
            most = seconds + MAX_IDLE_SECONDS
            return TemplateError(f"the templates gave no answer within {most:g} s and were stopped")
        if code == -getattr(signal, "SIGPROF", 0):
            return TemplateError(f"the templates ran for more than {seconds:g} s and were stopped")
        if code == -getattr(signal, "SIGKILL", 0):  # templates can kill nothing
            said = "the process of the templates was ended, perhaps for lack of memory"
            return TemplateError(f"{said} (signal {-code})")
        return TemplateError(f"the templates ended the process that they ran in (exit code {code})")


def _count_values(data: bytes) -> int:
    """Return how many values a JSON text has at most; nothing is built of it."""
    marks = (b",", b"[", b"{")
    strings = (data.count(b'"') - data.count(b'\\"')) // 4
    if strings > MAX_ANSWER_VALUES:  # more keys and texts than so many values can have
        return strings
    most = sum(map(data.count, marks))
    if most <= MAX_ANSWER_VALUES:
        return most
    return sum(map(_STRING.sub(b"", data).count, marks))  # without those that stand in texts


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        # The rest of a request that was not read any more cannot be written.
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()


_UNREADABLE = "the templates made an answer that cannot be read"
T = TypeVar("T")


def _checked(value: Any, shape: type[T]) -> T:
    """Return a value of a shape; raises `TemplateError` for any other."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        raise TemplateError(_UNREADABLE) from None


def _plain(given: TemplateSource) -> Any:
    if isinstance(given, Mapping):
        return dict(given)
    return os.path.abspath(given)


def _error(answer: _Answer, sandbox: Sandbox) -> PromptForgeError:
    kind, message = to_label(answer.error), to_label(answer.message)
    if kind == "MemoryError":
        return TemplateError(
            f"the templates took more than {sandbox.memory >> 20} MiB and were stopped"
        )
    # The worker runs hostile templates: it may name no class but an error of ours.
    known = getattr(errors, kind, None)
    if not (isinstance(known, type) and issubclass(known, PromptForgeError)):
        return TemplateError(f"the templates failed: {kind}: {message}")
    # The constructors of errors take other arguments, so only the message and facts are restored.
    error = known.__new__(known)
    Exception.__init__(error, message)
    facts = _checked(answer.facts, _Facts)
    for name in _Facts.__struct_fields__:
        if name in answer.facts:
            value = getattr(facts, name)
            setattr(error, name, to_label(value) if isinstance(value, str) else value)
    if isinstance(error, StrictError):
        error.result = None
    return error
