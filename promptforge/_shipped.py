"""Where the shipped templates, profiles and vocabularies lie, in a wheel and in a checkout alike."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return the folder of shipped files called `name` (`templates` or `profiles`).

    A wheel carries them inside the package; a checkout (and so an editable install) has them beside it.
    """
    inside = _HERE / "_files" / name
    return inside if inside.is_dir() else _HERE.parent / name


VOCABULARIES = _HERE / "_vocab"
