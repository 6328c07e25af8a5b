"""Complete names in a shell; `promptforge completion` prints the script for it.

Names are found by listing folders. Completion must answer at once, so no engine is loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from ..files import YAML_SUFFIXES, format_of, shipped_folder
from .output import write_output

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _folders(context: click.Context, kind: str) -> Iterator[Path]:
    """Yield folders of templates or profiles: of the line so far, of the environment, shipped."""
    yield from map(Path, context.params.get(kind) or ())
    named = os.environ.get(f"PROMPTFORGE_{kind.upper()}", "").split(os.pathsep)
    yield from map(Path, filter(None, named))
    yield shipped_folder(kind)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def _layout_files(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield layout and file name of each page and each `layout.yaml`."""
    for folder in _folders(context, "templates"):
        for entry in _listed(folder):
            if not entry.name.startswith(("_", ".")) and entry.is_dir():
                names = (file.name for file in _listed(Path(entry.path)))
                yield from ((entry.name, name) for name in names if name.startswith("layout."))


def complete_layout(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a layout."""
    return _some({layout for layout, _ in _layout_files(context)}, begun)


def complete_format(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a format."""
    names = {name for _, name in _layout_files(context) if name.endswith(".j2")}
    return _some({format_of(name[len("layout.") : -len(".j2")]) for name in names}, begun)


def complete_profile(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a profile."""
    found = (entry.name for folder in _folders(context, "profiles") for entry in _listed(folder))
    return _some({Path(name).stem for name in found if name.endswith(YAML_SUFFIXES)}, begun)


def complete_prompt(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the name of a set of templates for whole prompts."""
    folders = (_listed(folder / "prompt") for folder in _folders(context, "templates"))
    return _some({entry.name for listed in folders for entry in listed if entry.is_dir()}, begun)


def complete_tokenizer(
    _context: click.Context, _parameter: click.Parameter, begun: str
) -> list[str]:
    """Complete the name of a tokenizer."""
    from ..tokenizers.registry import list_tokenizers  # it loads none of them

    return _some({name for name, _ in list_tokenizers() if name != "file:PATH"}, begun)


def complete_source(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the argument of `show`: a layout, a profile, a prompt set or a template."""
    files = {f"prompt/{name}" for name in complete_prompt(context, parameter, "")}
    lead = begun.rpartition("/")[0]
    if lead and ".." not in lead:
        for folder in _folders(context, "templates"):
            files |= {f"{lead}/{entry.name}" for entry in _listed(folder / lead)}
    names = complete_layout(context, parameter, begun) + complete_profile(context, parameter, begun)
    return names + _some(files, begun)


def complete_original(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Complete the original that `new` copies."""
    originals: dict[str, Complete] = {**COMPLETIONS, "profile": complete_profile}
    del originals["tokenizer"]
    # The thing is not known yet where the line ends in --from: then every name is offered.
    thing = context.params.get("thing")
    chosen = [each for name, each in originals.items() if thing not in originals or name == thing]
    return [name for complete in chosen for name in complete(context, parameter, begun)]


def complete_code(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Complete a code."""
    # The keys are found without a parser: reading the YAML would take 40 ms.
    text = (Path(__file__).parents[1] / "lint" / "codes.yaml").read_text(encoding="utf-8")
    return _some(re.findall(r"(?m)^(PF\d{3}):", text), begun.upper())


def _some(names: Iterable[str], begun: str) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))


COMPLETIONS: dict[str, Complete] = {
    "layout": complete_layout,
    "format": complete_format,
    "prompt": complete_prompt,
    "tokenizer": complete_tokenizer,
}
"""Option → completion of its value."""

_SCRIPT_LINES = {
    "bash": 'eval "$(promptforge completion bash)"   # in ~/.bashrc; bash 4.4 or later',
    "zsh": 'eval "$(promptforge completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "promptforge completion fish | source   # in ~/.config/fish/config.fish",
}
"""Shell → the line for its start-up file."""


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_SCRIPT_LINES)))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete commands, options and names.

    \b
      eval "$(promptforge completion bash)"     in ~/.bashrc
      eval "$(promptforge completion zsh)"      in ~/.zshrc, after compinit
      promptforge completion fish | source      in ~/.config/fish/config.fish
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    script = shell_class(ctx.find_root().command, {}, "promptforge", "_PROMPTFORGE_COMPLETE")
    write_output(f"# {_SCRIPT_LINES[shell]}\n{script.source_template % script.source_vars()}")
