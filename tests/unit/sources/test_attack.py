"""Techniques of MITRE ATT&CK, from STIX and from plain lists."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from places import DATA, SHARED_DATA

import promptforge as pf
from promptforge.errors import Diagnostics, ItemError
from promptforge.model import Item
from promptforge.sources import attack

MITRE = SHARED_DATA / "mitre"


def read(path: Path) -> attack.TechniqueIndex:
    return attack.read_attack(str(path), workspace=DATA, diagnostics=Diagnostics())


def find(index: attack.TechniqueIndex, technique: str) -> tuple[Item, list[str]]:
    diagnostics = Diagnostics()
    item = attack.find_technique(index, technique, diagnostics=diagnostics)
    return item, [d.message for d in diagnostics]


JAR = Item(
    kind="mitre_attack",
    name="Cookie Jar Opening",
    content="Someone opens the jar with a spoon and runs `open jar`.",
    metadata={
        "technique_id": "T9001",
        "full_name": "Cookie Jar Opening",
        "tactics": ["Entering the Kitchen", "Eating the Cake"],
        "tools": ["Ladle", "Spoon"],
        "mitigations": ["Lock the Cupboard"],
        "platforms": ["Cupboard", "Shelf"],
        "url": "https://kitchen.example/T9001",
    },
)


@pytest.fixture
def objects() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / "bundle.json").read_text())["objects"]
    return found


@pytest.mark.parametrize("syntax", ["bundle", "list", "lines", "folder", "folder of bundles"])
def test_every_syntax_of_stix(syntax: str, objects: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "attack"
    if syntax == "bundle":
        shutil.copy(DATA / "bundle.json", path)
    elif syntax == "list":
        path.write_text(json.dumps(objects))
    elif syntax == "lines":
        path.write_text("\n".join(map(json.dumps, objects)))
    else:
        for number, thing in enumerate(objects):
            folder = path / thing["type"]
            folder.mkdir(parents=True, exist_ok=True)
            whole = {"type": "bundle", "objects": [thing]} if "bundles" in syntax else thing
            (folder / f"{number}.json").write_text(json.dumps(whole))
    index = read(path)
    assert sorted(index) == ["T9001", "T9001.001", "T9002", "T9003"]
    assert find(index, "T9001") == (JAR, [])
    assert find(index, " t9001 ") == (JAR, [])


def test_a_subtechnique_names_its_parent() -> None:
    item, said = find(read(DATA / "bundle.json"), "T9001.001")
    assert (item.name, item.content, said) == ("Lid Lifting", "Lifts the lid.", [])
    assert item.metadata == {
        "technique_id": "T9001.001",
        "full_name": "Cookie Jar Opening: Lid Lifting",
        "parent_id": "T9001",
        "tactics": ["Command and Control"],
        "tools": [],
        "mitigations": [],
        "platforms": [],
    }


def test_a_technique_is_found_by_its_name() -> None:
    def made(known: str, **others: object) -> dict[str, Any]:
        record = dict.fromkeys(("description", "full_name", "revoked_by"), "")
        return {**record, "technique_id": known, "revoked": False, "deprecated": False,
                **dict.fromkeys(("tactics", "tools", "mitigations", "platforms"), ()),
                "parent_id": None, "url": None, **others}  # fmt: skip

    index = {
        "T1": made("T1", name="Jar Opening"),
        "T1.001": made("T1.001", name="Lid", full_name="Jar Opening: Lid"),
        "T2.001": made("T2.001", name="Lid", full_name="Box Opening: Lid"),
        "T3": made("T3", name="Jar Opening", deprecated=True),
    }
    assert find(index, " jar opening ")[0].metadata["technique_id"] == "T1"
    known = attack.find_technique(index, "Box opening: lid", diagnostics=Diagnostics())
    assert known.metadata["technique_id"] == "T2.001"
    with pytest.raises(ItemError, match=r'"Lid" is the name of several techniques: T1.001, T2.001'):
        find(index, "lid")


def test_revoked_deprecated_and_unknown() -> None:
    index = read(DATA / "bundle.json")
    assert find(index, "T9002") == (JAR, ["T9002 was revoked; T9001 took its place"])
    item, said = find(index, "T9003")
    assert (item.name, said) == ("Crumb Tracing", ["T9003 is deprecated"])
    with pytest.raises(ItemError, match=r'no technique "T9001\.01"; did you mean "T9001'):
        find(index, "T9001.01")
    with pytest.raises(ItemError, match=r'no technique "\\x1b"; there are 4, such as T9001'):
        find(index, "\x1b")
    for word in ("crumb tarcing", "tracing"):
        with pytest.raises(ItemError, match='did you mean "Crumb Tracing"'):
            find(index, word)
    assert find(index, "crumb tracing")[0].name == "Crumb Tracing"


def test_revoked_in_a_circle_ends(objects: list[dict[str, Any]], tmp_path: Path) -> None:
    for thing in objects:
        if thing["type"] == "attack-pattern":
            thing["revoked"] = True
    back = {
        "type": "relationship",
        "relationship_type": "revoked-by",
        "source_ref": "attack-pattern--1",
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps([*objects, {**back, "target_ref": "attack-pattern--3"}]))
    item, said = find(read(path), "T9002")
    assert item.metadata["technique_id"] == "T9001"
    assert said == ["T9002 was revoked; T9001 took its place", "T9001 is revoked"]


@pytest.mark.parametrize(
    "technique",
    [
        {"technique_id": "T9001", "tactics": ["A", "B"], "tools": ["S"], "mitigations": ["L"]},
        {"id": "t9001", "tactic": "A", "related_tools": "S", "mitigation": "L"},
        {
            "technique_id": "T9001",
            "tactics": [{"name": "A"}],
            "tools": [{"name": "S"}, {}],
            "mitigations": [{"name": "L"}],
        },
    ],
)
@pytest.mark.parametrize("syntax", ["list", "object", "lines", "single"])
def test_plain_lists_of_techniques(technique: dict[str, Any], syntax: str, tmp_path: Path) -> None:
    record = {"name": "Jar", "description": "d (Citation: x)", **technique}
    text = {
        "list": json.dumps([record]),
        "object": json.dumps({"techniques": [record]}),
        "lines": json.dumps(record) + "\n" + json.dumps({"id": "T9009", "name": "Other"}),
        "single": json.dumps(record),
    }[syntax]
    (tmp_path / "t.json").write_text(text)
    item, _ = find(read(tmp_path / "t.json"), "T9001")
    assert (item.kind, item.name, item.content) == ("mitre_attack", "Jar", "d")
    assert (item.metadata["tactics"][0], item.metadata["tools"], item.metadata["mitigations"]) == (
        "A",
        ["S"],
        ["L"],
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "holds no technique"),
        ("7", "holds no technique"),
        ('{"objects": [1, null, {"type": "attack-pattern"}, {"id": 5}]}', "holds no technique"),
        ("{", "t.json:1: not valid JSON"),
        ('{"a": 1}\n{', "t.json:2: not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_holds_no_technique(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(ItemError, match=message):
        attack.read_attack("t.json", workspace=tmp_path, diagnostics=Diagnostics())


def test_a_bad_file_in_a_folder_costs_only_itself(tmp_path: Path) -> None:
    shutil.copy(DATA / "bundle.json", tmp_path / "a.json")
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.json").symlink_to("/etc/hostname")
    (tmp_path / "d.txt").write_text("{")
    diagnostics = Diagnostics()
    assert "T9001" in attack.read_attack(tmp_path, workspace=DATA, diagnostics=diagnostics)
    assert [(d.code, d.where) for d in diagnostics] == [("PF601", "b.json:1"), ("PF601", "c.json")]


def test_malformed_stix_is_passed_over(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {
            "type": "attack-pattern",
            "name": 5,
            "external_references": [{"source_name": "mitre-attack", "external_id": "T1"}],
        },
        {"type": "attack-pattern", "name": "x", "external_references": "odd"},
        {"type": "attack-pattern", "name": "x", "external_references": [None, {"source_name": 5}]},
        {"type": "relationship", "relationship_type": [], "source_ref": {}, "target_ref": 1},
        {"type": "x-mitre-tactic", "x_mitre_shortname": ["a"]},
        {"type": "x-mitre-matrix", "tactic_refs": [[], {}]},
        {
            "type": "attack-pattern",
            "id": ["x"],
            "name": "Good",
            "description": 7,
            "kill_chain_phases": [None, {"kill_chain_name": "mitre-attack", "phase_name": []}],
            "x_mitre_platforms": "odd",
            "external_references": [
                {"source_name": "mitre-attack", "external_id": "T9009", "url": 5}
            ],
        },
    ]
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(odd))
    assert list(read(path)) == ["T9009"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a (Citation: X) b.(Citation: Y (2020) z)", "a b."),
        ("(Citation: never closed", "(Citation: never closed"),
        ("[t](https://x.example/a_(b)) and [n](note) [i]", "t and [n](note) [i]"),
        ("[Tool](/software/S1)", "Tool"),
        ("<code>a b</code><code>c`</code>", "`a b`<code>c`</code>"),
    ],
)
def test_prose(text: str, plain: str) -> None:
    assert attack.plain_description(text) == plain


def test_prose_is_quick_on_hostile_text() -> None:
    for text in (
        "(Citation: " * 50_000,
        "(Citation: a(" * 50_000,
        "[" * 200_000,
        "[a](https://" * 30_000,
        "<code>" * 50_000,
    ):
        assert attack.plain_description(text) == text.strip()


@pytest.mark.skipif(not MITRE.exists(), reason="the data is outside the repository")
def test_real_techniques_from_stix_and_from_plain_json_agree() -> None:
    from_stix, plain = read(MITRE / "stix-bundle-mini.json"), read(MITRE / "techniques-sample.json")
    assert len(plain) == 67
    for technique in sorted(from_stix.keys() & plain.keys()):
        one, other = find(from_stix, technique)[0], find(plain, technique)[0]
        assert (one.name, one.content) == (other.name, other.content)
        for key, value in one.metadata.items():
            assert sorted(value) == sorted(other.metadata[key]), (technique, key)
    item, _ = find(from_stix, "T1003")
    assert (item.name, item.metadata["tactics"]) == ("OS Credential Dumping", ["Credential Access"])
    assert not any(
        "(Citation" in attack.plain_description(record["description"]) for record in plain.values()
    )


# --- techniques in their own order ----------------------------------------------------------------

WORDS = {
    "markdown": "- Related Tools: ",
    "plain": "Related Tools: ",
    "xml": "<related_tools>",
    "json": '"tools": ',
    "yaml": "tools: ",
}


@pytest.mark.parametrize(("format_name", "word"), WORDS.items())
@pytest.mark.parametrize(("tools", "shown"), [("", 0), ([""], 0), ([], 0), (["tar"], 1), (7, 1)])
def test_tools_are_printed_where_they_hold_a_word(
    format_name: str, word: str, tools: object, shown: int
) -> None:
    item = pf.Item(
        kind="mitre_attack",
        content="Adversaries may stage data.",
        metadata={"technique_id": "T1074", "tools": tools},
    )
    text = pf.Renderer().render([item], layout="knowledge", format=format_name).text
    assert text.count(word) == shown
