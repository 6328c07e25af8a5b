"""The words that a file or a call may use, what each takes, and what is said about everything else.

A vocabulary is read off one or more Structs: a field is `Annotated[what it takes, "what it does"]`.
So a word, its range, its message, its JSON Schema and its default are written once.
"""

from __future__ import annotations

import numbers
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import msgspec

from .errors import OptionError, ProfileError, did_you_mean, nearest, quote, show
from .escaping import label

Where = Callable[[str], str | None]
"""A word → `file:line` where it stands, or None when it stands in no file."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What one word takes."""

    name: str
    shape: Any
    """The type of the value, `None` left out."""
    default: Any
    doc: str
    """One sentence: the unit, what the default means."""
    none: Any = msgspec.UNSET
    """What `None` stands for; `UNSET` when the word does not take it."""
    none_word: bool = True
    """Whether the text `none` means None too. In a file it always does, as `query: none` means no query."""
    allow: Callable[[Any], bool] | None = None
    """A further check of a value that has the right type."""

    @property
    def choices(self) -> tuple[str, ...]:
        """The closed set of texts it takes, or takes a list of; empty when the set is open."""
        shape = (
            typing.get_args(self.shape)[0] if typing.get_origin(self.shape) is tuple else self.shape
        )
        return typing.get_args(shape) if typing.get_origin(shape) is typing.Literal else ()

    @property
    def takes(self) -> str:
        """What it takes, in words: `a whole number from 0, or none`."""
        said = _describe(self.shape)
        return said if self.none is msgspec.UNSET or "none" in self.choices else f"{said}, or none"

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the value as it stands in a file."""
        if typing.get_origin(self.shape) is tuple:  # one text alone is a list of one
            one = (
                {"enum": sorted(self.choices)}
                if self.choices
                else msgspec.json.schema(typing.get_args(self.shape)[0])
            )
            kinds: list[dict[str, Any]] = [msgspec.json.schema(self.shape), one]
        else:
            in_a_file = (
                typing.Annotated[str, msgspec.Meta(min_length=1)]
                if _bare(self.shape) is Any
                else self.shape
            )
            kinds = [_inline(msgspec.json.schema(in_a_file))]
        if self.none is not msgspec.UNSET:
            kinds.append({"type": "null"})
            takes_none = _bare(self.shape) is str and re.search(kinds[0].get("pattern", ""), "none")
            is_open_list = (
                typing.get_origin(self.shape) is tuple and not self.choices
            )  # any text is one of its members
            if self.none is None and self.none_word and not is_open_list and not takes_none:
                kinds.append({"const": "none"})
        value = {"description": self.doc, **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})}
        value["default"] = list(self.default) if isinstance(self.default, tuple) else self.default
        return value


class Vocabulary:
    """The rules of one kind of file or call, by name."""

    def __init__(
        self, noun: str, rules: Mapping[str, Rule], elsewhere: Mapping[str, str] | None = None
    ) -> None:
        self.noun = noun
        """What a word is called in messages: `option` or `key`."""
        self.rules = dict(rules)
        self.elsewhere = dict(elsewhere or {})
        """Words that people look for here and that stand elsewhere, and what to tell them."""

    def __contains__(self, name: object) -> bool:
        return name in self.rules

    def __iter__(self) -> Iterator[str]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def check(self, name: str, value: Any, where: Where | None = None) -> Any:
        """Return `value` as the word `name` keeps it: lists become tuples, `None` and `none` what they stand for.

        Raises OptionError (ProfileError with a place when `where` is given): an unknown word, a value it does not take.
        """
        rule = self.rules.get(name)
        if rule is None:
            self.refuse(name, where)
        try:
            return _checked(rule, value, where)
        except (OptionError, KeyboardInterrupt, SystemExit):
            raise
        except (
            BaseException
        ):  # an object that raises when it is merely looked at, whatever it raises
            _fail(
                f"{rule.name} takes {rule.takes}; got a value of type {quote(value)[1:-1]}",
                rule.name,
                where,
            )

    def schema(self, title: str) -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of a file of these words, for editors and for checks in CI."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": title,
            "type": "object",
            "properties": {key: rule.schema() for key, rule in self.rules.items()},
            "additionalProperties": False,
        }

    def refuse(self, name: object, where: Where | None = None) -> NoReturn:
        """Raise the error for a word that is not in the vocabulary."""
        word = str(name)[:80]
        hint = f": {self.elsewhere[word]}" if word in self.elsewhere else nearest(word, self.rules)
        _fail(f"unknown {self.noun} {quote(word)}{hint}", word, where)

    def read(self, text: str, file: str) -> tuple[dict[str, Any], Where]:
        """Return the checked `key: value` lines of a YAML text and the place of each key; `file` is what messages name.

        Raises ProfileError with `file:line`.
        """
        from .yamltext import (
            load_with_lines,
        )  # an import of promptforge that reads no file needs no YAML

        values, lines = load_with_lines(text, file)
        at = {str(path[0])[:80]: line for path, line in lines.items() if len(path) == 1}

        def where(name: str) -> str:
            return f"{file}:{at.get(name, 1)}"

        if values is not None and not isinstance(values, dict):
            raise ProfileError(
                f"a file of {self.noun}s has lines of the form `key: value`", where=f"{file}:1"
            )
        # None: nothing but comments
        return {
            name: self.check(name, value, where) for name, value in (values or {}).items()
        }, where


def rules_of(
    shape: type[msgspec.Struct],
    *,
    none: Mapping[str, str] | None = None,
    verbatim: tuple[str, ...] = (),
    allow: Mapping[str, Callable[[Any], bool]] | None = None,
) -> dict[str, Rule]:
    """Return one rule a field of `shape`: each is `Annotated`, has a default, and its module evaluates annotations.

    `none` says what None stands for where it is not None itself; `verbatim` names the fields for which the text `none`
    is a text like any other; `allow` adds checks that a type cannot say.
    """
    blank, rules = shape(), {}
    for name, annotation in shape.__annotations__.items():
        described = typing.get_args(annotation)
        inner, nullable = _without_none(described[0])
        if len(described) > 2:  # Annotated[Annotated[int, range], text] arrives flat
            inner = typing.Annotated[(inner, *described[1:-1])]
        stands_for: Any = (none or {}).get(name, None if nullable else msgspec.UNSET)
        rules[name] = Rule(
            name=name,
            shape=inner,
            default=getattr(blank, name),
            doc=described[-1],
            none=stands_for,
            none_word=name not in verbatim,
            allow=(allow or {}).get(name),
        )
    return rules


def _checked(rule: Rule, value: Any, where: Where | None) -> Any:
    if value.__class__ is str and value == "none" and (rule.none_word or where is not None):
        value = value if rule.none is msgspec.UNSET else None
    if value is None and rule.none is not msgspec.UNSET:
        return rule.none
    if isinstance(value, Mapping) and not isinstance(value, dict):  # which may never come to an end
        _refuse_value(rule, value, where)
    if isinstance(value, set | frozenset):  # its order differs from run to run
        value = sorted(value, key=show)
    try:
        checked = msgspec.convert(value, rule.shape)
    except (msgspec.ValidationError, ValueError):
        try:
            checked = msgspec.convert(_plain(value, rule), rule.shape)
        except (msgspec.ValidationError, ValueError):
            _refuse_value(rule, value, where)
    if (rule.allow is not None and not rule.allow(checked)) or not _encodable(checked):
        _refuse_value(rule, value, where)
    return _exact(checked)


def _without_none(shape: Any) -> tuple[Any, bool]:
    if typing.get_origin(shape) not in (typing.Union, types.UnionType):
        return shape, False
    (inner,) = (part for part in typing.get_args(shape) if part is not types.NoneType)
    return inner, True


def _bare(shape: Any) -> Any:
    return typing.get_args(shape)[0] if typing.get_origin(shape) is typing.Annotated else shape


def _plain(value: Any, rule: Rule) -> Any:
    """Return the built-in value that `value` stands for: a number of another library, one text for a list."""
    if typing.get_origin(rule.shape) is tuple:
        return [value] if isinstance(value, str) else value
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) and _bare(rule.shape) is float else value


def _exact(value: Any) -> Any:
    """Return `value` with its texts as plain `str`: a Markup would pass every escaping, a StrEnum prints otherwise."""
    if isinstance(value, str):
        return value if value.__class__ is str else str.__str__(value)
    return tuple(map(_exact, value)) if isinstance(value, tuple) else value


def _encodable(value: Any) -> bool:
    """Whether every text in `value` can be written as UTF-8: a lone surrogate cannot."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, tuple):
        return all(map(_encodable, value))
    return all(map(_encodable, (*value, *value.values()))) if isinstance(value, dict) else True


