"""Files that nobody reads are known by their names."""

import pytest

from promptforge.text.unwanted import unwanted_name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("web/package-lock.json", "lock files"),
        ("go.work.sum", "lock files"),
        ("site/app.min.css", "minified"),
        ("app.js.map", "minified"),
        ("Form.Designer.cs", "generated"),
        ("checksum.go", None),
        ("lock.py", None),
    ],
)
def test_a_name_tells_who_wrote_the_file(name: str, reason: str | None) -> None:
    assert unwanted_name(name) == reason
