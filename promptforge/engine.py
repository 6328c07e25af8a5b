"""The door of the engine: what its clients take, be they commands, the page, batches or servers.

A name comes into `engine.pyi` when a second package asks for it. Each is imported when it is first
asked for.
"""

from importlib import import_module

from . import names_of_stub

NAMES = names_of_stub("engine")
"""Name → its module."""


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for: each client loads the rooms that it enters."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{NAMES[name]}", __package__), name)
    globals()[name] = value
    return value
