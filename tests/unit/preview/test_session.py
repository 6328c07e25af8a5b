"""Answers to the page: token ends, places in UTF-16, files of a rendering, errors; and saving."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from example_counts import cases
from hypothesis import given
from preview_process import ITEMS

import promptforge as pf
from promptforge.config.options import as_profile
from promptforge.errors import OptionError, PromptForgeError, TemplateError
from promptforge.preview import render_worker, session
from promptforge.selection import query
from promptforge.tokenizers.bpe import TokenPieces, token_pieces
from promptforge.tokenizers.registry import get_tokenizer
from promptforge.yaml_reader import load_yaml

COUNTER = get_tokenizer("o200k_base")


def token_ends(counter: Any, text: str) -> list[int] | None:
    found: TokenPieces | None = token_pieces(counter, text)
    if found is None:
        return None
    assert len(found.ends) == len(found.numbers)
    assert sum(map(len, found.numbers)) == counter.count(text)
    return found.ends


def settings(**given: Any) -> dict[str, Any]:
    return {
        "stamp": 1,
        "profile": None,
        "templates": [],
        "profiles": [],
        "allow_outside": False,
        "options": {},
        **given,
    }


def draw(
    what: str = "page",
    items: Any = ITEMS,
    *,
    tokens: bool = False,
    send: bool = True,
    other: Any = None,
    to: str = "roles",
    texts: Any = None,
    **given: Any,
) -> Any:
    records = [msgspec.to_builtins(pf.Item(**item)) for item in items]
    request: dict[str, Any] = {
        "what": what,
        "items_key": repr(records),
        "items": records if send else None,
        "settings": settings(**given),
        "tokens": tokens,
    }
    request |= {"other": other, "to": to, "texts": texts, "rows": range(len(items))}
    return render_worker.draw({"picked": None, **request}, lambda: None)


# --- tokens ---------------------------------------------------------------------------------------


@cases(200)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_token_ends_are_those_of_the_tokens(text: str) -> None:
    ends = token_ends(COUNTER, text)
    assert ends is not None
    assert ends == sorted(set(ends)) and (ends[-1:] or [0]) == [len(text)]
    assert len(ends) <= COUNTER.count(text)
    if text.isascii():
        assert len(ends) == COUNTER.count(text)


def test_a_character_of_several_tokens_is_one_piece() -> None:
    text = "a 🧑🏽‍🚀 ꙮ"
    ends = token_ends(COUNTER, text)
    assert ends is not None and len(ends) < COUNTER.count(text)
    pieces = [text[a:b] for a, b in itertools.pairwise([0, *ends])]
    assert "".join(pieces) == text


def test_a_text_longer_than_a_stretch_has_all_its_ends() -> None:
    text = "one two, three.\n" * 9000
    ends = token_ends(COUNTER, text)
    assert ends is not None and len(ends) == COUNTER.count(text) and ends[-1] == len(text)


@pytest.mark.parametrize("name", ["approximate-claude", "approximate-words", "characters"])
def test_an_estimate_has_no_tokens(name: str) -> None:
    assert token_ends(get_tokenizer(name), "one two") is None


def test_tokens_end_where_odd_texts_end_too() -> None:
    half = token_ends(
        COUNTER, "half \ud800 a pair"
    )  # counted as U+FFFD, which is one character too
    assert half is not None and half[-1] == 13
    blanks = token_ends(COUNTER, " " * 200_000)
    assert blanks is not None and blanks[-1] == 200_000


# --- the page -------------------------------------------------------------------------------------


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@cases(40)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5)
)
def test_spans_cover_the_text_in_utf_16(contents: list[str]) -> None:
    page = draw(
        items=[{"content": text, "name": "😀" * (n % 3)} for n, text in enumerate(contents)],
        tokens=True,
    )
    spans = page["spans"]
    edges = [0, *(span[1] for span in spans)]
    assert [span[0] for span in spans] == edges[:-1] and edges[-1] == units(page["text"])
    assert page["ends"][-1:] == [units(page["text"])]
    assert {span[2] for span in spans} - {None} == {item["index"] for item in page["shown"]}


def test_what_takes_long_is_told_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render_worker, "SLICE_SECONDS", 0)
    many: list[dict[str, Any]] = [
        {"name": f"n{n}", "content": f"budget {n} " * (3 + n % 9), "origin": "similarity"}
        for n in range(60)
    ]
    limits = {"max_tokens": 300, "query": "budget", "max_items": 40}
    items = [pf.Item(**each) for each in many]
    result = pf.render(items, max_tokens=300, query="budget", max_items=40)
    for what in ("account", "remedies"):
        answers = [draw(what, many, options=limits)]
        while answers[-1]["more"]:
            assert len(answers) < 60
            answers.append(draw(what, many, send=False, options=limits))
        assert len(answers) > 1
        if what == "account":
            found = result.report.next  # before the table, as `explain` does
            assert found and answers[-1]["next"] == {"at": found[0], "index": found[1]}
            assert answers[-1]["fits"] == [item.known("fits_at") for item in result.items]
            assert answers[-1]["small"] == [item.known("too_small") for item in result.items]
            assert any(answers[-1]["fits"])
            for said in zip(*(each["fits"] for each in answers), strict=True):
                assert len({*said} - {None}) <= 1  # told once it is exact
        else:
            assert answers[-1]["told"] == [msgspec.to_builtins(r) for r in result.remedies()]


def test_the_page_says_what_render_says() -> None:
    result = pf.render(ITEMS, max_tokens=120)
    page, account = draw(options={"max_tokens": 120}), draw("account", options={"max_tokens": 120})
    while account["more"]:
        account = draw("account", options={"max_tokens": 120})
    assert (page["text"], page["tokens"]) == (result.text, result.tokens)
    assert [item["id"] for item in page["shown"]] == [source.id for source in result.sources]
    shown = {item.id: item.tokens for item in result.items if item.form}
    assert {item["id"]: item["tokens"] for item in page["shown"]} == shown
    for told_of, item in zip(page["items"], result.items, strict=True):
        fields = ("id", "kind", "name", "path", "start_line", "end_line", "score", "status", "form")
        every = (*fields, "tokens", "reason", "rank", "section")
        told = dict(zip(every, told_of, strict=False))
        assert told == {name: getattr(item, name) for name in told}
    assert account["full"] == [item.tokens_full for item in result.items]
    assert account["fits"] == [item.known("fits_at") for item in result.items]
    decisions = [item.known("decision") for item in result.items]
    assert account["decisions"] == msgspec.to_builtins(decisions) and any(decisions)
    assert page["overhead"] == result.explain().overhead
    needs = draw("needs", options={"max_tokens": 120})
    assert needs["full"] == account["full"]
    priced = sum(sum(lines.values()) for lines in needs["lines"].values())
    assert abs(priced - result.tokens) <= 2
    names = [name for what, name in page["files"] if what == "templates"]
    assert names[0] == "chunks/layout.md.j2"
    assert {"chunks/item.md.j2", "chunks/layout.yaml", "_sources.md.j2"} <= {*names}
    assert [name for what, name in page["files"] if what == "profiles"] == ["default"]


def test_items_are_asked_for_where_they_are_not() -> None:
    request: dict[str, Any] = {
        "what": "page",
        "items_key": "nobody's",
        "items": None,
        "settings": settings(),
        "tokens": False,
    }
    assert render_worker.draw(request, lambda: None) == {"needs": "items"}


def test_a_draft_that_fails_is_an_error_and_not_the_shipped_text() -> None:
    draft = {"chunks/item.md.j2": "one\n{{ item.pth }}"}
    with pytest.raises(TemplateError) as caught:
        draw(templates=[draft])
    assert caught.value.where == "chunks/item.md.j2:2"
    assert str(caught.value).count("chunks/item.md.j2:2") == 1
    assert "shipped templates" not in str(caught.value)


def test_a_key_in_a_template_reads_no_item_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draft makes a renderer of its own; what the query finds in the items is the same."""
    monkeypatch.setattr(query, "_relevance_by_key", OrderedDict())
    options = {"query": "greetings", "max_tokens": 60}
    for number in range(3):
        drawn = draw(
            options=options, templates=[{"chunks/item.md.j2": f"{number} {{{{ item.name }}}}"}]
        )
        assert f"{number} guide" in drawn["text"]
    assert len(query._relevance_by_key) == 1


