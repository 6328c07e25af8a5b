"""`promptforge rule`: explain a code, and the way out."""

from __future__ import annotations

import click

from ..codes import CODES, explain
from ..errors import quote, sure
from .names import codes
from .output import write, write_json


@click.command("rule")
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=codes)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(codes: tuple[str, ...], as_json: bool) -> None:
    """Explain codes such as PF802; without any, list them all."""
    wanted = [code.upper() for code in codes]
    for code in wanted:
        if code not in CODES:
            hint = "; `promptforge rule` lists them"
            if near := sure(code, CODES):
                hint = f'; did you mean "{near}"?'
            raise click.UsageError(f"there is no code {quote(code)}{hint}")
    if as_json:
        write_json({"codes": [{"code": code, **CODES[code]._asdict()} for code in wanted or CODES]})
    elif wanted:
        write("\n".join(explain(code) for code in wanted), None)
    else:
        write(
            "".join(f"{code}  {rule.severity:<7}  {rule.title}\n" for code, rule in CODES.items()),
            None,
        )
