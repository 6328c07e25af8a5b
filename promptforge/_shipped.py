"""The folders of shipped templates, profiles and vocabularies, in a wheel and in a checkout."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent

VOCABULARIES = _HERE / "_vocab"


def folder(name: str) -> Path:
    """Return the folder of shipped files called `name` (`templates` or `profiles`)."""
    # A wheel carries them inside the package; a checkout (and an editable install) beside it.
    inside = _HERE / "_files" / name
    return inside if inside.is_dir() else _HERE.parent / name
