"""Where a run keeps its files, and what `manifest.json` says of them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..errors import OptionError
from ..writing import UNFINISHED, naming, whole

_FILES = (".jsonl", ".ndjson", ".parquet")
_OTHERS = (".json", ".csv", ".tsv", ".txt", ".gz", ".zst", ".zip", ".arrow")
"""Who names these wants a file, and would get a folder."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did."""

    rows: int
    """Rows of the input; each has a result or an error record."""
    errors: int
    kept: int
    """Rows that an earlier run had done."""
    tokens: int
    """Tokens of all results."""
    changed: tuple[str, ...]
    """What is not as an earlier run had it, so that rows were done again: `input options profile templates …`."""
    complete: bool
    """False when more rows failed than `max_errors`, and nothing was written."""
    files: tuple[str, ...] = ()
    """What was written."""
    errors_file: str | None = None
    """Where the error records are; none without any."""
    seconds: float = 0.0


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder is for, and what was finished in it."""

    batch: int = 1
    """Version of this shape."""
    made_of: dict[str, str]
    """A hash of each thing that all results depend on."""
    product: str
    """How the product was asked for."""
    state: str = ""
    """Hash of the parts that the product was made of; empty until it is there."""
    report: Report | None = None
    """What the run that finished it did."""


def _ours(path: Path) -> bool:
    """Whether a run that was killed at once may have left it."""
    return path.name == "parts" or path.suffix == UNFINISHED


class Place:
    """The files of one output."""

    def __init__(self, output: Path, suffix: str) -> None:
        """`suffix`: of the results when `output` is no file but a folder. Raises `OptionError` for what is neither."""
        self.is_file = output.suffix.lower() in _FILES
        if output.name == "-" or (output.suffix.lower() in _OTHERS and not output.is_dir()):
            message = f"{output}: an output ends in {', '.join(_FILES)}, or is the name of a folder"
            raise OptionError(message, option="output")
        if self.is_file and output.is_dir():
            raise OptionError(f"{output} is a folder; give another output", option="output")
        self.folder = output.with_name(output.name + ".batch") if self.is_file else output
        """Holds everything but results that have a file of their own."""
        self.results = output if self.is_file else output / f"results{suffix}"
        self.errors = self.folder / "errors.jsonl"
        self.parts = self.folder / "parts"
        self._manifest = self.folder / "manifest.json"

    def read(self) -> Manifest | None:
        """Return what an earlier run left, None without one; `OptionError` for a folder that is somebody else's."""
        try:
            with naming(self._manifest):
                return msgspec.json.decode(self._manifest.read_bytes(), type=Manifest)
        except (FileNotFoundError, msgspec.DecodeError):
            others = self.folder.is_dir() and not all(map(_ours, self.folder.iterdir()))
        except NotADirectoryError:
            file = next(path for path in (self.folder, *self.folder.parents) if path.exists())
            raise OptionError(
                f"{file} is a file, and the output needs a folder there", option="output"
            ) from None
        if others:
            message = f"{self.folder} is there and holds no batch; give another output, such as results.jsonl"
            raise OptionError(message, option="output")
        return None

    def holds(self, report: Report) -> bool:
        """Tell whether all files that `report` speaks of are there."""
        files = [*report.files, *([report.errors_file] if report.errors_file else [])]
        return all(Path(file).is_file() for file in files)

    def write(self, manifest: Manifest) -> None:
        """Write the manifest, whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with whole(self._manifest) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
