"""Golden cases written by the page: they are read as meant, and older ones stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from example_counts import cases
from hypothesis import given
from hypothesis import strategies as st

import promptforge as pf
from promptforge.authoring.golden import add_case, parse_cases
from promptforge.errors import ItemError
from promptforge.preview import render_worker as recording
from promptforge.preview import session
from promptforge.preview.session import CaseRequest, Session, View

PATH = Path("tests/preview.yaml")
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
PLAIN = st.none() | st.booleans() | st.integers(-9, 9**9) | ANY | st.lists(ANY, max_size=3)


@cases(25)
@given(ANY.filter(bool), ANY, st.dictionaries(ANY, PLAIN, max_size=3), ANY)
def test_what_is_added_is_read_as_it_is_meant(
    name: str, content: str, metadata: dict[str, Any], text: str
) -> None:
    items = [{"content": content, "metadata": metadata}]
    first = add_case("", PATH, {"name": "first", "items": "../items.json", "tokens_at_most": 7})
    second = add_case(
        first,
        PATH,
        {"name": name + "!", "items": items, "options": {"query": content}, "text": text},
    )
    found = parse_cases(second, PATH)
    assert second.startswith(first.rstrip("\n")) and [case.name for case in found] == [
        "first",
        name + "!",
    ]
    assert found[1].keys["items"] == items and found[1].keys["options"] == {"query": content}
    assert found[1].keys["text"].rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("options: {layout: context}\ncases:\n  - {name: a, items: [], text: x}\n", "its options"),
        ("cases:\n  - {name: one, items: [], text: x}\n", "choose another name"),
        ("cases:\n  - {name: a, items: [], text: x}\noptions: {}\n", "not valid YAML"),
        ("cases: [{name: a, items: [], text: x}]\n", "not valid YAML"),
        ("layouts: {}\n", "has the key `cases`"),
    ],
)
def test_a_file_that_would_change_the_case_is_refused(source: str, said: str) -> None:
    with pytest.raises(ItemError, match=said):
        add_case(
            source,
            PATH,
            {"name": "one", "items": [{"content": "x"}], "options": {"format": "xml"}, "text": "y"},
        )


def test_cases_stand_as_far_from_the_margin_as_those_before() -> None:
    source = "# mine\ncases:\n- name: a\n  items: []\n  text: x\n\n# the end\n"
    made = add_case(source, PATH, {"name": "b", "items": "x.json", "text": "one\n\ntwo"})
    assert made == source + "\n- name: b\n  items: x.json\n  text: |\n    one\n\n    two\n"
    assert [case.name for case in parse_cases(made, PATH)] == ["a", "b"]


# --- from what is seen ----------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Session:
    (tmp_path / "templates").mkdir()
    items = [
        pf.Item(name="one", content="x " * 40, metadata={"a": [1, None]}),
        pf.Item(content="y", score=0.5),
    ]
    return Session(items, None, {"layout": "context"}, [tmp_path / "templates"], [], edit=True)


def record(own: Session, name: str, expect: Any = "text", **view: Any) -> None:
    found = session.load_cases(own)
    settings = own.settings(View(**view))
    request = {
        **session.record_request(own, found, settings, CaseRequest(View(**view), name, expect)),
        "items": own.records,
    }
    made = recording.record_case({**request, "items_key": own.items_key}, lambda: None)
    session.save_cases(own, found, made["source"])


def test_items_from_anywhere_are_written_out(own: Session, tmp_path: Path) -> None:
    record(own, "all")
    record(own, "some", "bounds", max_tokens=20)
    (whole, some) = parse_cases(
        (tmp_path / "tests" / "preview.yaml").read_text(encoding="utf-8"), PATH
    )
    assert whole.keys["items"][0] == {
        "name": "one",
        "content": "x " * 40,
        "metadata": {"a": [1, None]},
    }
    assert whole.keys["templates"] == ("../templates",)
    assert some.keys["tokens_at_most"] == 20 and some.keys["text"] is None
    assert set(some.keys["statuses"].values()) <= {"included", "trimmed", "dropped"}


def test_nothing_is_written_where_it_does_not_belong(own: Session, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    tests = tmp_path / "tests"
    tests.symlink_to(outside)
    with pytest.raises(session.SaveError, match="behind a link"):
        record(own, "one")
    tests.unlink()
    tests.mkdir()
    (tests / "preview.yaml").symlink_to(outside / "x")
    with pytest.raises(session.SaveError, match="behind a link"):
        record(own, "one")
    (tests / "preview.yaml").unlink()
    found = session.load_cases(own)
    for forged in (
        "",
        "cases: []\n",
        "cases:\n  - {items: [], text: x}\n  - {name: b, items: [], text: x}\n",
    ):
        with pytest.raises((session.SaveError, ItemError)):
            session.save_cases(own, found, forged)
    (tests / "preview.yaml").write_text("# theirs\n", encoding="utf-8")
    with pytest.raises(session.SaveError, match="changed by somebody else"):
        session.save_cases(own, found, "cases:\n  - {items: [], text: x}\n")
    own.edit = False
    with pytest.raises(session.SaveError, match="--edit"):
        session.load_cases(own)
    assert list(outside.iterdir()) == []
