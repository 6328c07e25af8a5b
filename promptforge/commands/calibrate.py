"""`promptforge calibrate`: the factor by which a tokenizer that is not at hand exceeds one that is."""

from __future__ import annotations

import os
from typing import Any

import click
import msgspec

from ..calibration import ENOUGH, Calibration, calibrate
from ..diagnostics import Diagnostics
from ..errors import ItemError, StrictError
from ..sources import pairs as files
from .output import say, write, write_json
from .tables import shown


@click.command("calibrate")
@click.argument("pairs", metavar="PAIRS")
@click.option(
    "--base", metavar="NAME", default="o200k_base", help="What counts here. [default: o200k_base]"
)
@click.option(
    "--strict", is_flag=True, help="Fail (exit 1) where a line is bad or the pairs are too few."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(pairs: str, base: str, strict: bool, as_json: bool) -> None:
    """Work out a factor from texts whose true counts are known, for a tokenizer that is not at hand.

    PAIRS is a file of lines such as {"text": "...", "tokens": 7}; `-` is standard input. The true counts come from a
    provider's counting endpoint, or from the usage that its answers report.
    """
    diagnostics, where = Diagnostics(), "<stdin>" if pairs == "-" else shown(pairs)
    found = files.load(pairs, diagnostics=diagnostics, workspace=os.curdir)
    if not found:
        say(diagnostics)
        raise ItemError(
            'no pair in it: expected lines such as {"text": "…", "tokens": 7}', where=where
        )
    result = calibrate(((pair.text, pair.tokens) for pair in found), base=base)
    worst = found[result.worst]
    if not result.enough:
        message = f"{result.pairs} {'pair is' if result.pairs == 1 else 'pairs are'} few: it takes {ENOUGH} to be 95 %"
        diagnostics.add(
            "PF502", f"{message} sure that 95 % of texts like them take no more", where=where
        )
    say(diagnostics)
    if strict and (grave := [d for d in diagnostics if d.severity != "info"]):
        raise StrictError(
            f"{len(grave)} to warn of, the first {grave[0].code}", diagnostics=tuple(grave)
        )
    if as_json:
        facts: dict[str, Any] = msgspec.to_builtins(result)
        write_json({**facts, "worst": worst.where, "tokenizer": result.tokenizer})
    else:
        write(_told(result, worst), None)


def _told(found: Calibration, worst: files.Pair) -> str:
    fitted = f"true = {found.slope:.3f} * {found.base} {'-' if found.intercept < 0 else '+'} {abs(found.intercept):.1f}"
    lines = [
        f"pairs   {found.pairs:,}",
        f"ratio   mean {found.mean:.3f}, spread {found.spread:.3f}, from {found.least:.3f} to {found.largest:.3f}",
        f"line    {fitted}",
        f"worst   {shown(worst.where)}: {worst.tokens:,} tokens, {len(worst.text):,} characters",
    ]
    if found.constant:
        lines.append(
            f"frame   {found.constant} tokens of each text are taken for the frame of its message: take them off"
        )
        lines.append("        max_tokens, or put them into reserve")
    lines.append(
        f"more    one text like these in about {found.pairs + 1:,} takes more than the factor says"
    )
    return "\n".join([*lines, "", f"tokenizer: {found.tokenizer}", ""])
