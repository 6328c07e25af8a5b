"""The files of a project to start from: one layout, one profile, items to try them on, and golden cases."""

from __future__ import annotations

import json
from pathlib import Path

from . import layouts, profiles
from .drafts import MODELINE, Draft

_ITEMS = """[
  {"kind": "code", "name": "digest", "path": "src/hash.py", "start_line": 3, "end_line": 4, "score": 0.9,
   "content": "def digest(data):\\n    return sha256(data)", "metadata": {"author": "Ada"}},
  {"kind": "man_page", "name": "sha256sum(1)", "score": 0.8, "content": "compute and check SHA256 digests"}
]
"""
_LAYOUT = """\
# The settings of the layout `mine`; templates/README.md of promptforge lists the keys.
description: "Each piece under its name and place"
# Where this folder has no template, the one of `context` is used.
base: context
"""
_ITEM = """\
{# One item: its name, where it is from, its content. Uses: item. #}
### {{ item.name or item.title }}{% if item.path %} in {{ item.path }}{% endif +%}
{% if item.metadata.author %}
By {{ item.metadata.author }}
{% endif %}
{{ item.content | fence(item.language) }}
"""
_PROFILE = """\
description: "Ours"
# `promptforge list profiles` names those to build on: extends: claude
extends: none
layout: mine
max_tokens: 2000
"""
_CASES = """\
# What this project prints. `promptforge test` renders each case and compares; after a change that is meant,
# `promptforge test --update` writes the new texts here, to be read before they are kept.
items: ../items.json
templates: ../templates
profiles: ../profiles
options: {profile: mine}

cases:
  - name: both items
    text: |
      ## Context

      ### digest in src/hash.py
      By Ada
      ```python
      def digest(data):
          return sha256(data)
      ```

      ### sha256sum(1)
      ```
      compute and check SHA256 digests
      ```

  - name: the better one where there is little room
    options: {max_tokens: 40}
    tokens_at_most: 40
    contains: [digest]
    statuses: {digest: included, sha256sum(1): dropped}
"""


def project(folder: Path) -> list[Draft]:
    """Return the files of a project in `folder`."""
    schemas = {"templates/layout.schema.json": layouts.schema(), "profiles/schema.json": profiles.schema()}
    texts = {
        "items.json": _ITEMS,
        "templates/mine/layout.yaml": f"{MODELINE}../layout.schema.json\n{_LAYOUT}",
        "templates/mine/item.md.j2": _ITEM,
        "profiles/mine.yaml": f"{MODELINE}schema.json\n{_PROFILE}",
        "tests/mine.yaml": _CASES,
        **{name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas.items()},
    }
    return [Draft(folder / name, text) for name, text in texts.items()]
