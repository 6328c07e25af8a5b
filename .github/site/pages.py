"""A hook of MkDocs: the pages stand where they do in the repository, so that their links hold.

MkDocs takes pages from one folder below its configuration's; ours lie beside what they describe.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Give each tracked page outside of the tests, and each file that one of them links to."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    wanted = {name for name in listed if not name.startswith("tests/")}
    pages = sorted(wanted)
    while pages:
        page = ROOT / pages.pop()
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            name = target.relative_to(ROOT).as_posix()
            if target.is_file() and name not in wanted:
                wanted.add(name)
                pages += [name] if name.endswith(".md") else []
    ours = [File.generated(config, name, abs_src_path=str(ROOT / name)) for name in sorted(wanted)]
    for file in ours:
        file.dest_uri = file.dest_uri.removeprefix(".")  # hosts leave out hidden folders
    return Files([*ours, *(file for file in files if not file.is_documentation_page())])