def test_two_views_are_compared() -> None:
    found = draw(
        "comparison", options={"max_tokens": 60}, other=settings(options={"format": "xml"})
    )
    lines = [found[side]["text"].split("\n") for side in "ab"]
    rebuilt: list[list[str]] = [[], []]
    for how, a1, a2, b1, b2 in found["rows"]:
        rebuilt[0] += lines[0][a1:a2]
        rebuilt[1] += lines[1][b1:b2]
        assert (how == "equal") <= (lines[0][a1:a2] == lines[1][b1:b2])
    assert rebuilt == lines
    assert {pair["name"]: (pair["a"], pair["b"]) for pair in found["figures"]}["tokens"] == (
        found["a"]["tokens"],
        found["b"]["tokens"],
    )
    assert {change["how"] for change in found["changes"]} <= {"changed", "only A", "only B"}
    long = [{"content": "a\n" * 15_000}]
    assert (
        draw(
            "comparison",
            long,
            options={"max_tokens": None},
            other=settings(options={"max_tokens": None}),
        )["rows"]
        is None
    )


@pytest.mark.parametrize("to", ["roles", "anthropic", "text"])
def test_the_whole_prompt_is_what_prompt_makes(to: str) -> None:
    texts = {"system": "Be brief.", "instructions": None, "user": "How do <b>greetings</b> end?"}
    texts["history"] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Yes?"},
    ]  # type: ignore[assignment]
    found = draw("prompt", options={"max_tokens": 60}, to=to, texts=texts)
    prompt = pf.Renderer().prompt(ITEMS, max_tokens=60, to=to, **texts)  # type: ignore[arg-type]
    sent = (
        prompt.text
        if to == "text"
        else json.dumps(prompt.request, ensure_ascii=False, indent=2) + "\n"
    )
    assert (found["sent"], found["tokens"], found["window"]) == (sent, prompt.tokens, prompt.window)
    assert found["messages"] == (list(prompt) if to == "roles" else [])
    assert [part["name"] for part in found["parts"]] == [part.name for part in prompt.parts]
    assert {name.split("/")[0] for _, name in found["files"]} == {"prompt"}


