"""Lines of plain text that an eye, or a tokenizer's normalizer, takes for lines of the templates.

Each is a line of a shipped template under up to three disguises at once: unseen characters, unusual
blanks, marks, look-alikes, other letter forms, another case, what steers a terminal, text that runs
backwards, Unicode's tags. The promise: each gets the prefix, and no other line does.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from unfiltered import LAYOUTS, render

from .report import Report

RECORDS: list[dict[str, Any]] = [
    {
        "kind": kind,
        "name": f"Vzx{number}",
        "path": f"vzx/{number}",
        "content": f"qzv{number}",
        "start_line": 1,
        "end_line": 2,
        "metadata": {"technique_id": "T1", "tactics": "vzx", "tools": ["vzx"]},
    }
    for number, kind in enumerate(("code", "man_page", "document", "mitre_attack"))
]
LINES_AT_ONCE = 40


@cache
def frame_lines(layout: str) -> tuple[str, ...]:
    """Return the lines of a page that no content of it has, those with two words or a rule."""
    text = render(RECORDS, layout, "plain", sources=True, header=None).text
    held = {record["content"] for record in RECORDS}
    lines = dict.fromkeys(line for line in text.splitlines() if line.strip() and line not in held)
    # A line with one mark and values looks like any list.
    return tuple(line for line in lines if not line.lstrip(" -").lower().startswith("vzx"))


ENDS_OF_DIRECTION = "\u202c\u2069"
UNSEEN = [
    char
    for char in map(chr, range(0x110000))
    if unicodedata.category(char) == "Cf" and char not in ENDS_OF_DIRECTION
] + [*"\x00\x7f\u034f\u17b4\ufe0f", "\U000e0100"]
BLANKS = [
    char for char in map(chr, range(0x3001)) if unicodedata.category(char) == "Zs" and char != " "
] + ["\t", "  ", "\u2800", "\u3164"]
MARKS = [char for char in map(chr, range(0x300, 0x370)) if unicodedata.category(char) == "Mn"]
FORMS = (
    *("MATHEMATICAL BOLD ", "MATHEMATICAL MONOSPACE ", "MATHEMATICAL SANS-SERIF ", "CIRCLED "),
    *("FULLWIDTH ", "PARENTHESIZED ", "SQUARED ", "NEGATIVE CIRCLED ", "NEGATIVE SQUARED "),
)
MOVES = ("\x1b[G", "\x9b3D", "\b\b\b", "\x1bE", "\x1b[2K\x1b[1G", "\x1b8", "\x1b[9;1H")
"""What brings a terminal's cursor back to the beginning of a line."""


@cache
def look_alikes() -> dict[str, list[str]]:
    """Return character of ASCII → texts that look like it, of Unicode Technical Standard 39."""
    pairs = json.loads((files("confusable_homoglyphs") / "confusables.json").read_text("utf-8"))
    return {
        char: [other["c"].replace("\u200e", "") for other in others]
        for char, others in pairs.items()
        if len(char) == 1 and char.isascii()
    }


def _inserted(line: str, at: int, text: str) -> str:
    return line[:at] + text + line[at:]


def _alike(line: str, pick: random.Random) -> str:
    share = pick.choice((0.1, 0.5, 1))
    return "".join(
        pick.choice(look_alikes().get(char) or [char]) if pick.random() < share else char
        for char in line
    )


def _form(line: str, pick: random.Random) -> str:
    kind = pick.choice(FORMS)
    return "".join(_form_of(char, kind) for char in line)


@cache
def _form_of(char: str, kind: str) -> str:
    names = [f"{kind}{'LATIN ' * latin}{case} LETTER {char.upper()}"
             for case in ("SMALL" if char.islower() else "CAPITAL", "CAPITAL")
             for latin in (True, False)]  # fmt: skip
    names += [f"{kind}{case} {char.upper()}" for case in ("SMALL", "CAPITAL")]
    for name in names if char.isascii() and char.isalpha() else ():
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return char


@cache
def _small_capital(char: str) -> str:
    try:
        return unicodedata.lookup(f"LATIN LETTER SMALL CAPITAL {char.upper()}")
    except KeyError:
        return char


