"""promptforge: retrieved pieces in, one exact, safe, well-laid-out context text for an LLM out."""

from importlib import import_module

from ._version import __version__ as __version__


def names_of_stub(name: str) -> dict[str, str]:
    """Return name → module of each import in `NAME.pyi`: type checkers and we read one list."""
    data = __spec__.loader.get_data(f"{__path__[0]}/{name}.pyi")
    rows = map(str.split, data.decode().splitlines())
    return {row[3]: row[1].removeprefix(".") for row in rows if row[:1] == ["from"]}


_HOMES = names_of_stub("__init__")
_HOMES.pop("__version__")
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: `promptforge --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if isinstance(value, type):
        value.__module__ = __name__  # tracebacks and help say promptforge.BudgetError
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