def test_a_part_that_fails_is_an_error_and_not_the_shipped_one() -> None:
    draft = {"prompt/default/system.md.j2": "{{ nothing.there }}"}
    with pytest.raises(TemplateError, match="nothing"):
        draw(
            "prompt",
            templates=[draft],
            to="roles",
            texts={"system": "x", "user": None, "history": None},
        )


# --- files ----------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> session.Session:
    for name in ("t", "p", "drafts"):
        (tmp_path / name).mkdir()
    return session.Session(
        [pf.Item(content="x")], None, {}, [tmp_path / "t"], [tmp_path / "p"], edit=True
    )


@pytest.mark.slow
def test_a_folder_s_tree_is_that_of_the_command(tmp_path: Path) -> None:
    for library in ("starlette", "uvicorn"):
        pytest.importorskip(library)
    from promptforge.preview.app import RenderQueue

    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.bin").write_bytes(b"\0")
    loaded = pf.load(".", workspace=tmp_path)
    held = session.Session(loaded, None, {"tree": True}, [], [])
    queue = RenderQueue(held, 60)
    try:
        asked = {"what": "page", "settings": held.settings(session.View())}
        answer = asyncio.run(queue.draw(asked))
    finally:
        queue.close()
    assert answer["text"] == pf.render(loaded, tree=True).text and "b.bin" in answer["text"]


def file_of(found: session.Session, name: str) -> session.EditableFile:
    found.list_files()
    return next(file for file in found.files.values() if file.shown == name)


def test_a_shipped_file_is_copied_and_then_kept(own: session.Session, tmp_path: Path) -> None:
    for name, place in (
        ("chunks/item.md.j2", "t/chunks/item.md.j2"),
        ("claude.yaml", "p/claude.yaml"),
    ):
        file = file_of(own, name)
        before = session.read_file(file)
        tag = session.save_file(own, file, "# mine\n", before.tag)
        assert (tmp_path / place).read_text(encoding="utf-8") == "# mine\n"
        assert session.read_file(file) == before  # the shipped one
        with pytest.raises(session.SaveError, match="in your folder meanwhile"):
            session.save_file(own, file, "again", before.tag)
        mine = file_of(own, name)
        assert mine.id == file.id and not mine.shipped and session.read_file(mine).tag == tag
        with pytest.raises(session.SaveError, match="changed by somebody else") as caught:
            session.save_file(own, mine, "again", before.tag)
        assert caught.value.status == 412
        assert session.read_file(mine).text == "# mine\n"
        (tmp_path / place).chmod(0o640)
        session.save_file(own, mine, "once more", tag)
        assert (
            session.read_file(mine).text == "once more"
            and (tmp_path / place).stat().st_mode & 0o777 == 0o640
        )
        assert [path.name for path in (tmp_path / place).parent.iterdir()] == [Path(place).name]


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"a\r\nb\r\n", b"c\r\nd\r\n"), (b"a\nb\r\n", b"c\nd\n"), (b"a", b"c\nd\n")],
)
def test_a_saved_file_keeps_its_line_ends(
    own: session.Session, tmp_path: Path, before: bytes, after: bytes
) -> None:
    place = tmp_path / "t/chunks/item.md.j2"
    place.parent.mkdir()
    place.write_bytes(before)
    mine = file_of(own, "chunks/item.md.j2")
    found = session.read_file(mine)
    assert "\r" not in found.text
    tag = session.save_file(own, mine, "c\nd\n", found.tag)
    assert place.read_bytes() == after and session.read_file(mine) == ("c\nd\n", tag)


