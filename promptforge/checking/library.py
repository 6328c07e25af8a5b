"""The template files there are, each read and parsed once; what they draw on, and what they use of what they see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jinja2 import nodes

from ..errors import PromptForgeError, nearest
from ..templates import Templates
from ..templating.excerpts import offset, word_at
from ..templating.placing import references, syntax_of_name
from . import weight
from .findings import Edit, Finding, Text
from .parsing import Parsed, parse
from .scopes import Scope, Walk
from .shapes import ANY, Shape

_NAMED = re.compile(r"[\"']([\w./-]+\.j2)[\"']")
MOST_WALKS = 2000
"""How many different views of templates are looked at for one root; pieces that include each other twice make many."""


class Volume(NamedTuple):
    """One template, read."""

    name: str
    text: Text
    shipped: bool
    parsed: Parsed
    links: tuple[tuple[nodes.Node, int, str], ...]
    """What it extends, includes and imports from: the node, the place of the name, the name."""


class Library:
    """All templates of some folders."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self.names = templates.names()
        self.unreadable: list[tuple[str, str]] = []
        """Files that cannot be read, and why."""
        self.findings: list[Finding] = []
        self._volumes: dict[str, Volume | None] = {}
        self._walked: dict[tuple[str, tuple[str, ...]], dict[str, Scope]] = {}
        self._drawn: dict[str, set[str]] = {}
        self._left = MOST_WALKS
        self._circles: set[str] = set()
        """Templates that draw on themselves."""
        self._weights: dict[str, int] = {}

    def volume(self, name: str) -> Volume | None:
        """Return the template of a name, parsed; `None` where it is not there or cannot be read."""
        if name not in self._volumes:
            self._volumes[name] = self._read(name)
        return self._volumes[name]

    def _read(self, name: str) -> Volume | None:
        found = self.templates.find(name)
        if found is None:
            return None
        try:
            text, _ = self.templates.source(name)
        except PromptForgeError as error:
            self.unreadable.append((str(found.path), str(error).removeprefix(f"{found.path}: ")))
            return None
        parsed = parse(text, name)
        links: list[tuple[nodes.Node, int, str]] = []
        if parsed.root is not None:
            links = [(node, offset(at), target) for node, at, target in references(parsed.root)]
        return Volume(name, Text(found.path, text), found.shipped, parsed, tuple(links))

    def drawn(self, name: str) -> set[str]:
        """Return the names of a template and of all that it may draw on, told without parsing: rather too many."""
        if name not in self._drawn:
            found = self._drawn[name] = {name}
            waiting = [name]
            while waiting:
                for other in self._named(waiting.pop()) - found:
                    found.add(other)
                    waiting.append(other)
        return self._drawn[name]

    def _named(self, name: str) -> set[str]:
        try:
            return set(_NAMED.findall(self.templates.source(name)[0]))
        except PromptForgeError:
            return set()

    def weight(self, name: str) -> int:
        """Return how much a template does at the most, with all that it draws on; see `weight.MOST`."""
        if name not in self._weights:
            self._weights[name] = weight.MOST  # one that draws on itself
            volume = self.volume(name)
            root = volume.parsed.root if volume is not None else None
            try:
                self._weights[name] = weight.weigh(root, self.weight) if root is not None else 0
            except RecursionError:
                return weight.MOST
        return self._weights[name]

    # --- what is wrong with one file --------------------------------------------------------------------------------

    def read(self, name: str) -> None:
        """Note what is wrong with a template as a text of the language, and with what it draws on."""
        volume = self.volume(name)
        if volume is None:
            return
        text = volume.text
        self.findings += [text.problem(p) for p in volume.parsed.problems]
        for node, at, target in volume.links:
            length = word_at(text.text, at)
            other = self.volume(target)
            if other is None:
                if self.templates.find(target) is None:
                    hint = nearest(target, self.names)
                    self.findings.append(
                        text.at(at, length, "PF805", f'there is no template "{target}"{hint}')
                    )
            elif self._leads(other, str(text.path)):
                self.findings.append(self._circle(volume, at, length, target))
            elif isinstance(node, nodes.FromImport) and other.parsed.root is not None:
                macros = {macro.name for macro in other.parsed.root.find_all(nodes.Macro)}
                for word in (n if isinstance(n, str) else n[0] for n in node.names):
                    if word not in macros:
                        place = max(text.text.find(word, at + length), at)
                        message = f'"{target}" has no macro "{word}"{nearest(word, macros)}'
                        self.findings.append(text.at(place, len(word), "PF805", message))
        if volume.parsed.root is not None:
            self.findings += _outside(volume)

    def _leads(self, start: Volume, path: str) -> bool:
        """Whether a template draws on the file `path`, itself or by way of others."""
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            volume = waiting.pop()
            if str(volume.text.path) == path:
                return True
            if str(volume.text.path) in seen:
                continue
            seen.add(str(volume.text.path))
            waiting += [
                other for _, _, target in volume.links if (other := self.volume(target)) is not None
            ]
        return False

    def _circle(self, volume: Volume, at: int, length: int, target: str) -> Finding:
        self._circles.add(volume.name)
        original = self.templates.find(f"shipped/{target}")
        if original is not None and not volume.shipped and target == volume.name:
            edit = Edit(at + 1, at + 1, "shipped/")
            message = f'this is the file itself; the original is "shipped/{target}"'
            return volume.text.at(at, length, "PF807", message, edit)
        if target == volume.name:
            return volume.text.at(
                at,
                length,
                "PF807",
                "this is the file itself; name the one it builds on, or take it out",
            )
        way_out = (
            f'the original is "shipped/{target}"'
            if original is not None
            else "one of them must do without"
        )
        return volume.text.at(
            at, length, "PF807", f'"{target}" draws on this file in turn, in a circle; {way_out}'
        )

    # --- what a template uses of what it sees -----------------------------------------------------------------------

    def walk(
        self, name: str, scope: Mapping[str, Shape], within: Sequence[str] = ()
    ) -> dict[str, Scope]:
        """Walk a template, and those it draws on, that sees `scope`; return what its blocks see, by their names."""
        key = (name, tuple(sorted(f"{word} {id(shape)}" for word, shape in scope.items())))
        if not within:
            self._left = MOST_WALKS
        self._left -= 1
        if key in self._walked or name in within or self._left < 0:
            return self._walked.get(key, {})
        self._walked[key] = {}
        volume = self.volume(name)
        if volume is None or volume.parsed.root is None:
            return {}
        inside = (*within, name)
        root = volume.parsed.root
        parent = next(
            (target for node, _, target in volume.links if isinstance(node, nodes.Extends)), None
        )
        outer: dict[str, Scope] = {}
        if parent is not None:
            if not self._known_above(volume):  # what its blocks would see is not known
                return {}
            bound = {n.name: ANY for n in root.find_all(nodes.Name) if n.ctx == "store"}
            outer = self.walk(parent, {**bound, **scope}, inside)
        for node, _, target in volume.links:
            if isinstance(node, nodes.FromImport):
                self.walk(target, {}, inside)

        def follow(target: str, seen: Mapping[str, Shape]) -> None:
            self.walk(target, seen, inside)

        walk = Walk(volume.text.text, syntax_of_name(name), follow, outer)
        walk.run(root, scope)
        self.findings += [volume.text.problem(p) for p in walk.problems]
        if parent is not None:
            self._blocks(volume, outer)
        self._walked[key] = {**outer, **walk.blocks}
        return self._walked[key]

    def _known_above(self, volume: Volume) -> bool:
        """Whether all templates that one extends are there, can be read, and do not lead back to themselves."""
        seen = {str(volume.text.path)}
        links = volume.links
        while parent := next(
            (target for node, _, target in links if isinstance(node, nodes.Extends)), None
        ):
            above = self.volume(parent)
            if above is None or above.parsed.root is None or str(above.text.path) in seen:
                return False
            seen.add(str(above.text.path))
            links = above.links
        return True

    def _blocks(self, volume: Volume, outer: Mapping[str, Scope]) -> None:
        """Note blocks that no parent has, and so nobody shows."""
        root = volume.parsed.root
        assert root is not None
        if volume.name in self._circles:  # what is above it is not known
            return
        for block in root.find_all(nodes.Block):
            if block.name in outer or not any(block is node for node in root.body):
                continue
            at = offset(block)
            place = max(volume.text.text.find(block.name, at + 5), at)
            message = f'no template above has a block "{block.name}", so it is not shown{nearest(block.name, outer)}'
            self.findings.append(volume.text.at(place, len(block.name), "PF813", message))


def _outside(volume: Volume) -> Iterator[Finding]:
    """Yield what stands outside the blocks of a template that extends another."""
    root, text = volume.parsed.root, volume.text
    assert root is not None
    begun = False
    if not any(isinstance(node, nodes.Extends) for node in root.body):
        return
    for node in root.body:
        begun = begun or isinstance(node, nodes.Extends)
        if not isinstance(node, nodes.Output):
            continue
        for child in node.nodes:
            at = offset(child)
            data = child.data if isinstance(child, nodes.TemplateData) else "x"
            start = at + len(data) - len(data.lstrip())
            if data.strip() and begun:
                message = "this stands outside of the blocks, so it is not printed"
                yield text.at(start, len(data.strip().split("\n")[0]), "PF812", message)
            elif data.strip():
                yield text.at(
                    start,
                    1,
                    "PF812",
                    "this stands before the page that is extended, and is printed there",
                )
            elif not begun and data:
                message = "the blank line before {% extends %} is printed; {% extends %} follows the comment at once"
                yield text.at(at, 1, "PF812", message, Edit(at, at + len(data), ""))
