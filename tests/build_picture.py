"""Draw `.github/terminal.svg`, the picture of the README, from a real run: `python -m tests.build_picture`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent.parent / ".github" / "terminal.svg"
ITEMS = """\
{"kind": "code", "path": "src/greet.py", "start_line": 1, "end_line": 2, "score": 0.9, "content": "def greet(name):\\n    return f\\"Hello, {name}\\""}
{"kind": "error", "name": "crash", "score": 0.8, "content": "```\\n# not a heading\\n```"}
{"kind": "document", "name": "guide.md", "score": 0.7, "content": "Greetings are polite. They begin with a capital letter. They end without a full stop. They are short, since nobody reads a long greeting to its end."}
"""
COMMAND = ("render", "items.jsonl", "--layout", "context", "--max-tokens", "75")
LINE, COLUMN, MARGIN = 19, 8.43, 18
"""Height of a line and width of a character at 14 pixels, and the space around them, in pixels."""


def text(line: str) -> str:
    """Escape a line. Browsers make one of several spaces in an SVG, but not of no-break ones."""
    return escape(line).replace("  ", "\N{NO-BREAK SPACE}" * 2)


def colour(line: str) -> str:
    if line.startswith("$"):
        return "#7ee787"
    if line.startswith("#"):
        return "#79c0ff"
    if line.startswith("`"):
        return "#8b949e"
    return "#e6edf3"


def draw() -> str:
    """Return the picture: the command, its text, and the note on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "items.jsonl").write_text(ITEMS, encoding="utf-8")
        command = [sys.executable, "-m", "promptforge", *COMMAND]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    typed = f"$ promptforge {' '.join(COMMAND)}"
    shown = [typed, *ran.stdout.splitlines(), "", *ran.stderr.splitlines()]
    wide = round(2 * MARGIN + COLUMN * max(map(len, shown)))
    high = 2 * MARGIN + LINE * len(shown)
    rows = [
        f'<text x="{MARGIN}" y="{MARGIN + LINE * place + 14}" fill="{colour(line)}">{text(line)}</text>'
        for place, line in enumerate(shown)
        if line
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" role="img"'
        ' aria-label="A terminal: three items in 75 tokens" font-family="ui-monospace, Menlo,'
        ' Consolas, monospace" font-size="14">'
    )
    return "\n".join(
        [head, f'<rect width="{wide}" height="{high}" rx="8" fill="#0d1117"/>', *rows, "</svg>", ""]
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
