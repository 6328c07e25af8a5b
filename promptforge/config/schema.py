"""Vocabularies: the words that a file or a call may use, and the values that each takes.

A vocabulary is read off Structs: a field is `Annotated[type, "one sentence"]`. So a word, its
range, its message, its JSON Schema and its default are written once.
"""

from __future__ import annotations

import numbers
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from ..errors import OptionError, ProfileError, did_you_mean, quote, show_value, suggest_name
from ..text.escape import SURROGATE

Where = Callable[[str], str | None]
"""A word → its `file:line`, or `None` for a word outside files."""
# A letter leaves a whole number, and none is too great for 63 bits: JSON Schema knows no more.
COUNT_TEXT = (
    r"^(?:[0-9][0-9_]{0,17}|[0-9][0-9_]{0,14}(?:\.[0-9]{1,3})?[kK]"
    r"|[0-9][0-9_]{0,11}(?:\.[0-9]{1,6})?[mM])$(?!\n)"
)
"""A whole number as texts may write it: `4000`, `20_000`, `20k`, `1.5M`."""
_COUNT_REFERENCE = "#/$defs/count"
_SCALES = {"k": 1000, "m": 1_000_000}
"""Letter after a number → its factor: the figures of LLMs are decimal."""


def read_count(text: str) -> int | None:
    """Return the whole number in a text: `4000`, `20_000`, `20k`, `1.5M`; else `None`."""
    if not re.search(COUNT_TEXT, text):
        return None
    scale = _SCALES.get(text[-1].lower(), 1)
    whole, _, decimals = text.rstrip("kKmM").replace("_", "").partition(".")
    count: int = int(whole + decimals) * scale // 10 ** len(decimals)
    return count


def matching(pattern: str, takes: str) -> msgspec.Meta:
    """Annotate texts that match `pattern` as a whole; `takes` describes them in messages."""
    # One pattern for Python and JSON Schema: in Python, `$` alone lets a final newline through.
    return msgspec.Meta(pattern=rf"^{pattern}$(?!\n)", extra={"takes": takes})


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One word, with the values that it takes."""

    name: str
    shape: Any
    default: Any
    doc: str
    """One sentence: the unit, the meaning of the default."""
    none: Any = msgspec.UNSET
    """The meaning of `None`; `UNSET` when the word does not take it."""
    none_word: bool = True
    """True when the text `none` means `None`. In a file it always does: see `query: none`."""
    allow: Callable[[Any], bool] | None = None
    """A further check of a value that has the right type."""
    several: bool = False
    """True if it takes a list of such values too, as `query` does; a list of one is that one."""
    function: bool = False
    """True if it takes a function too, which no file can name."""

    @property
    def choices(self) -> tuple[str, ...]:
        """The closed set of texts that it takes, or takes a list of; empty when the set is open."""
        shape = _member(self.shape) or self.shape
        return typing.get_args(shape) if typing.get_origin(shape) is typing.Literal else ()

    @property
    def words(self) -> tuple[str, ...]:
        """The closed set, or the words of an open one that have a meaning of their own."""
        metas = typing.get_args(_member(self.shape) or self.shape)[1:]
        extras = (getattr(meta, "extra", None) or {} for meta in metas)
        return self.choices or next((extra["words"] for extra in extras if "words" in extra), ())

    @property
    def takes(self) -> str:
        """Its values in words: `a whole number from 0 up, or none`."""
        said = _describe(self.shape)
        if self.several:
            said += f" or a list of {said}s"
        if self.none is msgspec.UNSET or "none" in self.choices:
            return said
        return f"{said}, or none"

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the value as it stands in a file."""
        member = _member(self.shape)
        if bare_type(self.shape) is Any:  # an object, which a file can only name
            kinds = [msgspec.json.schema(typing.Annotated[str, msgspec.Meta(min_length=1)])]
        else:
            kinds = [_inline(msgspec.json.schema(self.shape))]
            kinds = kinds[0].pop("anyOf", kinds)
        if self.choices and member:  # one text alone is a list of one
            kinds.append({"enum": sorted(self.choices)})
        elif member:
            kinds.append(msgspec.json.schema(member))
        if self.several:
            kinds.append({"type": "array", "items": kinds[0]})
        if self.none is not msgspec.UNSET:
            kinds.append({"type": "null"})
            # An open list or text already takes the word `none`.
            is_open = member is not None and not self.choices
            if bare_type(self.shape) is str:
                is_open = re.search(kinds[0].get("pattern", ""), "none") is not None
            if self.none is None and self.none_word and not is_open:
                kinds.append({"const": "none"})
        default = self.default
        if isinstance(default, tuple):
            default = list(default)
        takes: dict[str, Any] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        return {"description": self.doc, **takes, "default": default}


