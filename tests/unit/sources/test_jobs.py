"""Job files: their keys, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import run, said
from places import DATA

from promptforge.errors import Diagnostics, ItemError, ProfileError
from promptforge.sources.jobs import Job, load_job


def test_a_yaml_job() -> None:
    job = load_job(DATA / "job.yaml")
    assert job.options == {"max_tokens": 900, "layout": "knowledge"}
    assert (job.lines[("max_tokens",)], job.lines[("layout",)]) == (2, 3)
    assert job.man_pages == ("tar", "ssh_config.5")
    assert job.documents == ("guide.md",)
    assert job.mitre_techniques == ("T9001",)
    assert job.files == ("src/*.py", "a.py:3-9")
    assert job.items == ("found.json", {"content": "an item written in place"})


def test_an_xml_job() -> None:
    assert load_job(DATA / "job.xml") == Job(
        man_pages=("tar", "ssh_config.5", "gzip"),
        documents=("guide.md", "notes & more.md"),
        mitre_techniques=("T9001",),
    )


def load(text: str, tmp_path: Path) -> Job:
    path = tmp_path / "job"
    path.write_text(text)
    return load_job(path)


def test_small_jobs(tmp_path: Path) -> None:
    assert load("", tmp_path) == Job()
    assert load("knowledge:\nfiles: []\nitems:", tmp_path).options == {}
    assert load("context_config: {documents: no}", tmp_path).documents == ("no",)
    assert load("<context/>", tmp_path) == Job()
    assert load("<a><context><man_pages/></context></a>", tmp_path) == Job()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "job:1: expected keys and values"),
        ("knowledge: [a]", "job:1: knowledge: expected the lists"),
        (
            "a: 1\nknowledge:\n  man_page: [x]",
            'job:3: unknown key "man_page"; did you mean "man_pages"',
        ),
        (
            "knowledge:\n  documents:\n  - a\n  - 7",
            "job:4: knowledge.documents: expected names, as text, found int",
        ),
        ("files:\n- {a: 1}", "job:2: files: expected names, as text, found dict"),
        ("items:\n- x\n- [y]", "job:3: items: expected names of files, or items, found list"),
        ('files: ""', "job:1: files: an empty name"),
        ("knowledge: {}\ncontext_config: {}", "job:2: knowledge and context_config"),
        ("a: 1\na: 2", 'job:2: the key "a" is there twice'),
        ("a: *b", "job:1: anchors"),
    ],
)
def test_wrong_yaml(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises((ItemError, ProfileError), match=message) as caught:
        load(text, tmp_path)
    assert caught.value.where is not None


BOMB = (
    '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    "<context><documents>&b;</documents></context>"
)
OUTSIDE = (
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    "<context><documents>&x;</documents></context>"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "job:1: a document type or entity"),
        (OUTSIDE, "job:1: a document type or entity"),
        (
            '<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd"><context/>',
            "job:1: a document type or entity",
        ),
        ("<context>\n&undefined;</context>", "job:2: not well-formed XML: undefined entity"),
        ("<context>\n<documents>\n</context>", "job:3: not well-formed XML: mismatched tag"),
        (
            "<context>\n<man_page>x</man_page></context>",
            'job:2: unknown element "man_page"; did you mean "man_pages"',
        ),
        ("<a>no block</a>", "job:1: no <context> element"),
        ("<a>" * 60 + "</a>" * 60, "job:1: nested deeper than 50"),
        ("<context>\x01</context>", "job:1: not well-formed XML"),
        ("<context>" + "x" * (1 << 20) + "</context>", "job:1: longer than"),
    ],
)
def test_wrong_xml(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ItemError, match=message):
        load(text, tmp_path)


def test_broken_text_and_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "job"
    text = '<?xml version="1.0" encoding="utf-16"?>'
    text += "<context><documents><d>a<!-- c -->b<i>é</i></d></documents></context>"
    path.write_bytes(text.encode("utf-16"))
    assert load_job(path).documents == ("abé",)


def test_a_job_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="no such file"):
        load_job(tmp_path / "gone")
    (tmp_path / "job").write_bytes(b"files: a\xff")
    diagnostics = Diagnostics()
    assert load_job(tmp_path / "job", diagnostics=diagnostics).files == ("a�",)
    assert [d.code for d in diagnostics] == ["PF301"]


def test_what_an_xml_job_has_no_place_for_is_said(tmp_path: Path) -> None:
    said = Diagnostics()
    path = tmp_path / "job.xml"
    path.write_text(
        '<a b="c"><context layout="plain">\n<weather/><documents><d>a.md</d></documents></context></a>'
    )
    assert load_job(path, diagnostics=said).documents == ("a.md",)
    attribute, element, around = said
    assert attribute.where == f"{path}:1" and "<context>, layout; left out" in attribute.message
    assert element.where == f"{path}:2" and 'unknown element "weather"; left out' in element.message
    assert (around.severity, around.message) == (
        "info",
        'b="…": not read; of XML only what is in <context> is',
    )


def test_an_option_in_an_xml_job_is_said_with_the_way_out(tmp_path: Path) -> None:
    said = Diagnostics()
    path = tmp_path / "job.xml"
    path.write_text(
        '<bot max-chars="9"><layout>knowledge</layout>\n<options><max_tokens>9</max_tokens></options>'
        "<max_token/>stray\n<context>more<documents>b.md<d>a.md</d></documents></context></bot>"
    )
    job = load_job(path, diagnostics=said, options=("layout", "max_tokens", "max_chars"))
    assert job.documents == ("a.md",)
    warned = [(d.where, d.message) for d in said if d.severity == "warning"]
    way_out = "left out: give options as flags, or write the job as YAML"
    assert warned == [
        (f"{path}:3", '"more" stands between the elements of <context>; left out'),
        (f"{path}:3", '"b.md" stands between the elements of <documents>; left out'),
        (f"{path}:1", f'max-chars="…" outside of <context>; {way_out}'),
        (f"{path}:1", f"<layout> outside of <context>; {way_out}"),
        (f"{path}:2", f"<max_tokens> outside of <context>; {way_out}"),
    ]
    (note,) = (d.message for d in said if d.severity == "info")
    assert note.startswith('"stray", <options>, <max_token>: not read')


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("max_tokens: 100\nitems: [gone.json]\n", 2),
        ("items:\n  - {content: a}\n  - gone.json\n", None),
        ("files: gone.json\n", 1),
        ("max_tokens: 9\nknowledge:\n  documents:\n    - gone.json\n", 4),
    ],
)
def test_a_missing_file_is_told_with_the_line_that_names_it(
    text: str, line: int | None, tmp_path: Path
) -> None:
    (tmp_path / "job.yaml").write_text(text)
    ran = run("render", "--job", "job.yaml", cwd=tmp_path)
    if line is None:  # the other item is left: no error
        assert ran.code == 0
    else:
        said(ran, 4, "gone.json: cannot read it", f"; job.yaml:{line} names it")


@pytest.mark.parametrize(
    ("text", "is_job"),
    [
        ("knowledge: {man_pages: [ls]}", True),
        ("system: be brief\nquestion: why\nmax_tokens: 9", True),
        ("items: [{content: a}]\nquestion: why", True),
        ("items: [{content: a}]\nquery: why", False),
        ("name: mine\nfiles: [a]", False),
        ("max_tokens: 9", False),
    ],
)
def test_a_job_without_its_flag_is_told(text: str, is_job: bool, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(text)
    ran = run("render", "job.yaml", cwd=tmp_path)
    assert ("`--job job.yaml` reads" in ran.err) == is_job
