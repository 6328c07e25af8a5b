"""Make a packed token table from the `.tiktoken` file that OpenAI publishes.

    python promptforge/_vocab/build.py o200k_base.tiktoken

The file is known by its sha256 alone, whatever its name; a file that is not published is refused.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from promptforge.tokenizers.vocabulary import (
    PUBLISHED,
    format_tiktoken,
    pack,
    parse_tiktoken,
    unpack,
)  # noqa: E402


def build(source: Path, folder: Path) -> Path:
    """Write the packed table of `source` into `folder` and return its path; `SystemExit` if it is not a known file."""
    text = source.read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    names = [name for name, vocabulary in PUBLISHED.items() if vocabulary.sha256 == digest]
    if not names:
        raise SystemExit(
            f"{source}: sha256 {digest} is none of the published tables: {', '.join(PUBLISHED)}"
        )
    ranks = parse_tiktoken(text)
    tokens = sorted(ranks, key=ranks.__getitem__)
    packed = pack(tokens)
    if format_tiktoken(unpack(packed)) != text:
        raise SystemExit(f"{source}: the packed table does not give the file back")
    target = folder / f"{names[0]}.bin"
    target.write_bytes(packed)
    return target


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: build.py FILE.tiktoken …")
    for argument in sys.argv[1:]:
        print(build(Path(argument), HERE))
