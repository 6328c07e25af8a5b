"""Components of a page: scripts in their language, with their tags; the rest is markup."""

from __future__ import annotations

import pytest
from program_pieces import whole
from shipped_words import marks as shipped_marks

from promptforge.trimming import component, syntax_tree
from promptforge.trimming.kinds import Trimmers
from promptforge.trimming.pieces import Pieces, outline_of

VUE = """\
<script setup lang="ts">
import { ref } from "vue";
const props = defineProps<{ id: string }>();
defineEmits(["gone"]);
function go(event: MouseEvent) {
  console.log(event);
  ref("x");
}
</script>

<template>
  <div @click="go">
    {{ props.id }}
  </div>
</template>
<style>
.x {
  color: red;
}
</style>
"""
VUE_OUTLINE = """\
<script setup lang="ts">
import { ref } from "vue";
const props = defineProps<{ id: string }>();
defineEmits(["gone"]);
function go(event: MouseEvent) {
  // …
}
</script>
<template>
  <!-- … -->
</template>
"""
SVELTE = """\
<script>
  export let name;
  let count = 0;
  function more() {
    count += 1;
    log(count);
  }
</script>
<h1>{name}</h1>
{#if count}
  <p>{count}</p>
{/if}
"""
SVELTE_OUTLINE = """\
<script>
  export let name;
  let count = 0;
  function more() {
    // …
  }
</script>
"""
ASTRO = """\
---
import Layout from "./layout.astro";
const { title } = Astro.props;
async function load() {
  a();
  b();
}
---
<Layout>
  <h1>{title}</h1>
</Layout>
"""
ASTRO_OUTLINE = """\
---
import Layout from "./layout.astro";
const { title } = Astro.props;
async function load() {
  // …
}
---
"""


@pytest.mark.parametrize("parsed", [True, False])
@pytest.mark.parametrize(
    ("language", "text", "outline"),
    [
        ("vue", VUE, VUE_OUTLINE),
        ("svelte", SVELTE, SVELTE_OUTLINE),
        ("astro", ASTRO, ASTRO_OUTLINE),
    ],
)
def test_an_outline_keeps_the_script_with_its_tags(
    language: str, text: str, outline: str, parsed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not parsed:
        monkeypatch.setattr(syntax_tree, "_load_grammar", lambda name: None)
    trimmers = Trimmers(shipped_marks("[cut]"))
    assert outline_of(text, "code", language, trimmers) == outline


@pytest.mark.parametrize(("language", "text"), [("vue", VUE), ("svelte", SVELTE), ("astro", ASTRO)])
def test_marks_of_a_script_are_comments_of_its_language(language: str, text: str) -> None:
    pieces = component.divide(text, marks=shipped_marks("[cut]"), language=language)
    assert isinstance(pieces, Pieces) and whole(pieces) == text
    for variant in pieces.variants():
        head, _, rest = variant.text.partition("\n")
        assert head.startswith("<!--")
        script = rest.partition("</script>")[0] if language != "astro" else rest.split("---")[1]
        assert "<!--" not in script.partition("<script")[2]


def test_a_script_that_is_not_closed_and_a_page_without_one() -> None:
    text = "<script>\nlet a = 1;\nfunction f() {\n  a();\n  b();\n}\n"
    pieces = component.divide(text, marks=shipped_marks("[cut]"), language="vue")
    assert pieces is not None and whole(pieces) == text
    page = component.divide("<p>a</p>\n", marks=shipped_marks("[cut]"), language="vue")
    assert page is None


@pytest.mark.parametrize("script", ["\n", "// a\n", "  // a\n\n"])
def test_a_script_without_a_statement_is_no_error(script: str) -> None:
    text = f'<script setup lang="ts">\n{script}</script>\n<template>\n  <p>a</p>\n</template>\n'
    pieces = component.divide(text, marks=shipped_marks("[cut]"), language="vue")
    assert pieces is not None and "".join(part.text for part in pieces.parts) == text