def _inline(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what it refers to in the places of the references: it becomes a part of a larger one."""
    known = schema.pop("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict):
            name = part.get("$ref", "").rpartition("/")[2]
            return (
                put(known[name])
                if name in known
                else {key: put(value) for key, value in part.items()}
            )
        return [put(one) for one in part] if isinstance(part, list) else part

    return dict(put(schema))


def _describe(shape: Any) -> str:
    for part in typing.get_args(shape)[1:]:
        if isinstance(part, msgspec.Meta) and part.extra and "takes" in part.extra:
            return str(part.extra["takes"])
    origin, bare = typing.get_origin(shape), _bare(shape)
    if origin is typing.Literal:
        return " | ".join(typing.get_args(shape))
    if origin is tuple:
        member = typing.get_args(shape)[0]
        return f"a list of {_describe(member)}{'' if typing.get_origin(member) is typing.Literal else 's'}"
    if origin is dict:
        return f"a mapping of texts, each to {_describe(typing.get_args(shape)[1])}"
    metas = [part for part in typing.get_args(shape)[1:] if isinstance(part, msgspec.Meta)]
    low = next((meta.ge for meta in metas if meta.ge is not None), None)
    high = next((meta.le for meta in metas if meta.le is not None), None)
    reach = "" if low is None else f" from {low} up" if high is None else f" from {low} to {high}"
    return {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[
        bare
    ] + reach


def _refuse_value(rule: Rule, value: Any, where: Where | None) -> NoReturn:
    text = value if isinstance(value, str) else ""
    if rule.choices and isinstance(value, list | tuple):
        text = next(
            (part for part in value if isinstance(part, str) and part not in rule.choices), ""
        )
    hint = did_you_mean(text, rule.choices)
    if isinstance(value, dict) and (wrong := _wrong_inside(_bare(rule.shape), value)) is not None:
        key, field, said = wrong
        _fail(
            f"{rule.name}: {label(key)}: {said}",
            rule.name,
            where,
            (key, field) if field else (key,),
        )
    if text and not hint and not _encodable(text):
        hint = ", where a lone surrogate stands that UTF-8 cannot carry"
    _fail(f"{rule.name} takes {rule.takes}; got {show(value)}{hint}", rule.name, where)


def _wrong_inside(shape: Any, value: dict[Any, Any]) -> tuple[str, str, str] | None:
    """Return key, field and what is wrong there, in a mapping of texts to Structs; `None` for any other shape."""
    member = typing.get_args(shape)[1] if typing.get_origin(shape) is dict else None
    if not (isinstance(member, type) and issubclass(member, msgspec.Struct)):
        return None
    fields = typing.get_type_hints(member, include_extras=True)
    for key, given in value.items():
        if not isinstance(key, str) or not isinstance(given, dict):
            return str(key), "", f"takes {', '.join(fields)} in braces; got {show(given)}"
        for field, one in given.items():
            if field not in fields:
                return key, str(field), f"unknown key {quote(field)}{nearest(str(field), fields)}"
            try:
                msgspec.convert({field: one}, member)
            except (msgspec.ValidationError, ValueError):
                return (
                    key,
                    field,
                    f"{field} takes {_describe(_without_none(fields[field])[0])}; got {show(one)}",
                )
    return None


def _fail(message: str, name: str, where: Where | None, inside: tuple[str, ...] = ()) -> NoReturn:
    if where is None:
        raise OptionError(message, option=name) from None
    raise ProfileError(message, where=where(name), option=name, inside=inside) from None