def test_what_cannot_be_saved_is_refused(own: session.Session, tmp_path: Path) -> None:
    file = file_of(own, "chunks/item.md.j2")
    tag = session.read_file(file).tag
    for text, status in (("x" * 300_000, 413), ("\ud800", 409)):
        with pytest.raises(session.SaveError) as caught:
            session.save_file(own, file, text, tag)
        assert caught.value.status == status
    own.edit = False
    with pytest.raises(session.SaveError, match="--edit"):
        session.save_file(own, file, "x", tag)
    own.edit, own.templates = True, []
    with pytest.raises(session.SaveError, match="--templates DIR"):
        session.save_file(own, file, "x", tag)
    assert list((tmp_path / "t").iterdir()) == []


def test_nothing_is_written_through_a_link(own: session.Session, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "t" / "chunks").symlink_to(outside)
    file = file_of(own, "chunks/item.md.j2")
    with pytest.raises(session.SaveError, match="behind a link"):
        session.save_file(own, file, "x", session.read_file(file).tag)
    assert list(outside.iterdir()) == []
    link = tmp_path / "p" / "linked.yaml"
    (outside / "target.yaml").write_text("max_tokens: 5\n")
    link.symlink_to(outside / "target.yaml")
    own.list_files()
    file = file_of(own, "linked.yaml")
    with pytest.raises(session.SaveError, match="behind a link"):
        session.save_file(own, file, "max_tokens: 9\n", session.read_file(file).tag)
    assert (outside / "target.yaml").read_text() == "max_tokens: 5\n"


