"""Tasks that misbehave, called by the tests of the sandbox in its worker."""

from __future__ import annotations

import gc
import io
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from promptforge.sandbox import LENGTH_HEADER

Begin = Callable[[], None]


def echo(argument: Any, begin: Begin) -> Any:
    """Answer before the time of the templates begins: a slow machine is never late."""
    return argument


def forever(_: Any, begin: Begin) -> None:
    begin()
    while True:
        pass


def wait(seconds: float, begin: Begin) -> str:
    begin()
    time.sleep(seconds)
    return "waited"


def load(seconds: float, begin: Begin) -> str:
    """Take processor time before the time of the templates begins."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    begin()
    return "loaded"


def late(_: Any, begin: Begin) -> None:
    """Run on without ever saying that the time of the templates begins."""
    while True:
        pass


def hoard(size: int, begin: Begin) -> int:
    begin()
    return len(bytearray(size))


def shout(size: int, begin: Begin) -> str:
    begin()
    return "x" * size


def babble(_: Any, begin: Begin) -> str:
    print("into the answer?")
    os.write(1, b"or so?")
    return "said"


def end(code: int, begin: Begin) -> None:
    os._exit(code)


def fail(_: Any, begin: Begin) -> None:
    raise BaseException("not even an Exception")


def lie(said: list[str], begin: Begin) -> None:
    """Answer with bytes, each text behind its length, as a worker that was taken over may."""
    begin()
    answers = next(
        o for o in gc.get_objects() if isinstance(o, io.BufferedWriter) and o.fileno() > 2
    )
    for text in said:
        data = text.encode("utf-8", "surrogatepass")
        answers.write(LENGTH_HEADER.pack(len(data)) + data)
    answers.flush()
    os._exit(0)


def drip(_: Any, begin: Begin) -> None:
    """Announce an answer that comes a byte at a time, and never ends."""
    begin()
    answers = next(
        o for o in gc.get_objects() if isinstance(o, io.BufferedWriter) and o.fileno() > 2
    )
    answers.write(LENGTH_HEADER.pack(1 << 20))
    while True:
        answers.write(b" ")
        answers.flush()
        time.sleep(0.01)


def nest(depth: int, begin: Begin) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def pid(_: Any, begin: Begin) -> int:
    return os.getpid()


def environment(_: Any, begin: Begin) -> dict[str, str]:
    return dict(os.environ)


def write(path: str, begin: Begin) -> None:
    Path(path).write_text("written")


def remove(path: str, begin: Begin) -> None:
    Path(path).unlink()


def run(path: str, begin: Begin) -> None:
    subprocess.run([sys.executable, "-c", f"open({path!r}, 'w')"], check=True)


def system(path: str, begin: Begin) -> None:
    os.system(f"touch {path}")


def connect(port: int, begin: Begin) -> None:
    socket.create_connection(("127.0.0.1", port))
