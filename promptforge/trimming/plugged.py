"""Shorter forms that somebody else made: texts, to be put in order and checked."""

from __future__ import annotations

from collections.abc import Callable

from .pieces import Rung
from .text import mark

MOST = 1_000
"""How many texts of a plug-in are taken."""


class Texts:
    """A ladder of given texts."""

    def __init__(
        self, whole: str, shorter: object, marker: str, refusal: Callable[[Exception], Exception]
    ) -> None:
        """`shorter` is an iterable of texts; those not shorter than `whole` are left out, what bears no mark gets one.

        Raises what `refusal` makes of it when it is no such thing.
        """
        found: set[str] = set()
        try:
            for text in shorter:  # type: ignore[attr-defined]
                if not isinstance(text, str):
                    raise TypeError(f"expected texts, found {type(text).__name__}")
                plain = str.__str__(text)
                found.add(plain if marker in plain else mark(plain, marker))
                if len(found) == MOST:
                    break
        except Exception as error:
            raise refusal(error) from error
        self._texts = sorted(
            (text for text in found if len(text) < len(whole)), key=lambda text: (-len(text), text)
        )

    def __len__(self) -> int:
        return len(self._texts)

    def rung(self, number: int) -> Rung:
        """Return one of them: 0 is the longest."""
        return Rung(self._texts[number])