def test_of_two_tabs_that_save_at_one_moment_one_is_told(
    own: session.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p" / "mine.yaml").write_text("max_tokens: 5\n")
    own.list_files()
    file, others = file_of(own, "mine.yaml"), []
    tag = session.read_file(file).tag
    write = session.write_file

    def other() -> None:
        with pytest.raises(session.SaveError, match="changed by somebody else") as caught:
            session.save_file(own, file, "max_tokens: 7\n", tag)
        others.append(caught.value.status)

    def write_slowly(*given: Any) -> None:
        monkeypatch.setattr(session, "write_file", write)
        thread.start()
        thread.join(0.2)  # it waits for this one to end, and then sees another version
        write(*given)

    thread = threading.Thread(target=other)
    monkeypatch.setattr(session, "write_file", write_slowly)
    session.save_file(own, file, "max_tokens: 6\n", tag)
    thread.join()
    assert others == [412] and session.read_file(file).text == "max_tokens: 6\n"


def test_what_is_no_text_is_not_shown(own: session.Session, tmp_path: Path) -> None:
    place = tmp_path / "p" / "odd.yaml"
    for data, said in ((b"\xff", "not UTF-8"), (b"# " * 200_000, "larger than")):
        place.write_bytes(data)
        with pytest.raises(session.SaveError, match=said):
            session.read_file(file_of(own, "odd.yaml"))
    file = file_of(own, "odd.yaml")
    place.unlink()
    with pytest.raises(session.SaveError, match="cannot be read"):
        session.read_file(file)


def test_settings_are_made_of_drafts_and_options(own: session.Session, tmp_path: Path) -> None:
    template, profile = file_of(own, "chunks/item.md.j2"), file_of(own, "claude.yaml")
    drafts = {template.id: "T", profile.id: "max_tokens: 77\n"}
    own.drafts_folder = tmp_path
    made = own.settings(session.View(profile="claude", max_tokens=5, query="q"), drafts)
    assert made["templates"][0] == {"chunks/item.md.j2": "T"} and made["templates"][1:] == [
        str(tmp_path / "t")
    ]
    assert (
        Path(made["profiles"][0], "claude.yaml").read_text(encoding="utf-8") == "max_tokens: 77\n"
    )
    assert made["options"] == {"max_tokens": 5, "query": "q"}
    assert (
        own.prompt_texts(session.View(query="q"))["user"] == "q"
        and own.prompt_texts(session.View())["user"] is None
    )
    with session.draft_to_check(own, template.id, drafts) as wanted:
        assert Path(wanted["path"]).read_text(encoding="utf-8") == "T"
    assert not Path(wanted["path"]).exists()
    for number in range(session.MAX_DRAFT_FOLDERS + 3):
        own.settings(session.View(), {profile.id: f"max_tokens: {number}\n"})
    kept = {path.read_text(encoding="utf-8") for path in tmp_path.glob("*/claude.yaml")}
    newest = range(3, session.MAX_DRAFT_FOLDERS + 3)
    assert kept == {f"max_tokens: {number}\n" for number in newest}
    own.texts = session.PromptTexts(user="Why?")
    assert own.settings(session.View())["options"] == {"query": "Why?"}
    own.options = {"query": "apart"}
    assert own.prompt_texts(session.View(query="q"))["user"] == "Why?"
    for wrong in (
        session.View(profile="/x.yaml"),
        session.View(layout="../x"),
        session.View(max_tokens=-1),
    ):
        with pytest.raises(OptionError):
            own.settings(wrong)
    with pytest.raises(session.SaveError, match="no such file"):
        own.settings(session.View(), {"x": "y"})


@pytest.mark.parametrize(
    "body", [b'{"view": {}, "drafts": {"a": "%s"}}' % (b"x" * 300_000), b"{}", b"\xff"]
)
def test_a_request_is_read_strictly(body: bytes) -> None:
    with pytest.raises(OptionError):
        session.read_request(body)
    with pytest.raises(PromptForgeError, match="more than 20"):
        session.read_request(
            msgspec.json.encode({"view": {}, "drafts": {str(n): "" for n in range(21)}})
        )


@pytest.mark.slow
def test_work_that_was_overtaken_is_ended(
    own: session.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("starlette", "uvicorn"):
        pytest.importorskip(library)
    from promptforge.preview import app

    monkeypatch.setattr(app, "OVERTAKEN_SECONDS", 0.1)

    async def overtake() -> None:
        queue = app.RenderQueue(own, 300)
        mine, other = ("a page", "account"), ("another page", "account")
        slow = asyncio.create_task(queue.draw({}, "slow_tasks:wait", mine))
        while queue._running is None:
            await asyncio.sleep(0.01)
        waiting = asyncio.create_task(queue.draw({}, "slow_tasks:answer", other))
        await asyncio.sleep(0.2)
        assert not slow.done() and not waiting.done()
        newest = await queue.draw({}, "slow_tasks:answer", mine)
        assert newest == {"of": own.items_key} == await waiting
        with pytest.raises(app.OvertakenError):
            await slow
        queue.close()

    asyncio.run(asyncio.wait_for(overtake(), 300))


def test_a_view_goes_home(own: session.Session) -> None:
    view = session.View(profile="claude", max_tokens=5, options={"packing": "drop_last"})
    own.words = [("", "promptforge", "render", "my items.json")]
    found = own.recipes(view)
    command = "promptforge render 'my items.json' --profile claude --packing drop_last"
    assert found["command"] == f"{command} --max-tokens 5"
    assert found["yaml"] == "extends: claude\npacking: drop_last\nmax_tokens: 5\n"
    assert "packing='drop_last', max_tokens=5)" in found["python"]
    compile(found["python"], "recipe", "exec")
    with pytest.raises(OptionError, match="by name alone"):
        own.settings(session.View(options={"tokenizer": "file:/etc/passwd"}))
    with pytest.raises(OptionError):
        own.settings(session.View(options={"packng": "score"}))


@pytest.mark.parametrize("text", ["yes", "none", "a: b", "# c", "\u2028", "0x1", "é", ""])
def test_a_profile_of_options_is_read_as_it_was(text: str) -> None:
    options = {"marker": text, "headers": False, "max_items": None, "kinds": ["a", "b"]}
    read = load_yaml(as_profile("claude", options), "p.yaml")
    assert read == {"extends": "claude", **options, "max_items": "none"}


def test_pasted_text_becomes_items(own: session.Session) -> None:
    own.take_items("plain words", "pasted")
    assert [(item.name, item.content) for item in own.items] == [("pasted", "plain words")]
    own.take_items('{"content": "a"}\n{"content": "b"}', "x.jsonl")
    assert [item.content for item in own.items] == ["a", "b"]
    with pytest.raises(PromptForgeError):
        own.take_items('[{"content": ', "x.json")
    assert len(own.items) == 2
    own.take_items("", "sample", sample=True)
    assert len(own.items) > 1
