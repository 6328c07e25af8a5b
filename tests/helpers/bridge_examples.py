"""The examples of the bridges' README, and what is installed of what they need."""

from __future__ import annotations

import re
from importlib.util import find_spec

from places import ROOT

README = (ROOT / "promptforge" / "integrations" / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^<!-- ([\w.]+) -->\n```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE
)
"""The module of the bridge, and the program."""


def is_there(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False
