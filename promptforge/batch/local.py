"""Workers as processes of this machine: `python -m promptforge.batch.local`, two pipes to each.

A worker writes no file, and ends when its parent ends, killed or not. It is no fork: it takes over
no lock, thread or open file, and a script that calls `run` needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import msgspec

from ..errors import PromptForgeError
from . import serving
from .crew import WorkerDied
from .reading import Part
from .rows import Rendered
from .spec import Spec

_SIZE = 8
"""Bytes of the length in front of each message."""


class LocalWorker:
    """A process of this machine; see `Worker`."""

    def __init__(self, spec: Spec, ground: str) -> None:
        self._hello = msgspec.msgpack.encode((spec, ground))
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed in `close`
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()
        self._stopped = False

    def start(self) -> None:
        """See `Worker`."""
        self._end()
        with self._guard:
            if self._stopped:
                raise PromptForgeError("the run was stopped")
            self._process = self._spawn()
        refusal = self._ask(self._hello).decode()
        if refusal:
            raise PromptForgeError(refusal)

    def render(self, part: Part, known: str) -> Rendered | None:
        """See `Worker`."""
        return serving.decode(self._ask(serving.encode(part, known)))

    def stop(self) -> None:
        """See `Worker`."""
        with self._guard:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """See `Worker`."""
        self._end()
        self._said.close()

    def _spawn(self) -> subprocess.Popen[bytes]:
        package = Path(__file__).parents[2]
        path = os.pathsep.join([str(package), *(entry for entry in sys.path if entry)])
        return subprocess.Popen(
            # -P: a file `json.py` in the working directory is not taken for the library.
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the process that has a user
        )

    def _ask(self, message: bytes) -> bytes:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        answer = None
        with contextlib.suppress(OSError):
            _send(process.stdin, message)
            answer = _receive(process.stdout)
        if answer is None:
            raise WorkerDied(self._reason(process))
        return answer

    def _reason(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        self._said.seek(0)
        last = self._said.read()[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2]
        self._said.seek(0)
        self._said.truncate()
        how = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
        return f"{how}: {last}" if last else how

    def _end(self) -> None:
        process = self._process
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):  # the rest of a message that nobody took
                process.communicate()


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(_SIZE, "big"))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """Return the next message; None if the other side has gone."""
    head = pipe.read(_SIZE)
    size = int.from_bytes(head, "big")
    message = pipe.read(size) if len(head) == _SIZE else b""
    return message if len(head) == _SIZE and len(message) == size else None


def main() -> None:
    """Be a worker."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not print into an answer
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    spec, ground = msgspec.msgpack.decode(inbox.get(), type=tuple[Spec, str])
    try:
        server = serving.Server(spec, ground)
    except PromptForgeError as error:
        _send(answers, str(error).encode("utf-8", "replace"))
        return
    _send(answers, b"")
    while True:
        _send(answers, serving.answer(server, inbox.get()))


def _listen(pipe: IO[bytes], inbox: SimpleQueue[bytes]) -> None:
    """Read messages; end this process once the parent has gone, even amid a row."""
    while (message := _receive(pipe)) is not None:
        inbox.put(message)
    os._exit(0)


if __name__ == "__main__":
    main()
