"""Paths of the files of a run, and its manifest: `manifest.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..errors import OptionError
from ..writing import UNFINISHED, naming, whole

_FILES = (".jsonl", ".ndjson", ".parquet")
_OTHERS = (".json", ".csv", ".tsv", ".txt", ".gz", ".zst", ".zip", ".arrow")
"""Suffixes of files that no batch writes: a folder of such a name would be a surprise."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Figures and files of a finished run."""

    rows: int
    """Rows of the input; each has a result or an error record."""
    errors: int
    kept: int
    """Rows that an earlier run had done."""
    tokens: int
    """Tokens of all results."""
    changed: tuple[str, ...]
    """Inputs changed since an earlier run: `input options profile templates …`."""
    complete: bool
    """False when more rows failed than `max_errors`, and nothing was written."""
    files: tuple[str, ...] = ()
    """Paths of the results."""
    errors_file: str | None = None
    """Path of the error records; None without any."""
    seconds: float = 0.0


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `manifest.json`: inputs and outcome of the last run into a folder."""

    batch: int = 1
    """Version of this shape."""
    made_of: dict[str, str]
    """Hash of each input that all results depend on."""
    product: str
    """The request for output files: `to`, model and body, as JSON."""
    state: str = ""
    """Hash of the shards in the output files; empty while these are not written."""
    report: Report | None = None
    """Report of the run that wrote the output files."""


class Place:
    """Paths of one output."""

    def __init__(self, output: Path, suffix: str) -> None:
        """Decide by its name if `output` is a file or a folder; raises `OptionError` for others.

        `suffix` is that of the results inside a folder.
        """
        self.is_file = output.suffix.lower() in _FILES
        if output.name == "-" or (output.suffix.lower() in _OTHERS and not output.is_dir()):
            message = f"{output}: an output ends in {', '.join(_FILES)}, or is the name of a folder"
            raise OptionError(message, option="output")
        if self.is_file and output.is_dir():
            raise OptionError(f"{output} is a folder; give another output", option="output")
        if self.is_file:
            self.folder, self.results = output.with_name(output.name + ".batch"), output
        else:
            self.folder, self.results = output, output / f"results{suffix}"
        self.errors = self.folder / "errors.jsonl"
        self.parts = self.folder / "parts"
        self._manifest = self.folder / "manifest.json"

    def read(self) -> Manifest | None:
        """Read the manifest of an earlier run, if there is one.

        Raises `OptionError` for a folder that holds the files of somebody else.
        """
        try:
            with naming(self._manifest):
                return msgspec.json.decode(self._manifest.read_bytes(), type=Manifest)
        except (FileNotFoundError, msgspec.DecodeError):
            self._refuse_strangers()
        except NotADirectoryError:
            file = next(path for path in (self.folder, *self.folder.parents) if path.exists())
            message = f"{file} is a file, and the output needs a folder there"
            raise OptionError(message, option="output") from None
        return None

    def _refuse_strangers(self) -> None:
        """Raise `OptionError` unless a run that was killed early can have left this folder."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path.name != "parts" and path.suffix != UNFINISHED:
                message = f"{self.folder} is there and holds no batch"
                raise OptionError(
                    f"{message}; give another output, such as results.jsonl", option="output"
                )

    def holds(self, report: Report) -> bool:
        """Tell whether all files that `report` names are there."""
        files = list(report.files)
        if report.errors_file:
            files.append(report.errors_file)
        return all(Path(file).is_file() for file in files)

    def write(self, manifest: Manifest) -> None:
        """Write the manifest, at one stroke."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with whole(self._manifest) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
