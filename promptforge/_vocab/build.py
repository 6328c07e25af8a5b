"""Make a packed token table from the `.tiktoken` file that OpenAI publishes.

    python promptforge/_vocab/build.py o200k_base.tiktoken

The file is known by its sha256, not by its name; a file that was not published is refused.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from ..tokenizers.vocabulary import (
    SHIPPED_VOCABULARIES,
    format_tiktoken,
    pack_tokens,
    parse_tiktoken,
    unpack_tokens,
)

HERE = Path(__file__).resolve().parent

sys.path.insert(0, str(HERE.parents[1]))


def build(source: Path, folder: Path) -> Path:
    """Write the packed table of `source` into `folder` and return its path.

    Raises `SystemExit` if the file is not a published one.
    """
    text = source.read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    published = SHIPPED_VOCABULARIES
    names = [name for name, known in published.items() if known.sha256 == digest]
    if not names:
        raise SystemExit(
            f"{source}: sha256 {digest} is none of the published tables: {', '.join(published)}"
        )
    ranks = parse_tiktoken(text)
    tokens = sorted(ranks, key=ranks.__getitem__)
    packed = pack_tokens(tokens)
    if format_tiktoken(unpack_tokens(packed)) != text:
        raise SystemExit(f"{source}: the packed table does not give the file back")
    target = folder / f"{names[0]}.bin"
    target.write_bytes(packed)
    return target


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: build.py FILE.tiktoken …")
    for argument in sys.argv[1:]:
        print(build(Path(argument), HERE))
