"""One connection of a browser: a request, an answer, an end."""

from __future__ import annotations

import asyncio
import logging
import socket

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .guard import HEAD, PATIENCE, App

MOST = 48
"""Connections at a time; more are closed as they come."""


class Connection(H11Protocol):
    """A connection that ends where its request has not come by the deadline."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self.loop.call_later(PATIENCE, self._give_up)

    def _give_up(self) -> None:
        if getattr(self, "cycle", None) is None:  # no request has come whole
            self.transport.abort()


def listen(port: int) -> socket.socket:
    """Return a socket that listens to this machine alone; port 0 stands for a free one. Raises `OSError`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(MOST)
    except BaseException:
        listener.close()
        raise
    return listener


def server(app: App) -> uvicorn.Server:
    """Return what serves an application. Nothing is logged: addresses of requests could hold a token."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,
        log_level=logging.CRITICAL + 1,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    return uvicorn.Server(config)
