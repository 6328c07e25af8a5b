"""Costs of images, files and recordings, by the examples that the providers' own guides give."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.config.media import MediaCosts, count_pages, count_seconds, image_size
from promptforge.config.options import ImageCost, Options, apply_options
from promptforge.config.profiles import load_profile
from promptforge.prompts.providers import ShapeName

Data = dict[str, Any]
# The beginnings of files that Pillow wrote, each 1,800 by 2,400 pixels.
HEADS = {
    "png": "iVBORw0KGgoAAAANSUhEUgAABwgAAAlgCAAAAAC5",
    "gif": "R0lGODdhCAdgCYEAAAAAAAAAAAAAAAAAACwAAAAA",
    "jpeg": "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP"
    + "/" * 86
    + "wAALCAlgBwgBAREA/8QAHwAAAQUBAQEBAQEA",
    "webp": "UklGRlgeAABXRUJQVlA4IEweAABwkwOdASoIB2AJ",
    "webp-lossless": "UklGRtQAAABXRUJQVlA4TMgAAAAvB8dXAgcQEf0P",
}


def png(width: int, height: int) -> str:
    """Return the base64 of the beginning of a PNG of this size."""
    head = base64.b64decode(HEADS["png"])
    rest = bytes(width * height // 8000)  # as many as so many pixels take at least
    return base64.b64encode(head[:16] + struct.pack(">II", width, height) + rest).decode()


def costs(profile: str) -> MediaCosts:
    options = apply_options(Options(), load_profile(profile).options)
    return MediaCosts(*(getattr(options, name) for name in MediaCosts._fields))


def test_a_size_that_so_few_bytes_cannot_hold_costs_what_an_unknown_one_does() -> None:
    media = costs("gpt")
    lie = base64.b64decode(png(1, 1))[:16] + struct.pack(">II", 100_000, 100_000) + bytes(900)
    assert media.image(base64.b64encode(lie).decode()) == media.image("x") == 12_000


@pytest.mark.parametrize("form", HEADS)
def test_the_head_of_a_file_tells_the_size(form: str) -> None:
    assert image_size(HEADS[form]) == (1800, 2400)


@pytest.mark.parametrize("form", ["png", "jpeg", "gif", "webp", "webp-lossless", "webp-alpha"])
@pytest.mark.parametrize("size", [(1, 1), (640, 481), (3000, 17)])
def test_the_size_of_an_image_is_read(form: str, size: tuple[int, int]) -> None:
    images = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    kind, _, more = form.partition("-")
    mode = "RGBA" if more == "alpha" else "RGB"
    file = io.BytesIO()
    images.new(mode, size, 1).save(file, kind, lossless=more == "lossless")
    assert image_size(base64.b64encode(file.getvalue()).decode()) == size


@given(
    st.binary(max_size=40),
    st.sampled_from([b"", b"\xff\xd8\xff", b"GIF89a", b"RIFF....WEBPVP8 ", b"%PDF-1.7"]),
)
def test_law_any_bytes_have_a_size_or_none(data: bytes, head: bytes) -> None:
    found = image_size(base64.b64encode(head + data).decode())
    assert found is None or min(found) > 0
    assert image_size(data.decode("latin-1")) is None or data
    assert count_pages(head + data) >= 0 and count_seconds(data) >= 0


@pytest.mark.parametrize(
    ("profile", "size", "detail", "tokens"),
    [
        # Worked out in OpenAI's guide to images and vision.
        ("gpt-4o", (1024, 1024), "high", 765), ("gpt-4o", (2048, 4096), "high", 1105),
        ("gpt-4o", (4096, 8192), "low", 85), ("gpt", (1024, 1024), "high", 1229),
        ("gpt", (2048, 2048), "high", 3000),
        # By its rules.
        ("gpt-4.1", (300, 200), "", 255), ("gpt-4o-mini", (1024, 1024), "auto", 2833 + 4 * 5667),
        ("gpt-5", (512, 512), "", 210), ("gpt-5", (1, 9), "low", 70), ("gpt-5", (9000, 9), "", 630),
        ("gpt-4.1-mini", (1024, 1024), "", 2520), ("gpt", (4032, 3024), "", 14364),
        ("gpt-5.2", (8000, 8000), "", 6144), ("gpt-5.2", (8000, 8000), "original", 12000),
        # One token for each patch of 28 by 28, as Anthropic's guide to vision says.
        ("claude", (1920, 1080), "", 69 * 39), ("claude", (9000, 9000), "", 4800),
        ("claude-4.5", (1920, 1080), "", 1600),
        # Google's guide to media resolution.
        ("gemini", (4032, 3024), "", 1120), ("gemini", (9, 9), "MEDIA_RESOLUTION_LOW", 280),
        ("gemini", (9, 9), "MEDIA_RESOLUTION_ULTRA_HIGH", 2240), ("gemini-2.5", (9, 9), "", 2322),
        ("llama", (4032, 3024), "", 5000),
    ],
)  # fmt: skip
def test_an_image_costs_what_its_provider_says(
    profile: str, size: tuple[int, int], detail: str, tokens: int
) -> None:
    image: Data = {"image_url": {"url": f"data:image/png;base64,{png(*size)}", "detail": detail}}
    if profile.startswith("gemini"):
        inline = {"mime_type": "image/png", "data": png(*size)}
        image = {"inline_data": inline, "media_resolution": {"level": detail}}
    assert costs(profile).image(image) == tokens


@given(
    st.integers(1, 20_000), st.integers(1, 20_000), st.integers(1, 600), st.integers(1, 20_000),
    st.integers(1, 20_000),
)  # fmt: skip
def test_law_a_larger_image_never_costs_less_than_its_half(
    width: int, height: int, patch: int, long: int, short: int
) -> None:
    rule = ImageCost(patch=patch, long_side=long, short_side=short)
    tokens = rule.tokens((width, height))
    assert tokens == rule.tokens((height, width)) >= 1
    assert tokens <= ImageCost(patch=patch).tokens((min(width, long), min(height, long)))


def test_an_image_of_unknown_size_costs_the_most() -> None:
    for profile in ("gpt", "gpt-5", "gpt-5.2", "gpt-4.1", "gpt-4.1-mini", "gpt-4o-mini", "claude"):
        known = costs(profile)
        for side in ((2047, 2048), (60, 4000), (2048, 768)):
            link = {"image_url": {"url": "https://a.example/x.png"}}
            assert known.image(png(*side)) <= known.image(link) == known.image_tokens


def pdf(pages: int, *, packed: bool) -> bytes:
    """Return a PDF of empty pages; its objects are in a stream of their own if `packed`."""
    objects = [b"<</Type/Page/Parent 2 0 R>>"] * pages
    if not packed:
        return b"%PDF-1.4\n<</Type /Pages/Count 3>>\n" + b"\n".join(objects)
    stream = zlib.compress(b"3 0 4 27 " + b" ".join(objects))
    head = b"%%PDF-1.7\n<</Type/ObjStm/N %d/First 9/Filter/FlateDecode>>stream\r\n" % pages
    return head + stream + b"\nendstream"


def wav(seconds: int) -> bytes:
    form = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    sound = bytes(16000 * seconds - 44)
    return b"RIFF" + bytes(4) + b"WAVEfmt " + form + b"data" + bytes(4) + sound


def test_pages_and_seconds_are_counted() -> None:
    assert count_pages(pdf(3, packed=False)) == 3 and count_pages(pdf(40, packed=True)) == 40
    assert count_pages(b"/Type/Page") == 0 and count_pages(b"%PDF-/ObjStm>>stream\nzzz") == 0
    assert count_seconds(wav(7)) == 7 and count_seconds(b"RIFF" + bytes(60)) == 0
    printed = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    file = io.BytesIO()
    canvas = printed.Canvas(file)
    for _ in range(5):
        canvas.drawString(9, 9, "/Type /Page")
        canvas.showPage()
    canvas.save()
    assert count_pages(file.getvalue()) == 5


def cost(block: Data, profile: str, to: ShapeName) -> tuple[int, list[str]]:
    """Return the tokens that a block adds to a question, and the notes on blocks."""
    renderer = pf.Renderer(profile=profile)
    key = "parts" if to == "gemini" else "content"
    said = {"text": "q"} if to == "gemini" else {"type": "text", "text": "q"}
    if to == "openai-responses":
        said = {"type": "input_text", "text": "q"}
    made = renderer.prompt(history=[{"role": "user", key: [said, block]}], to=to)
    bare = renderer.prompt(history=[{"role": "user", key: [said]}], to=to)
    return made.tokens - bare.tokens, [d.message for d in made.warnings if d.code == "PF504"]


def test_files_in_each_provider_s_words() -> None:
    paper, sound = (base64.b64encode(data).decode() for data in (pdf(20, packed=True), wav(60)))
    source = {"type": "base64", "media_type": "application/pdf", "data": paper}
    found, notes = cost({"type": "document", "source": source}, "claude", "anthropic")
    assert 156_000 <= found <= 156_050 and "156,000 tokens" in notes[0]
    inline = {"mime_type": "application/pdf", "data": paper}
    found, _ = cost({"inline_data": inline}, "gemini", "gemini")
    assert 22_400 <= found <= 22_450
    found, _ = cost({"inline_data": {"mime_type": "audio/wav", "data": sound}}, "gemini", "gemini")
    assert 1500 <= found <= 1550
    # Nothing is published of a page at OpenAI, so the file is ten images; as is a link anywhere.
    data = f"data:application/pdf;base64,{paper}"
    found, _ = cost({"type": "input_file", "file_data": data}, "gpt-5", "openai-responses")
    assert 11_900 <= found <= 11_950
    link = {"type": "document", "source": {"type": "url", "url": "https://a.example/x.pdf"}}
    found, _ = cost(link, "claude-4.5", "anthropic")
    assert 16_000 <= found <= 16_050
    # The resolution of a part stands beside its data.
    image = {"inline_data": {"mime_type": "image/png", "data": png(9, 9)}}
    near = {**image, "media_resolution": {"level": "MEDIA_RESOLUTION_ULTRA_HIGH"}}
    assert cost(near, "gemini", "gemini")[0] - cost(image, "gemini", "gemini")[0] == 1120
    low: Data = {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{png(900, 900)}"},
    }
    dear = cost(low, "gpt-4o", "openai")[0]
    low["image_url"] |= {"detail": "low"}
    assert dear - cost(low, "gpt-4o", "openai")[0] == 4 * 170
