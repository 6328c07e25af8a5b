"""Shorter variants from a plug-in, put in order and checked."""

from __future__ import annotations

from collections.abc import Callable

from .pieces import Rung
from .text import mark

MOST = 1_000
"""Number of texts that are taken from a plug-in."""


class Texts:
    """The variants in a list of texts."""

    def __init__(
        self, whole: str, shorter: object, marker: str, refusal: Callable[[Exception], Exception]
    ) -> None:
        """Take `shorter`, an iterable of texts; drop those not shorter than `whole`.

        A text without `marker` gets one. If anything fails, raise the exception that `refusal`
        makes of the failure.
        """
        found: set[str] = set()
        try:
            for text in shorter:  # type: ignore[attr-defined]
                if not isinstance(text, str):
                    raise TypeError(f"expected texts, found {type(text).__name__}")
                # Not the methods of a subclass: what it says of itself may not be its text.
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
        """Return one of them; 0 is the longest."""
        return Rung(self._texts[number])
