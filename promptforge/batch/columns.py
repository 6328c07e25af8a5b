"""Rows as columns, as Ray Data, datasets of Hugging Face, Daft and pandas hand them over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import ItemError
from ..folders import Folders
from .reading import encode
from .rows import FAILED, RowRenderer
from .spec import CONTEXT, check, make

_FIELDS: dict[str, Any] = {
    "id": "", "text": "", "request": "", "tokens": 0, "items_included": 0, "items_trimmed": 0, "items_dropped": 0,
    "truncated": False, "error": "",
}  # fmt: skip


class RenderBatch:
    """A function from columns to columns, as plain data, so that it can be pickled and made again elsewhere.

    It takes `{"request": [one JSON text a row]}`, or a column for each key of a row. It gives `id text request tokens
    items_included items_trimmed items_dropped truncated error`, a row for each; `request` is JSON, and `error` is empty
    or says what is wrong with that row. Made with the keywords of `run` that say how a row is rendered.
    """

    def __init__(
        self,
        *,
        to: str = CONTEXT,
        profile: str | None = None,
        templates: Folders = None,
        profiles: Folders = None,
        workspace: str = ".",
        attack: str | None = None,
        **options: Any,
    ) -> None:
        self._spec = make(to, profile, templates, profiles, workspace, attack, options)
        check(self._spec)
        self._renderer: RowRenderer | None = None

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the results of the rows of `batch`. Never raises for what is wrong with a row."""
        if self._renderer is None:
            self._renderer = RowRenderer(self._spec)
        columns = {name: _plain(values) for name, values in batch.items()}
        rows = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        made: dict[str, list[Any]] = {name: [] for name in _FIELDS}
        for number, row in enumerate(rows, 1):
            record = self._record(row, number)
            for name, column in made.items():
                column.append(record.get(name, _FIELDS[name]))
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {"_spec": self._spec, "_renderer": None}

    def _record(self, row: dict[str, Any], number: int) -> dict[str, Any]:
        assert self._renderer is not None
        try:
            raw = encode(row)
        except ItemError as error:
            return {"id": str(row.get("id", "")), "error": f"ItemError: {error}"}
        line = self._renderer.row(number, raw)[0]
        record: dict[str, Any] = msgspec.json.decode(line)
        if line.startswith(FAILED):
            return {"id": record["id"], "error": f"{record['error']}: {record['message']}"}
        if "request" in record:
            record["request"] = msgspec.json.encode(record["request"]).decode()
        return record


def _plain(values: Any) -> list[Any]:
    """Return a column as a list: NumPy's arrays and pandas' series know how."""
    return values.tolist() if hasattr(values, "tolist") else list(values)
