"""The web server: one request per connection, on 127.0.0.1 alone."""

from __future__ import annotations

import asyncio
import logging
import socket

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .guard import HEAD, PATIENCE, App

MOST = 48
"""Connections at a time; further ones are closed as they come."""


class Connection(H11Protocol):
    """A connection that is closed unless its request arrives in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self.loop.call_later(PATIENCE, self._give_up)

    def _give_up(self) -> None:
        # uvicorn sets `cycle` once it has read the head of a request.
        if getattr(self, "cycle", None) is None:
            self.transport.abort()


def listen(port: int) -> socket.socket:
    """Open a socket for this machine alone; port 0 stands for any free one. Raises `OSError`."""
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
    """Build the server of an application."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,  # no log: the address of a request could hold the token
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
