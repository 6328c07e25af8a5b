"""Costs of images, files and recordings in a history, by the rules that providers publish."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

from .options import ImageCost

IMAGES_PER_FILE = 10
"""Images that a file or recording of unknown length costs at most."""
_HEAD_CHARACTERS = 1 << 18
"""Base64 read of an image: before its size, a camera may put a preview."""
_MOST_PIXELS_PER_CHARACTER = 6192
"""Pixels in a character of base64: deflate makes 1032 bytes of one, with eight pixels in each."""
_MAX_INFLATED_BYTES = 1 << 24
"""Bytes read of one compressed part of a PDF."""
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_OBJECT_STREAM = re.compile(rb"/ObjStm\b[^\x00]{0,500}?stream\r?\n")
# The words of OpenAI and of Gemini for the resolution of one image.
_DETAILS = ("detail", "media_resolution", "mediaResolution")


class MediaCosts(NamedTuple):
    """Costs of images, files and recordings; the fields are called as the options are."""

    image_tokens: int
    images: Mapping[str, ImageCost] | None = None
    page_tokens: int | None = None
    second_tokens: int | None = None

    def image(self, image: object) -> int:
        """Return the most tokens of an image: its base64, or an object that may hold it."""
        costs = self.images or {}
        cost = costs.get(_detail_of(image)) or costs.get("auto")
        if cost is None:
            return self.image_tokens
        data = _longest_text(image)
        size = None
        if cost.patch is not None:
            size = image_size(data)
        # Of a size that so few bytes cannot hold, as 100,000 by 100,000 in one line, nothing is
        # known: the provider refuses the image.
        if size is not None and size[0] * size[1] <= len(data) * _MOST_PIXELS_PER_CHARACTER:
            return cost.tokens(size)
        return self.image_tokens if cost.max_tokens is None else cost.max_tokens

    def file(self, file: object) -> int:
        """Return the most tokens of a file or recording: an object that may hold its base64."""
        if self.page_tokens is not None or self.second_tokens is not None:
            data = _decode(_longest_text(file))
            if self.page_tokens is not None and (pages := count_pages(data)):
                return pages * self.page_tokens
            if self.second_tokens is not None and (seconds := count_seconds(data)):
                return ceil(seconds * self.second_tokens)
        return IMAGES_PER_FILE * self.image_tokens


def _detail_of(image: object) -> str:
    """Return the resolution that a block names, such as `low`; empty if it names none."""
    places = [image, image.get("image_url")] if isinstance(image, dict) else []
    for place in places:
        found = [place[key] for key in _DETAILS if key in place] if isinstance(place, dict) else []
        for value in found:
            level = value.get("level") if isinstance(value, dict) else value
            if isinstance(level, str):
                return level.lower().removeprefix("media_resolution_")
    return ""


def _longest_text(value: object) -> str:
    """Return the longest text in plain data: in a block with an image, that is its base64."""
    if isinstance(value, str):
        return value.partition(";base64,")[2] if value.startswith("data:") else value
    members: list[Any] = list(value.values()) if isinstance(value, dict) else []
    return max(map(_longest_text, members), key=len, default="")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""


def count_pages(data: bytes) -> int:
    """Return the pages of a PDF; 0 for another file, or if they are encrypted."""
    if not data.startswith(b"%PDF-"):
        return 0
    pages = len(_PAGE.findall(data))
    for found in _OBJECT_STREAM.finditer(data):
        try:
            inflated = zlib.decompressobj().decompress(data[found.end() :], _MAX_INFLATED_BYTES)
        except zlib.error:
            continue
        pages += len(_PAGE.findall(inflated))
    return pages


def count_seconds(data: bytes) -> float:
    """Return the seconds of a recording in WAV; 0 for any other file."""
    if data[:4] != b"RIFF" or data[8:16] != b"WAVEfmt " or len(data) < 32:
        return 0.0
    (bytes_per_second,) = struct.unpack("<I", data[28:32])
    return len(data) / bytes_per_second if bytes_per_second else 0.0


def image_size(data: str) -> tuple[int, int] | None:
    """Return width and height of a PNG, JPEG, GIF or WebP in base64; None for any other text."""
    try:
        return _size(_decode(data[:_HEAD_CHARACTERS]))
    except (struct.error, IndexError):
        return None


def _size(head: bytes) -> tuple[int, int] | None:
    size: tuple[int, ...] = ()
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        size = struct.unpack(">II", head[16:24])
    elif head.startswith((b"GIF87a", b"GIF89a")):
        size = struct.unpack("<HH", head[6:10])
    elif head.startswith(b"\xff\xd8"):
        size = _jpeg_size(head)
    elif head[8:16] == b"WEBPVP8 ":
        size = tuple(side & 0x3FFF for side in struct.unpack("<HH", head[26:30]))
    elif head[8:16] == b"WEBPVP8L":
        (bits,) = struct.unpack("<I", head[21:25])
        size = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif head[8:16] == b"WEBPVP8X":
        size = tuple(1 + int.from_bytes(head[n : n + 3], "little") for n in (24, 27))
    return (size[0], size[1]) if len(size) == 2 and min(size) > 0 else None


def _jpeg_size(head: bytes) -> tuple[int, ...]:
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        # A start of frame; C4, C8 and CC between them are other things.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return struct.unpack(">HH", head[at + 5 : at + 9])[::-1]
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return ()