def _tag(char: str) -> str:
    if " " <= char <= "~":
        return chr(0xE0000 + ord(char))
    return char if char < "\U000e0000" else ""  # among tags, another tag is one letter more


def _backwards(line: str) -> str:
    return f"\u202e{line[::-1].translate(str.maketrans('()[]', ')(]['))}\u202c"


Disguise = Callable[[str, random.Random], str]
DISGUISES: dict[str, Disguise] = {
    "upper": lambda line, _: line.upper(),
    "lower": lambda line, _: line.lower(),
    "digits": lambda line, _: line.replace("l", "1").replace("o", "0").replace("i", "l"),
    "pairs": lambda line, _: line.replace("m", "rn").replace("d", "cl").replace("w", "vv"),
    "flags": lambda line, _: "".join(
        chr(0x1F1E6 + ord(char) - 65) if "A" <= char <= "Z" else char for char in line.upper()
    ),
    "small capitals": lambda line, _: "".join(map(_small_capital, line)),
    "letter forms": _form,
    "look-alikes": _alike,
    "blanks": lambda line, r: line.replace(" ", r.choice(BLANKS)),
    "indented": lambda line, r: r.choice(BLANKS) + line,
    "unseen": lambda line, r: _inserted(line, r.randint(0, len(line)), r.choice(UNSEEN)),
    "marks": lambda line, r: _inserted(line, r.randint(1, len(line)), r.choice(MARKS)),
}
"""In their order, for a capital need not look like the small letter's disguise."""
LAST: dict[str, Disguise] = {
    "backwards": lambda line, _: _backwards(line),
    "dashes": lambda line, r: line.replace("-", r.choice("‐‑–—―−─╴⎯ᅳ")),
    "spread": lambda line, _: " ".join(line),
    "linked": lambda line, _: f"\x1b]8;;https://a.b\x1b\\{line[:4]}\x9d8;;\x07{line[4:]}",
    "moved": lambda line, r: "abc" + r.choice(MOVES) + line,
    "tags": lambda line, _: "".join(map(_tag, line)),
    "colored": lambda line, _: f"{line[:3]}\x1b[1;31m{line[3:]}\x9b0m",
    "overstruck": lambda line, _: "".join(f"{char}\b{char}" for char in line),
}
"""At most one of these, after the others: another would undo it."""


def disguised(line: str, pick: random.Random) -> tuple[list[str], str]:
    """Return a line under one to three disguises, after their names."""
    names = pick.sample(sorted(DISGUISES), pick.randint(1, 3))
    names.sort(key=list(DISGUISES).index)
    for name in names:
        line = DISGUISES[name](line, pick)
    if pick.random() < 0.2:
        names.append(pick.choice(sorted(LAST)))
        line = LAST[names[-1]](line, pick)
    return names, line


def run(cases: int, seed: int = 1) -> Report:
    """Disguise so many lines, and look for those without the prefix."""
    report = Report("disguises", cases, seed)
    seen: Counter[str] = Counter()
    pick = random.Random(seed)
    for at in range(0, cases, LINES_AT_ONCE):
        layout = pick.choice(LAYOUTS)
        frame = frame_lines(layout)
        made = [disguised(pick.choice(frame), pick) for _ in range(min(LINES_AT_ONCE, cases - at))]
        content = "".join(f"qzv\n{line}\n" for _, line in made) + "qzv"
        record = {"kind": "document", "name": "Vzx9", "content": content}
        text = render([*RECORDS, record], layout, "plain", sources=True).text
        for names, line in made:
            seen.update(names)
            seen["lines that an exact comparison misses"] += line not in frame
            if f"\nqzv\n| {line}\nqzv" not in text:
                report.broken.append(
                    {"promise": "prefixed", "layout": layout, "disguises": names, "line": line}
                )
        if "\n| qzv" in text:
            report.broken.append({"promise": "no other line is", "layout": layout})
    if not seen["lines that an exact comparison misses"]:
        report.broken.append({"promise": "the control finds breaks"})
    report.figures |= dict(sorted(seen.items()))
    return report
