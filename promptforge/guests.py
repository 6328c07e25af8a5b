"""What runs behind the wall: the loop of the worker, its limits, and the tasks for templates that nobody trusts.

Started by `wall.Wall` as a process of its own. Requests come in and answers go out as JSON, a frame each: four bytes of
length, then the text. Nothing that a template made is ever unpickled or evaluated on the other side.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from .errors import PromptForgeError
from .folders import sources
from .rendering import ContextRenderer
from .templates import Templates
from .tokens import get_tokenizer
from .wall import HEAD

_FORBIDDEN = (
    *(
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "os.kill",
    ),
    *(
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
    ),
    *(
        "ctypes.dlopen",
        "pty.spawn",
        "socket.__new__",
        "socket.connect",
        "socket.bind",
        "subprocess.Popen",
    ),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# --- tasks: plain data in, plain data out ---------------------------------------------------------------------------


def render(request: Mapping[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
    """Return `Result.to_dict()` of a rendering, with its `map` and `explanation` where the request asks for them.

    `request` holds `items` (records), `options`, `profile`, `profiles`, `templates` (see `sources`), `with`. What is
    only loaded, the profile and the tokenizer, is loaded before `begin` is called, from when on the time counts.
    """
    options = dict(request["options"])
    renderer = _renderer(request)
    tokenizer = (
        options.get("tokenizer") or renderer.profile.options.get("tokenizer") or "o200k_base"
    )
    get_tokenizer(tokenizer).count("a text")
    begin()
    result = renderer.render(request["items"], **options)
    answer = result.to_dict()
    if "map" in request["with"]:
        answer["map"] = msgspec.to_builtins(result.map)
    if "explanation" in request["with"]:
        answer["explanation"] = msgspec.to_builtins(result.explain())
    return answer


_latest: dict[str, ContextRenderer] = {}


def _renderer(request: Mapping[str, Any]) -> ContextRenderer:
    """Return the renderer that a request asks for: the last one again, if it was made of the same texts."""
    made_of = {name: request[name] for name in ("profile", "profiles", "templates")}
    key = json.dumps(made_of)
    renderer = _latest.get(key)
    if renderer is None:
        renderer = ContextRenderer(**{**made_of, "templates": sources(request["templates"])})
        _latest.clear()
        if not request["profiles"] and all(isinstance(each, dict) for each in request["templates"]):
            _latest[key] = renderer  # files may have changed since
    return renderer


def check(request: Mapping[str, Any], begin: Callable[[], None]) -> list[dict[str, Any]]:
    """Return what is wrong with the user's own templates: `{"name", "where", "message"}` each, none if all is well.

    Each template is read and compiled with all it draws on, and each `layout.yaml` is read; nothing is rendered.
    """
    templates = Templates(sources(request["templates"]))
    begin()
    found = []
    for name in sorted({name for files in templates.own for name in files}):
        try:
            templates.check_file(name)
        except PromptForgeError as error:
            found.append(
                {"name": name, "where": getattr(error, "where", None), "message": str(error)}
            )
    return found


# --- the worker -----------------------------------------------------------------------------------------------------


def serve(seconds: float, memory: int) -> None:
    """Answer requests from standard input until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # whatever prints must not print into an answer
    limited = _limit(memory)
    sys.addaudithook(_watch)
    _send(answers, {"ready": True, "memory": limited})
    while head := requests.read(HEAD.size):
        _allow(seconds)
        _send(
            answers,
            _answer(requests.read(HEAD.unpack(head)[0]), lambda: _send(answers, {"begin": True})),
        )


def _answer(data: bytes, begin: Callable[[], None]) -> dict[str, Any]:
    try:
        request = json.loads(data)
        module, _, name = request["task"].partition(":")
        task = getattr(importlib.import_module(module), name)
        return {"value": task(request["argument"], begin)}
    except PromptForgeError as error:
        return {
            "error": type(error).__name__,
            "message": str(error),
            "facts": _facts(error),
            "retire": False,
        }
    except MemoryError:
        return {"error": "MemoryError", "message": ""}
    except (
        BaseException
    ) as error:  # such as the panics of a library in Rust; a worker that is in doubt is replaced
        return {"error": type(error).__name__, "message": str(error)[:1000]}


def _facts(error: PromptForgeError) -> dict[str, Any]:
    """Return what an error knows beside its message, as far as it is plain data."""
    facts = {name: value for name, value in vars(error).items() if name != "result"}
    kept: dict[str, Any] = msgspec.to_builtins(facts)
    return kept


def _send(answers: Any, value: object) -> None:
    try:
        data = json.dumps(value).encode()
    except (MemoryError, RecursionError, ValueError):
        data = json.dumps({"error": "MemoryError", "message": ""}).encode()
    frame = memoryview(HEAD.pack(len(data)) + data)
    while frame:
        frame = frame[answers.write(frame) :]


def _limit(memory: int) -> bool:
    """Set what this process may take, for good; return whether the limit of memory holds on this system."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    for name, most in (("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0)):
        resource.setrlimit(getattr(resource, name), (most, most))
    try:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    except (AttributeError, ValueError, OSError):
        return False
    return sys.platform != "darwin"  # which takes the limit and does not keep it


def _allow(seconds: float) -> None:
    """Allow this process so many more seconds of the processor: it ends by itself where nobody is left to end it."""
    try:
        import resource
    except ImportError:
        return
    most = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what no template needs: programs, the network, writing. A second lock, should the first ever give way."""
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (
            isinstance(flags, int) and flags & _WRITING
        ):
            raise PermissionError("nothing is written behind the wall")
    elif event in _FORBIDDEN:
        raise PermissionError(f"{event} is not for guests")
