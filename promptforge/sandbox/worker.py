"""The sandbox's worker: its loop, its limits, and the tasks for untrusted templates.

`Sandbox` starts it as a process. Requests and answers are JSON texts, each behind four bytes of
length. The other side never unpickles or evaluates anything that comes from templates.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import msgspec

from ..engine import ContextRenderer, get_tokenizer
from ..errors import PromptForgeError
from ..files import template_sources
from ..files.access import discard_output
from . import LENGTH_HEADER, MAX_START_SECONDS

# Audit events that rendering never raises. `open` is judged by its flags.
_FORBIDDEN = {
    *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile"),
    *("os.system", "os.kill", "pty.spawn", "subprocess.Popen", "ctypes.dlopen"),
    *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"),
    *("os.symlink", "os.truncate", "socket.__new__", "socket.connect", "socket.bind"),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def render(request: Mapping[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    """Return `Result.to_dict()`.

    `request` holds `items` (records), `options`, `profile`, `profiles`, `templates` and
    `allow_outside`.
    """
    options = dict(request["options"])
    made_of = {name: request[name] for name in ("profile", "profiles", "allow_outside")}
    renderer = ContextRenderer(templates=template_sources(request["templates"]), **made_of)
    chosen = options.get("tokenizer") or renderer.profile.options.get("tokenizer")
    # Loading a vocabulary takes seconds, and they are not the templates' fault.
    get_tokenizer(chosen or "o200k_base").count("a text")
    begin()
    return renderer.render(request["items"], **options).to_dict()


def serve(seconds: float, memory: int) -> None:
    """Answer requests from standard input until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    discard_output(1)  # a print must not end up in an answer
    limited = _limit(memory)
    # A hook cannot be removed again, so it comes after everything that is opened for good.
    sys.addaudithook(_watch)
    _send(answers, {"ready": True, "memory": limited})

    def begin() -> None:
        _allow(seconds)
        _send(answers, {"begin": True})

    while head := requests.read(LENGTH_HEADER.size):
        _allow(MAX_START_SECONDS)
        request = requests.read(LENGTH_HEADER.unpack(head)[0])
        _send(answers, _answer(request, begin))


def _answer(data: bytes, begin: Callable[[], None]) -> dict[str, Any]:
    try:
        request = json.loads(data)
        module, _, name = request["task"].partition(":")
        task = getattr(importlib.import_module(module), name)
        return {"value": task(request["argument"], begin)}
    except PromptForgeError as error:
        facts = {name: value for name, value in vars(error).items() if name != "result"}
        named = {"error": type(error).__name__, "message": str(error)}
        return {**named, "facts": msgspec.to_builtins(facts), "retire": False}
    except MemoryError:
        return {"error": "MemoryError", "message": ""}
    # Such as a panic of a library in Rust. The caller replaces a worker in doubt.
    except BaseException as error:
        return {"error": type(error).__name__, "message": str(error)[:1000]}


def _send(answers: BinaryIO, value: object) -> None:
    try:
        data = json.dumps(value).encode()
    except (MemoryError, RecursionError, ValueError):
        # Too large or too deep to be written.
        data = json.dumps({"error": "MemoryError", "message": ""}).encode()
    answers.write(LENGTH_HEADER.pack(len(data)))
    answers.write(data)
    answers.flush()


def _limit(memory: int) -> bool:
    """Limit this process for good; return true if the system keeps the limit of memory."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    # No dump of memory, where keys may be, and no file longer than nothing.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    except (AttributeError, ValueError, OSError):
        return False
    return sys.platform != "darwin"  # macOS takes the limit and does not keep it


def _allow(seconds: float) -> None:
    """Let this process take so many seconds of processor time from now on: then the system ends it.

    It ends even if its caller was killed, and nobody keeps the time.
    """
    if sys.platform != "win32":
        # A caller may have ignored or blocked the signal, and a new process inherits that.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse programs, the network and writing: a second lock, should the engine's give way."""
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        # `open` passes a mode, `os.open` flags.
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (
            isinstance(flags, int) and flags & _WRITING
        ):
            raise PermissionError("nothing is written in the sandbox")
    elif event in _FORBIDDEN:
        raise PermissionError(f"{event} is not allowed in the sandbox")
