"""Languages of texts without a name: the right one, or none; never an error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hostile_strings import STRINGS
from hypothesis import given
from hypothesis import strategies as st

from promptforge.text.detection import detect_language, tokens_of
from promptforge.text.languages import is_code, language_of
from promptforge.text.words import late_patterns

ROOT = Path(__file__).parents[3]
ROWS = [{"id": n, "name": f"kettle {n}"} for n in range(4)]
PAGE = "TAR(1)          GNU TAR Manual          TAR(1)\n\nNAME\n       tar - an archiver\n\nSYNOPSIS\n       tar x\n"
TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nKeyError: 3\n'
TEXTS = [
    ("json", json.dumps(ROWS)),
    ("json", json.dumps(json.dumps(ROWS))),
    ("json", "\n".join(map(json.dumps, ROWS))),
    ("json", json.dumps(ROWS, indent=2)[:90]),
    ("json", '{\n  // a comment\n  "a": 1\n}'),
    ("repr", repr(ROWS)),
    ("repr", "[Kettle(name='a', litres=2), Kettle(name='b', litres=3)]"),
    ("html", "<!doctype html>\n<html><body><p>Hello</p></body></html>"),
    ("html", "<div><p>Hello</p></div>"),
    ("xml", '<?xml version="1.0"?><jobs><job id="1"/></jobs>'),
    ("xml", "<jobs>\n  <job id='1'>a</job>\n</jobs>"),
    ("diff", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"),
    ("diff", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"),
    ("man", PAGE),
    ("csv", "id,name\n1,a\n2,b\n3,c\n"),
    ("csv", 'id,name\n1,"a, b"\n2,b\n3,c\n'),
    ("tsv", "id\tname\n1\ta\n2\tb\n3\tc\n"),
    ("log", "2026-11-05 10:00:01,120 INFO up\n2026-11-05 10:00:02,001 WARNING slow\n"),
    ("log", "level=info msg=up\nlevel=warn msg=slow\n"),
    ("traceback", TRACE),
    ("console", "ada@srv:~$ ls\na.txt\nada@srv:~$ cat a.txt\nhello\n"),
    ("console", ">>> 1 + 1\n2\n"),
    ("python", "import os\n\n\ndef f(x):\n    return x\n"),
    ("bash", "#!/bin/sh\nset -e\nif [ -f a ]; then\n  echo a\nfi\n"),
    ("c", "#include <a.h>\n\nint main(void) {\n  return f(1);\n}\n"),
    ("javascript", "export function f(x) {\n  const y = x;\n  return y;\n}\n"),
    ("sql", "CREATE TABLE kettles (\n    id INTEGER PRIMARY KEY,\n    name VARCHAR(40) NOT NULL\n);\n\nINSERT INTO kettles (id, name) VALUES (1, 'x');\nSELECT name FROM kettles WHERE id > 1 ORDER BY name;\n"),
    ("sql", '-- by hand?\n\\echo Use "ALTER EXTENSION b". \\quit\n\nALTER FUNCTION f(a) STRICT;\n'),
    ("lua", "function f(x)\n  local y = x\n  return y\nend\n"),
    ("perl", "use strict;\nuse warnings;\n\nmy %seen = ();\nsub take {\n    my ($self, @rest) = @_;\n    return $self->{pool};\n}\n1;\n"),
    ("ruby", "require 'set'\n\nmodule Kettle\n  class Pool\n    attr_reader :size\n    def take(n)\n      @items.each do |item|\n        puts item\n      end\n    end\n  end\nend\n"),
    ("powershell", "param([string]$Path)\n\nfunction Get-Kettle {\n    $found = Get-ChildItem -Path $Path\n    if ($found -eq $null) { Write-Host 'none' }\n    return $found\n}\n"),
    ("go", "package pool\n\nimport \"fmt\"\n\nfunc Take(n int) error {\n\tif n < 0 {\n\t\treturn fmt.Errorf(\"n\")\n\t}\n\treturn nil\n}\n"),
    ("erlang", "-module(kettle).\n-export([boil/1]).\n\nboil(Litres) when Litres > 0 ->\n    {ok, Litres};\nboil(_) ->\n    {error, empty}.\n"),
    ("lisp", "(defun boil (litres)\n  (when (> litres 0)\n    (setq water litres)\n    (message \"boils\")))\n(provide 'kettle)\n"),
    ("cmake", "cmake_minimum_required(VERSION 3.20)\nproject(kettle)\nset(LID_DIR ${CMAKE_CURRENT_SOURCE_DIR}/lid)\nadd_library(kettle\n" + "".join(f"  src/pool{n}/lid_{n}.c\n" for n in range(20)) + ")\ntarget_include_directories(kettle PUBLIC ${LID_DIR})\n"),
    ("plantuml", "@startuml\nclass Kettle {\n  boil(litres: int)\n}\nKettle --> Lid\n@enduml\n"),
    ("verilog", "// The lid.\n`timescale 1 ns / 1 ps\n\nmodule lid;\n  reg clk = 1;\nendmodule\n"),
    ("verilog", "/* The lid. */\nmodule lid (\n  input clk,\n  output fits\n);\n  assign fits = clk;\nendmodule\n"),
    ("markdown", "`define x` boils a kettle. See `lid`, and [the manual](lid.md).\n"),
    ("asciidoc", "[preface]\n=== Kettles of the House\n\nA kettle boils water. It whistles when the water is hot.\n"),
    (None, "=== Kettles of the House ===\n\nA kettle boils water. It whistles when the water is hot.\n"),
    ("php", "<?php\necho 1;\n"),
    ("diff", "From: Ada\nSubject: kettles\n\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"),
    ("vue", "<script setup lang=\"ts\">\nimport { ref } from 'vue'\n\nconst litres = ref(0)\nconst props = defineProps<{ name: string }>()\n</script>\n\n<template>\n  <p v-if=\"litres\" :key=\"props.name\" @click=\"litres++\">{{ litres }}</p>\n</template>\n"),
    ("svelte", "<script lang=\"ts\">\n  import Lid from './Lid.svelte'\n  let { litres = $bindable(0) } = $props()\n  $: full = litres > 2\n</script>\n\n{#if full}\n  <Lid on:click={() => (litres = 0)} bind:litres />\n{/if}\n"),
    ("erb", "<div class=\"row\">\n  <% @kettles.each do |kettle| %>\n    <%= link_to kettle.name, kettle_path(kettle) %>\n    <td><%= kettle.litres %></td>\n  <% end %>\n</div>\n"),
    ("vue", "<template>\n  <p class=\"lid\">A kettle</p>\n</template>\n\n<script>\nexport default {}\n</script>\n"),
    ("html", "<template id=\"lid\">\n  <p>A kettle</p>\n</template>\n"),
    ("erb", "<%#\n# Kettle Partial\n\nThis partial renders a kettle,\nto be displayed on the page of its kitchen.\n\n## Local variables:\n\n- `lid`\n%>\n\n<%= lid.name %>\n"),
    ("astro", "---\n// The lids of this house.\n\nconst lids = [\n  { name: 'tin' },\n];\n---\n\n# Lids\n\n{lids.length}\n"),
    ("go", "// A kettle, with a lid.\n" * 60 + "\npackage pool\n\nfunc Take(n int) error {\n\treturn nil\n}\n"),
    ("markdown", "{% include head.html %}\n\n# The lid\n\nIt is closed, and nobody knows why.\n"),
    ("jinja", "{{!-- The lid of the kettle --}}\n<div class=\"lid\">\n  <p>{{name}}</p>\n</div>\n"),
    ("php", "<?\necho 1;\n"),
    ("markdown", "---\nname: Bug report\nabout: A kettle that leaks\nlabels: ''\n---\n\n<!--\nSay which kettle\n-->\n"),
    ("markdown", "# Changes\n\n## v2\n\n- History of changes: see the list of kettles\n- feat(lid): fits\n\n## v1\n\n- fix: boils\n"),
    ("yaml", "# Kettles\n\n## of this house\n\n- name: tin\n  litres: 2\n# bought in May\n- name: copper\n  litres: 3\n"),
    ("toml", "# Kettles of this house.\n# Each has a lid.\n[kettle]\nname = \"tin\"\nsaid = \"\"\"\nIt boils water, and whistles\nuntil somebody comes\n\"\"\"\nlitres = 2\n# In May.\nbought = [\"tin\", \"copper\"]\nlids = { tin = 1 }\n\n[[lid]]\npath = \"lids/tin.txt\"\nfits = true\n"),
    ("yaml", "name: a\nsteps:\n  - run: b\n"),
    ("yaml", "---\nkind: Service\nname: a\n---\nkind: Job\nname: b\nports:\n  - 80\n"),
    ("yaml", "---\n# Source: a.yaml\nkind: Service\n---\n# Source: b.yaml\nkind: Job\n"),
    ("log", "".join(f"2026-11-05 10:00:0{n},120 INFO kettle {n} boils\n" for n in range(5))),
    ("toml", '[project]\nname = "a"\nversion = "1"\n'),
    ("ini", "[main]\nuser = ada\npath = /srv\n"),
    ("properties", "A_B=1\nC_D=two\n"),
    ("markdown", "# Kettles\n\nA kettle boils water.\n"),
    ("markdown", "Use `--` to boil.\n\n```bash\nnpm run kettle\n"),
    ("markdown", "# Kitchen\n\n- milk: two cups\n- tea: one\n\n# Shop\n\n- pay: Bob\n- call: Ann\n"),
    (None, "Failures:\n\n  1) A kettle boils\n     expected water\n     # ./spec/boil.rb, line 3\n\n  2) A kettle whistles\n     expected steam\n     # ./spec/whistle.rb, line 7\n\nDone\n"),
    ("markdown", "---\ntitle: a\n---\n\n# Kettles\n\nA kettle boils water.\n"),
    ("markdown", "Kettles\n\n```python\nimport os\n\ndef f(): ...\n```\n"),
    ("rst", "Kettles\n~~~~~~~\n\n.. note:: A kettle boils water.\n"),
    ("latex", "\\section{Kettles}\nA kettle boils water.\n"),
    ("asciidoc", "= Kettles\n:toc:\n\n== Water\n\nA kettle boils it.\n"),
    (None, ""),
    (None, "A kettle boils water. It whistles, and then it is off."),
    (None, "Kettles: a history in three parts, with pictures of the best ones."),
    (None, "{braces} open this sentence (and brackets close it)"),
    ("listing", "src/a.py:12:    x = 1 and more words\nsrc/b.py:3:    another of these lines"),
    ("listing", "".join(f"{n}: lid{n}: <UP> mtu 1500 state UP\n    link/ether 02:42:0{n}\n    inet 10.0.0.{n}/24\n" for n in range(4))),
    ("listing", "".join(f"****** {n}. row ******\n   Id: {n}\nState: full\n" for n in range(9))),
    ("listing", "USER       PID %CPU COMMAND\n" + "".join(f"root       {n} {n}.7 [kworker/{n}:1]\nada      {n}7  0.1 /usr/bin/python3 -m app --lid={n}\n" for n in range(9))),
    ("listing", "".join(f"/srv/lid{n}:\ntotal 68\n" + "".join(f"-rw-r--r-- 1 ada ada {m}39 Nov 30 09:42 lid_{n}{m}.py\n" for m in range(9)) + "\n" for n in range(3))),
    ("dockerfile", "####\n# Build the kettle with `make kettle`, then boil it.\n#\n# docker run kettle\n#\n# - `LITRES`: read by the lid\n" + 90 * "# The lid of the kettle is closed while the water is hot.\n" + "###\nFROM debian:12\nENV LITRES=2\nCOPY --chown=185 lid/ /srv/lid/\nRUN apt-get install -y tea\nEXPOSE 8080\nUSER 185\nENTRYPOINT [ \"/srv/boil.sh\" ]\n"),
    ("properties", "# configure the kettle\n%prod.kettle.litres=2\n\n# Optional settings of lids\n# kettle.lid.name=tin\n# kettle.lid.fits=true\n\n# Water\nkettle.water=hot\n"),
    ("toml", '[lids]\n"Tin lid (small)" = [\n    # used by kettles\n    "a.txt",\n\n    "b.txt",\n]\n'),
    ("yaml", "services:\n  kettle:\n    image: debian\n    command: [\n      \"sh\", \"-c\",\n      \"if [ -f a ]; then echo $$a; fi; exec boil --litres $${LITRES}\"\n    ]\n    depends_on:\n      - lid\n    environment:\n      LITRES: 2\n    ports:\n      - 80:80\n"),
    ("json", '// Made by hand.\n/* See the manual. */\n{\n  // a comment\n  "a": 1\n}'),
    ("rst", "**To list kettles**\n\nThe following ``list`` command lists kettles. ::\n\n    kettle list\n\nOutput::\n\n  {\n" + "".join(f'      "lid{n}": {{\n          "litres": {n}\n      }},\n' for n in range(9)) + '      "whistles": true\n  }\n'),
    ("c", "/**\n * The kettle boils water. It whistles when the water is hot.\n *\n * - It has a lid that fits, and `boil` closes it.\n * - It has a handle that is made of wood.\n */\nstatic int boil(struct kettle *kettle, const char *lid);\n\n/**\n * The kettle is emptied by hand. It is dry then.\n */\nvoid empty(struct kettle *kettle) {\n    free(kettle->water);\n}\n"),
    ("log", "03-17 16:13:38.811  1702 D Lid: open\n03-17 16:13:38.819  1702 D Lid: shut\n"),
    ("listing", "\nthermometer | (52)% (%) in 57% (31%) (66%/56% (42%/79%)) | (26)% (%) of 30% (52%) (95%/10% (25%/27%))\nkettle (tin) | 81 on 151 (58/27) | 26 in 583 (69/22)\nhandle pot | $3397 | $7210\nthermometer | 87% (27%) of 75% (43%) (47%/29% (83%/52%)) | 97% (22%) on 66% (20%) (75%/93% (11%/34%))\nkettle whistle (the) | 4 of 700 (13/97) | 9 of 412 (746/96)\nkettles kettle handle | 9 on 86 (43/32) | 1 of 677 (34/34)\nwhistles water | 91% (56%) of 94% (94%) (94%/49% (24%/86%)) | 3% (4%) of 16% (39%) (31%/63% (83%/39%))\nporcelain"),
    (None, "<unk> is a sign of unknown words."),
    (
        None,
        "Kettle extends Pot; it is in the module kitchen.\nBoils water, and says so.\n"
        "fill(self, litres=1): Fill the pot up to its mark.\n"
        "boil(self): Boil until the whistle is heard by all.\n"
        "empty(self): Pour the water out and dry the pot.",
    ),
    (
        "markdown",
        "# Kettles by hand\n\nTo run this example:\n\n- `npm install` or `yarn`\n- `npm run dev`\n",
    ),
    ("markdown", '<h1 align="center">\n  <img src="kettle.svg">\n</h1>\n\n## Install\n\nBuy one.\n'),
    (
        None,
        "Operation Kettle was a campaign against kitchens in three countries.\n"
        "Archive via Utility: The cooks used the `makecab` utility to pack what they had taken.\n"
        "Local Accounts: The cooks used the `dsquery` command to get all users of the kitchen.\n"
        "Cron: The cooks configured jobs that pulled recipes from their own servers.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_what_a_text_is_written_in(language: str | None, text: str) -> None:
    assert detect_language(text) == language


@pytest.mark.slow
def test_the_files_of_this_repository_are_known_without_their_names() -> None:
    right = count = 0
    folders = ("promptforge", "profiles", ".github", "tests/unit/trimming", "tests/data/programs")
    for path in sorted(each for folder in folders for each in (ROOT / folder).rglob("*")):
        language = language_of(path.name)
        if not path.is_file() or language in (None, "text", "jinja"):
            continue
        if path.stat().st_size < 200:  # one sentence
            continue
        found = detect_language(path.read_text(encoding="utf-8"))
        count += 1
        right += found == language or (is_code(found) and is_code(language))
    assert count > 200
    assert right >= 0.97 * count


@given(st.text(max_size=200) | st.sampled_from(STRINGS))
def test_no_text_is_an_error(text: str) -> None:
    for each in (text, f"[{text}", f"<a {text}", f"{text}\n" * 5, f"{{{text!r}: 1}}"):
        detect_language(each)


@pytest.mark.parametrize(("begin", "more"), [
    ("---\n", "\n"),
    ("---\n", "// a\n\n"),
    ("---\nimport ", "a\n--- "),
    ("<template>", " v-a"),
    ("<template> v-", "a"),
    ("<template>", " @a.a"),
    ("{% set ", "</"),
    ("[", "'a"),
    ("/*", "*/ /*"),
    ("[[", "a"),
    ("module a(", "\n"),
    ("module a;", "\n"),
    ("[a]\n", "[a]\n"),
    ("= A", " "),
    ("", "\n"),
    ("commit 0123456 ", "\ndiff --"),
])  # fmt: skip
def test_openings_are_linear_in_a_text(begin: str, more: str) -> None:
    text = begin + 300_000 * more
    for opening in late_patterns("openings").values():
        opening.match(text)


def plain_tokens(sample: str) -> set[str]:
    """Return the tokens of a text by one regular expression for each kind of them."""
    sample = sample.translate({ord(digit): "0" for digit in "123456789"})
    words, signs, pairs = r"[A-Za-z_]\w{0,15}", r"[^\w\s]{1,3}", r"[A-Za-z_]\w{0,11} ?[^\w\s]"
    found = {each for kind in (words, signs, pairs) for each in re.findall(kind, sample)}
    for margin, start in re.findall(r"(?m)^([ \t]?)[ \t]*(\w+|[^\w\s]{1,4})", sample):
        found.add(f"^{' ' * bool(margin)}{start}")
    return found | {f"{end}$" for end in re.findall(r"(?m)(\w|[^\w\s]{1,2})[ \t]*$", sample)}


OTHERS = st.characters(exclude_characters="\x7f")  # it stands for a letter
LINES = st.lists(
    st.text("ab_Z09 \t(.:={é“\xa0", max_size=40) | st.text(OTHERS, max_size=20), max_size=6
)


@given(LINES | st.sampled_from([text.split("\n") for _, text in TEXTS]))
def test_tokens_are_those_of_plain_patterns(lines: list[str]) -> None:
    sample = "\n".join(lines)
    known = plain_tokens(sample)
    assert {each for each in tokens_of(sample) if each.isascii() and each.isprintable()} == {
        each for each in known if each.isascii() and each.isprintable()
    }


def test_a_text_of_many_foreign_letters_has_its_ascii_tokens() -> None:
    foreign = "".join(map(chr, range(0x4E00, 0x4E60)))
    assert {"name", "name:", "^name"} <= tokens_of(f"name: {foreign}\n“{foreign}”")


def test_a_table_of_numbers_is_no_message_that_repeats() -> None:
    rows = "".join(f"        ({n * 31}, {n * 37}, 0),\n" for n in range(60))
    text = f"cells = Table(\n    [\n{rows}    ],\n    marks={{'\u2716', '\u2717'}},\n)\n"
    assert detect_language(text) != "log"
    alike = "".join(f"case {n}: value differs by {n * 7} \u2716\n" for n in range(9))
    assert detect_language(alike) == "log"


def test_a_paragraph_on_one_line_is_prose() -> None:
    """Its line is longer than a sign of anything may be, and a piece of it ends within a sentence."""
    text = (
        "Boil Hall (also Kettle-Steam-North Kettle Hall), founded in 1969 by A. B. Lid (born 6 May "
        "1925), is the largest hall (by area, 1.2 km, and by seats, 3,200) in Potter, Ohio, USA. It "
        "holds cups, pots, pans, and, since 1985, kettles: No. 1, No. 2, and No. 3. Its doors are "
        "red, its walls are white, and its roof (by C. D. Steam, 1971) is gray. In 1990, 1992, and"
    )
    assert detect_language(text) is None
    assert detect_language(f"{text} 1994, it was closed.") is None


def test_sentences_of_comments_are_no_prose() -> None:
    comments = (
        "// The lid is closed by hand. It whistles.\n// Nobody opens the lid of a kettle.\n" * 3
    )
    program = "export function f(x) {\n  const y = x;\n  return y;\n}\n"
    assert detect_language(f"{comments}{program}") == "javascript"


def test_rows_that_a_brace_closes_are_no_table() -> None:
    rules = "".join(f".lid{n} ~ .pot:where(.s{n}) {{ color: green; }}\n" for n in range(9))
    assert detect_language(rules) not in ("csv", "tsv")
    rows = "".join(f"INSERT INTO lids (id, name) VALUES ({n}, 'n{n}');\n" for n in range(30))
    assert detect_language(rows.replace("\n", "\r\n")) not in ("csv", "tsv")
    assert detect_language("".join(f"{n}\tlid\t{{}}\n" for n in range(9))) == "tsv"


def test_a_long_script_in_yaml_leaves_it_yaml() -> None:
    steps = "".join(f"          make t{n}\n          cp build/a{n} dist\n" for n in range(30))
    head = "name: CI\non: push\njobs:\n  build:\n    steps:\n      - run: |\n"
    assert detect_language(head + steps) == "yaml"


def test_comments_of_settings_are_no_headings() -> None:
    comment = "# The pool of kettles\n# is opened by its lid.\n# Nobody waits for it.\n\n"
    assert detect_language(f"{comment}pool all lids 10/8 kettle\n" * 9) != "markdown"


def test_a_list_of_paths_is_no_program() -> None:
    text = "*.o\n*.a\n*.lo\n*.so.*\ntags\n\njq\n!tests/modules/lib/\n/build/\n*~\n.*.sw[a-p]\n*.gcda\n*.gcno\n"
    assert detect_language(text * 3) == "listing"


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("listing", ["total 9", *(f"-rw-r--r-- 1 ada ada {n}77 Feb {n} kettle_{n}" for n in range(9))]),
        ("listing", [f"├── pool{n}\n│   └── lid_{n}.py" for n in range(9)]),
        ("listing", [f"src/pool{n}.go\n12-\tlid := take({n})\n13:\tif lid == nil {{\n" for n in range(9)]),
        ("listing", [f"   {n + 90} | let lid = pool.take({n});" for n in range(20)]),
        ("log", [f'openat(AT_FDCWD, "/lib/a{n}.so", O_RDONLY) = {n}\nclose({n}) = 0' for n in range(9)]),
        ("log", [f"[ {n}20.118812] usb 1-1: kettle {n}" for n in range(9)]),
        ("log", [f"[01/03/2026, 10:0{n}:11] Ada: kettle, lid" for n in range(9)]),
        ("log", [*(f"warning: unused variable: `k{n}`\n --> src/a.rs:{n}:9\n  |\n{n} |  let k{n} = take();\n" for n in range(9)), "error: could not compile `kettle`"]),
        ("log", [f"mmap(NULL, {n}, PROT_READ) = 0x7f{n}\nopen(\"a{n}\") = -1 ENOENT (No such file)\nexit({n}) = ?" for n in range(9)]),
        ("listing", [f"f{n}(x) = {n}x + {n + 1}" for n in range(9)]),
        ("listing", ["+----+------+", "| Id | Name |", "+----+------+", *(f"| {n}2 | lid{n} |" for n in range(9)), "+----+------+"]),
        ("markdown", ["| Id | Name |", "| -- | :--: |", *(f"| {n}2 | lid{n} |" for n in range(9))]),
        ("listing", ["*   Trying 10.0.0.7:443...", *(f"> x-kettle-{n}: lid/{n}.0" for n in range(4)), *(f"< x-lid-{n}: full={n}; fits=1" for n in range(4))]),
        ("listing", ["Certificate:", "    Issuer: CN=R3", "    Modulus:", *(f"        20:3{n}:41:a{n}:0c:1f:9{n}:22:" for n in range(5)), *(f"        9b:3{n}:41:a{n}:0c:1f:9{n}:22:" for n in range(9))]),
        ("listing", ["The plan:", *(f'  # pool.lid{n} will be created\n  + resource "pool" "lid{n}" {{\n      + name = "lid{n}"\n      + full = (known after apply)\n    }}\n' for n in range(5)), "Plan: 5 to add, 0 to change."]),
        ("listing", [f"Package: lid{n}\nVersion: {n}.1-2+b{n}\nDepends: libc6 (>= 2.{n})\n" for n in range(5)]),
        ("yaml", [f"---\nPackage: lid{n}\nVersion: {n}.1\nDepends: libc6" for n in range(5)]),
        ("properties", [f"LID_{n}_PATH=/srv/lids.d/{n}/lid.pem" for n in range(9)]),
        ("listing", ["[+] Kernel", "------------------------", *(f"  - Checking lid {n} of pool    [ DONE {n}/9 ]\n    - Its conf.d/lid_{n}.conf [ {n}/9 ]" for n in range(9))]),
        ("fortran", ["program a", *(f"  x({n}) = {n}" for n in range(9)), "  print *, x", "end program a"]),
    ],
)  # fmt: skip
def test_what_programs_print(language: str, lines: list[str]) -> None:
    assert detect_language("\n".join(lines) + "\n") == language


def test_a_letter_that_only_a_later_python_knows_counts_as_unknown() -> None:
    """U+1C8A is a letter since Unicode 16, the stand-in of `freeze` on no Python."""
    text = "Traceback (most recent call last):\n  a\u1c8a b: 1\n\nneedle\u1c8a = 1\n"
    assert detect_language(text) == detect_language(text.replace("\u1c8a", "\U0010fffd"))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("listing", "# Logs\n*.log\nlogs/*.txt\n\n# Editors\n.idea/\n.vscode/settings.json\n*.sw[a-p]\n" * 3),
        ("listing", "# Words of a kettle.\n#\nmsgid \"\"\nmsgstr \"\"\n\"Language: fr\\n\"\n\n" + "".join(f'#: src/a.py:{n}\nmsgid "lid {n}"\nmsgstr "couvercle {n}"\n\n' for n in range(9))),
        ("markdown", "# Kettles\n\nThey boil.\n\n## Lids\n\nThey close.\n"),
        ("markdown", "".join(f"- Ada the {n}th boils\n" for n in range(9))),
        ("html", "<aside class='note'><p>A kettle</p></aside>\n"),
    ],
)  # fmt: skip
def test_comments_are_no_headings(language: str, text: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("begin", "sign", "end", "language"),
    [
        ("", "--", "", "sql"),
        ("", "//", "", "go"),
        ("", "%%", "", "erlang"),
        ("", ";;", "", "lisp"),
        ("/*\n", " *", " */\n", "go"),
    ],
)
def test_a_long_licence_does_not_hide_a_program(
    begin: str, sign: str, end: str, language: str
) -> None:
    said = "The kettle is lent as it is and no one answers for what it boils in week"
    licence = "".join(f"{sign} {said} {n}.\n" for n in range(60))
    assert detect_language(f"{begin}{licence}{end}\n{dict(TEXTS)[language]}") == language
