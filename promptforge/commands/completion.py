"""`promptforge completion`: what a shell needs to complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .output import write

_SHELLS = {
    "bash": 'eval "$(promptforge completion bash)"   # in ~/.bashrc; bash 4.4 or later',
    "zsh": 'eval "$(promptforge completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "promptforge completion fish | source   # in ~/.config/fish/config.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script by which a shell completes commands, options and the names of layouts, profiles and the like.

    \b
      eval "$(promptforge completion bash)"     in ~/.bashrc
      eval "$(promptforge completion zsh)"      in ~/.zshrc, after compinit
      promptforge completion fish | source      in ~/.config/fish/config.fish
    """  # noqa: D301  click's mark for lines that stay as they are is a backspace
    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(ctx.find_root().command, {}, "promptforge", "_PROMPTFORGE_COMPLETE")
    write(f"# {_SHELLS[shell]}\n{made.source_template % made.source_vars()}", None)
