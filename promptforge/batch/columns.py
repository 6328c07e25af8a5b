"""Rows as columns, for Ray Data, Hugging Face datasets, Daft and pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import ItemError
from ..folders import Folders
from .reading import encode
from .rows import FAILED, RowRenderer
from .spec import CONTEXT, check, make

_DEFAULTS: dict[str, Any] = {
    "id": "", "text": "", "request": "", "tokens": 0, "items_included": 0, "items_trimmed": 0,
    "items_dropped": 0, "truncated": False, "error": "",
}  # fmt: skip


class RenderBatch:
    """A function from columns to columns; it can be pickled and sent to another process.

    Takes `{"request": [JSON text, …]}`, or one column per key of a row. Returns the columns
    `id text request tokens items_included items_trimmed items_dropped truncated error`, one entry
    per row; `request` is JSON text, and `error` is empty for a row that has a result.

    The keywords are those of `run` that say how a row is rendered; a wrong one is an `OptionError`.

        results = RenderBatch(max_tokens=500)({"request": ['{"items": [{"content": "x"}]}']})
        results["text"][0], results["tokens"][0]
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
        """Render the rows of `batch`. A wrong row is an entry in `error`; it never raises."""
        if self._renderer is None:
            self._renderer = RowRenderer(self._spec)
        columns = {name: _to_list(values) for name, values in batch.items()}
        made: dict[str, list[Any]] = {name: [] for name in _DEFAULTS}
        for number, values in enumerate(zip(*columns.values(), strict=True), 1):
            row = dict(zip(columns, values, strict=True))
            record = _DEFAULTS | self._render(self._renderer, row, number)
            for name, column in made.items():
                column.append(record[name])
        return made

    def __getstate__(self) -> dict[str, Any]:
        # Templates and tokenizers do not pickle; the other process makes its own renderer.
        return {"_spec": self._spec, "_renderer": None}

    @staticmethod
    def _render(renderer: RowRenderer, row: dict[str, Any], number: int) -> dict[str, Any]:
        try:
            raw = encode(row)
        except ItemError as error:
            return {"id": str(row.get("id", "")), "error": f"ItemError: {error}"}
        line = renderer.row(number, raw)[0]
        record: dict[str, Any] = msgspec.json.decode(line)
        if line.startswith(FAILED):
            return {"id": record["id"], "error": f"{record['error']}: {record['message']}"}
        if "request" in record:
            record["request"] = msgspec.json.encode(record["request"]).decode()
        return record


def _to_list(values: Any) -> list[Any]:
    # NumPy arrays and pandas series: `list` would keep their own number types, which no JSON has.
    return values.tolist() if hasattr(values, "tolist") else list(values)
