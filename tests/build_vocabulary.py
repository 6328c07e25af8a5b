"""Make a token table from the `.tiktoken` file that OpenAI publishes.

    PYTHONPATH=. python tests/build_vocabulary.py o200k_base.tiktoken

The file is known by its sha256, not by its name; a file that was not published is refused.
"""

from __future__ import annotations

import base64
import hashlib
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from promptforge.files import VOCABULARIES_FOLDER
from promptforge.tokenizers.vocabulary import SHIPPED_VOCABULARIES, RankTable, parse_tiktoken


def pack_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """Return the table of tokens and ranks, as `RankTable` reads it."""
    tokens = sorted(ranks, key=lambda token: (len(token), token))
    counts = [0] * 256
    for token in tokens:
        counts[len(token)] += 1
    found = [ranks[token] for token in tokens]
    body = (
        struct.pack("<255I", *counts[1:])
        + b"".join(tokens)
        + struct.pack(f"<{len(found)}I", *found)
    )
    return zlib.crc32(body).to_bytes(4, "little") + body


def format_tiktoken(tokens: Iterable[bytes]) -> bytes:
    """Return the `.tiktoken` file of `tokens`: a line for each, its base64 and its rank."""
    return b"".join(
        b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)
    )


def build(source: Path, folder: Path) -> Path:
    """Write the packed table of `source` into `folder` and return its path.

    Raises `SystemExit` if the file is not a published one.
    """
    text = source.read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    names = [name for name, known in SHIPPED_VOCABULARIES.items() if known.sha256 == digest]
    if not names:
        known = ", ".join(SHIPPED_VOCABULARIES)
        raise SystemExit(f"{source}: sha256 {digest} is none of the published tables: {known}")
    ranks = parse_tiktoken(text)
    packed = pack_ranks(ranks)
    found = RankTable(packed).all_ranks()
    if format_tiktoken(sorted(found, key=found.__getitem__)) != text:
        raise SystemExit(f"{source}: the table does not give the file back")
    target = folder / f"{names[0]}.bin"
    target.write_bytes(packed)
    return target


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: build_vocabulary.py FILE.tiktoken …")
    for argument in sys.argv[1:]:
        print(build(Path(argument), VOCABULARIES_FOLDER))
