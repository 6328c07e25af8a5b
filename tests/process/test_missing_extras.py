"""Where a framework is not installed: what is said, and that nothing else minds."""

from __future__ import annotations

import pytest
from commandline import python

from promptforge.errors import pip_install

BRIDGES = {
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index", "llama-index"),
    "haystack": ("haystack", "haystack"),
    "mcp": ("mcp", "mcp"),
}


@pytest.mark.slow
@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_bridge_without_its_framework_says_what_to_install(bridge: str) -> None:
    library, extra = BRIDGES[bridge]
    script = f"""
import sys
sys.modules[{library!r}] = None
try:
    import promptforge.integrations.{bridge}
except ImportError as error:
    print(error)
"""
    ran = python("-c", script)
    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"this bridge needs {library}") and ran.out.endswith(
        f"{pip_install(extra)}\n"
    )


@pytest.mark.slow
def test_the_command_says_so_too() -> None:
    script = (
        "import sys; sys.modules['mcp'] = None; "
        "from promptforge.cli.main import main; main(['mcp'])"
    )
    ran = python("-c", script)
    assert (
        (ran.code, ran.out) == (2, "")
        and pip_install("mcp") in ran.err
        and "Traceback" not in ran.err
    )


@pytest.mark.slow
def test_no_framework_is_loaded_unless_its_bridge_is_asked_for() -> None:
    script = """
import sys
import promptforge as pf, promptforge.integrations, promptforge.integrations.bridge
pf.render([{"page_content": "x = 1", "metadata": {}}])
loaded = {name.split(".")[0] for name in sys.modules}
print(sorted(loaded & {"langchain_core", "llama_index", "haystack", "mcp", "pydantic"}))
"""
    assert python("-c", script).out == "[]\n"
