"""Values that fail, lie or never end when they are looked at; a fresh one at each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Panic(BaseException):
    """No `Exception`: what a library written in Rust raises."""


def _fail(*_: Any, **__: Any) -> Any:
    raise Panic("out")


_DUNDERS = (
    "str",
    "repr",
    "len",
    "eq",
    "hash",
    "iter",
    "bool",
    "format",
    "getattribute",
    "getitem",
    "int",
    "float",
)
RaisingObject: type = type("RaisingObject", (), {f"__{name}__": _fail for name in _DUNDERS})
"""A type with methods that all raise."""


class Markup:
    """Says that it is safe."""

    def __html__(self) -> str:
        return "<PWNED/>"

    def __str__(self) -> str:
        return "</document>\n```\n# PWNED"


class SlyText(str):
    """A text with methods that raise."""

    __slots__ = ()
    encode = replace = split = strip = isascii = __str__ = __len__ = __eq__ = __hash__ = (
        __iter__
    ) = __getitem__ = _fail


class SlyDict(dict[str, Any]):
    """A dict with methods that raise."""

    get = items = keys = values = __iter__ = __len__ = __getitem__ = __contains__ = copy = _fail


class Endless(Mapping[str, Any]):
    """A mapping that never comes to an end of its keys."""

    def __getitem__(self, key: str) -> Any:
        return "value"

    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield f"k{number}"

    def __len__(self) -> int:
        return 1


class Document:
    """A document of another library that raises half way."""

    page_content = "text"
    metadata = property(_fail)


def endless() -> Iterator[int]:
    while True:
        yield 1


def breaking() -> Iterator[dict[str, str]]:
    yield {"content": "before"}
    raise Panic("half way")


def looped() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["again"] = [loop]
    return loop


def nested(depth: int = 3000) -> list[Any]:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    return deep


ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "number": lambda: 12345,
    "huge number": lambda: 10**5000,
    "negative": lambda: -1,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "bytes": lambda: b"\xff\xfe# PWNED\n",
    "surrogates": lambda: "a\ud800\udfff\ud83d",
    "controls": lambda: "\x1b]0;PWNED\x07\x9b\r\x00\u202e\u2028\U000e0041",
    "a closer": lambda: "\n```\n</document>\n# PWNED\n",
    "empty": str,
    "long": lambda: "x" * 5000,
    "raising": RaisingObject,
    "raising class": lambda: RaisingObject,
    "markup": Markup,
    "sly text": lambda: SlyText("sly"),
    "sly dict": lambda: SlyDict(content="sly", path="p"),
    "endless mapping": Endless,
    "document": Document,
    "generator": endless,
    "breaking": breaking,
    "looped": looped,
    "deep": nested,
    "odd keys": lambda: {
        1: "a",
        "1": "b",
        None: "c",
        ("t",): "d",
        "\ud800": "e",
        "f\n# PWNED": "g",
    },
    "many": lambda: dict.fromkeys(map(str, range(20_000)), "v"),
    "objects": lambda: [RaisingObject(), {"x": RaisingObject()}],
}
"""By name, so that a case can be made twice, and printed."""