class Former(typing.NamedTuple):
    """Words of an earlier version, which are still read."""

    rules: Mapping[str, Rule]
    today: Mapping[str, str]
    """Each of its words → the word of today."""
    values: Mapping[tuple[str, str], str]
    """A word and an earlier value of it → the value of today."""
    renew: Callable[[dict[str, Any]], dict[str, Any]]
    """Puts the words of today in the place of those of `rules`."""


class Vocabulary:
    """The rules of one kind of file or call, by word."""

    def __init__(
        self,
        noun: str,
        rules: Mapping[str, Rule],
        elsewhere: Mapping[str, str] | None = None,
        former: Former | None = None,
    ) -> None:
        self.noun = noun
        """The noun for a word in messages: `option` or `key`."""
        self.rules = dict(rules)
        self.elsewhere = dict(elsewhere or {})
        """Words that belong elsewhere → the hint for people who look for them here."""
        self.former = former or Former({}, {}, {}, dict)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.rule(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.rules)

    def rule(self, name: str) -> Rule | None:
        """Return the rule of a word, or of an earlier word for one that is here; else `None`."""
        if self.former.today.get(name) in self.rules:
            return self.former.rules[name]
        return self.rules.get(name)

    def check(self, name: str, value: Any, where: Where | None = None) -> Any:
        """Return `value` in the type of the word `name`: lists become tuples, `none` its meaning.

        Raises `OptionError` for an unknown word or a bad value; with `where`, `ProfileError`.
        """
        rule = self.rule(name)
        if rule is None:
            self.refuse(name, where)
        try:
            if value.__class__ is str:
                value = self.former.values.get((name, value), value)
            return _checked(rule, value, where)
        except (OptionError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # from any method of a hostile object
            said = f"{rule.name} takes {rule.takes}; got a value of type {quote(value)[1:-1]}"
            _fail(said, rule.name, where)

    def schema(self, title: str) -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of a file of these words."""
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": title,
            "type": "object",
            "properties": {key: rule.schema() for key, rule in self.rules.items()},
            "additionalProperties": False,
        }
        if _COUNT_REFERENCE in str(schema):
            schema["$defs"] = {"count": {"type": "string", "pattern": COUNT_TEXT}}
        return schema

    def refuse(self, name: object, where: Where | None = None) -> NoReturn:
        """Raise the error for a word that is not in the vocabulary."""
        word = str(name)[:80]
        hint = suggest_name(word, self.rules)
        if word in self.elsewhere:
            hint = f": {self.elsewhere[word]}"
        _fail(f"unknown {self.noun} {quote(word)}{hint}", word, where)


def rules_of(
    shape: type[msgspec.Struct],
    *,
    none: Mapping[str, str] = types.MappingProxyType({}),
    verbatim: tuple[str, ...] = (),
    allow: Mapping[str, Callable[[Any], bool]] = types.MappingProxyType({}),
) -> dict[str, Rule]:
    """Return one rule for each field of `shape`: all are `Annotated` and have defaults.

    `none` is the meaning of `None` where it is another value. `verbatim` names the fields for which
    `none` is a text like any other. `allow` adds checks that no type expresses. The module of
    `shape` must not postpone its annotations.
    """
    blank, rules = shape(), {}
    for name, annotation in typing.get_type_hints(shape, include_extras=True).items():
        described = typing.get_args(annotation)
        inner, others = _main_type(described[0])
        nullable = types.NoneType in others
        # `None` is checked apart: its meaning may be another value.
        if len(described) > 2:  # Annotated[Annotated[int, range], text] arrives flat
            inner = typing.Annotated[(inner, *described[1:-1])]
        rules[name] = Rule(
            name=name,
            shape=inner,
            default=getattr(blank, name),
            doc=described[-1],
            none=none.get(name, None if nullable else msgspec.UNSET),
            none_word=name not in verbatim,
            several=any(typing.get_origin(other) is tuple for other in others),
            function=any(typing.get_origin(other) is Callable for other in others),
            allow=allow.get(name),
        )
    return rules


def _checked(rule: Rule, value: Any, where: Where | None) -> Any:
    if rule.none is not msgspec.UNSET:
        is_word = value.__class__ is str and value == "none"
        if value is None or (is_word and (rule.none_word or where is not None)):
            return rule.none
    if rule.function and callable(value):
        return value
    if rule.several and isinstance(value, list | tuple):
        return _checked_list(rule, value, where)
    if isinstance(value, Mapping) and not isinstance(value, dict):  # it may never end
        _refuse_value(rule, value, where)
    if isinstance(value, set | frozenset):  # the order of a set differs from run to run
        value = sorted(value, key=show_value)
    # msgspec is strict: NumPy's numbers and one text for a list get a second chance.
    try:
        checked = msgspec.convert(value, rule.shape)
    except (msgspec.ValidationError, ValueError):
        try:
            checked = msgspec.convert(_plain(value, rule.shape), rule.shape)
        except (msgspec.ValidationError, ValueError):
            _refuse_value(rule, value, where)
    if (rule.allow is not None and not rule.allow(checked)) or not _encodable(checked):
        _refuse_value(rule, value, where)
    return _exact(checked)


def _checked_list(rule: Rule, value: Sequence[Any], where: Where | None) -> Any:
    if not all(isinstance(member, str) for member in value):
        _refuse_value(rule, value, where)
    members = tuple(_checked(rule, member, None) for member in value)
    return members if len(members) > 1 else next(iter(members), rule.none)


def _main_type(shape: Any) -> tuple[Any, tuple[Any, ...]]:
    if typing.get_origin(shape) not in (typing.Union, types.UnionType):
        return shape, ()
    first, *others = typing.get_args(shape)
    return first, tuple(others)


def _member(shape: Any) -> Any:
    """Return the type of a list's members, or `None` for any other type."""
    return typing.get_args(shape)[0] if typing.get_origin(shape) is tuple else None


def bare_type(shape: Any) -> Any:
    """Return a type without its annotations."""
    if typing.get_origin(shape) is typing.Annotated:
        return typing.get_args(shape)[0]
    return shape


def _plain(value: Any, shape: Any, depth: int = 0) -> Any:
    """Return the built-in value for a count in a text or a number of another library, and a list
    for one text.
    """
    kind = bare_type(shape)
    if typing.get_origin(kind) is tuple:
        return [value] if isinstance(value, str) else value
    if isinstance(value, dict) and depth < 2:  # the budgets of sections
        return {key: _plain(inner, shape, depth + 1) for key, inner in value.items()}
    if isinstance(value, str) and (kind is int or (depth != 1 and typing.get_origin(kind) is dict)):
        count = read_count(value)
        return value if count is None else count
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and kind is float:
        return float(value)
    return value


def _exact(value: Any) -> Any:
    """Return `value` with its texts as plain `str`: a Markup would pass every escaping."""
    if isinstance(value, str):
        return str.__str__(value)
    return tuple(map(_exact, value)) if isinstance(value, tuple) else value


def _encodable(value: Any) -> bool:
    """Return True if every text in `value` is without lone surrogates, and so can be UTF-8."""
    if isinstance(value, str):
        return not SURROGATE.search(value)
    if isinstance(value, tuple):
        return all(map(_encodable, value))
    if isinstance(value, dict):
        return all(map(_encodable, (*value, *value.values())))
    return True


def _inline(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its references replaced by their targets, to be a part of another."""
    known = schema.pop("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict):
            name = part.get("$ref", "").rpartition("/")[2]
            part = {key: put(value) for key, value in known.get(name, part).items()}
            if part.get("type") != "integer":
                return part
            return {"anyOf": [part, {"$ref": _COUNT_REFERENCE}]}
        return [put(one) for one in part] if isinstance(part, list) else part

    return dict(put(schema))


def _describe(shape: Any) -> str:
    metas = [part for part in typing.get_args(shape)[1:] if isinstance(part, msgspec.Meta)]
    for meta in metas:
        if meta.extra and "takes" in meta.extra:
            return str(meta.extra["takes"])
    origin = typing.get_origin(shape)
    if origin is typing.Literal:
        return " | ".join(typing.get_args(shape))
    member = _member(shape)
    if member:
        ending = "s" * (typing.get_origin(member) is not typing.Literal)
        return f"a list of {_describe(member)}{ending}"
    if origin is dict:
        return f"a mapping of texts, each to {_describe(typing.get_args(shape)[1])}"
    nouns = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    noun = nouns[bare_type(shape)]
    low = next((meta.ge for meta in metas if meta.ge is not None), None)
    high = next((meta.le for meta in metas if meta.le is not None), None)
    if low is None:
        return noun
    return f"{noun} from {low} up" if high is None else f"{noun} from {low} to {high}"


def _refuse_value(rule: Rule, value: Any, where: Where | None) -> NoReturn:
    # The texts to guess from: the value itself, or the wrong ones of a list.
    texts = [value] if isinstance(value, str) else []
    if rule.words and isinstance(value, list | tuple):
        texts = [part for part in value if isinstance(part, str) and part not in rule.words]
    text = "".join(texts[:1])
    hint = next(filter(None, (did_you_mean(one, rule.words) for one in texts)), "")
    is_map = isinstance(value, dict) and typing.get_origin(bare_type(rule.shape)) is dict
    for key in value if is_map and len(value) > 1 else ():  # a message shows the wrong one alone
        _checked(rule, {key: value[key]}, where)
    if (
        isinstance(value, dict)
        and (wrong := _wrong_inside(bare_type(rule.shape), value)) is not None
    ):
        inside, said = wrong
        _fail(f"{rule.name}: {quote(inside[0])[1:-1]}: {said}", rule.name, where, inside)
    if isinstance(value, list) and rule.takes == "text" and where is not None:
        hint = f"; a text in brackets needs quotes: {rule.name}: '[…]'"  # YAML reads a list
    if text and not hint and not _encodable(text):
        hint = ", with a lone surrogate that UTF-8 cannot carry"
    _fail(f"{rule.name} takes {rule.takes}; got {show_value(value)}{hint}", rule.name, where)


def _wrong_inside(shape: Any, value: dict[Any, Any]) -> tuple[tuple[str, ...], str] | None:
    """Return the keys of the first mistake and the message, for a mapping of texts to Structs."""
    member = (typing.get_args(shape) or (None,))[-1]
    if not (isinstance(member, type) and issubclass(member, msgspec.Struct)):
        return None
    fields = typing.get_type_hints(member, include_extras=True)
    for key, given in value.items():
        if not isinstance(key, str) or not isinstance(given, dict):
            return (str(key),), f"takes {', '.join(fields)} in braces; got {show_value(given)}"
        for field, one in given.items():
            if field not in fields:
                hint = suggest_name(str(field), fields)
                return (key, str(field)), f"unknown key {quote(field)}{hint}"
            try:
                msgspec.convert({field: _plain(one, shape)}, member)
            except (msgspec.ValidationError, ValueError):
                takes = _describe(_main_type(fields[field])[0])
                return (key, field), f"{field} takes {takes}; got {show_value(one)}"
    return None


def _fail(message: str, name: str, where: Where | None, inside: tuple[str, ...] = ()) -> NoReturn:
    if where is None:
        raise OptionError(message, option=name) from None
    raise ProfileError(message, where=where(name), option=name, inside=inside) from None
