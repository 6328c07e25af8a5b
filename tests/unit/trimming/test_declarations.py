"""The worth of declarations by the use of their names."""

from __future__ import annotations

import pytest
from shipped_words import marks as shipped_marks

from promptforge.trimming.code import divide
from promptforge.trimming.declarations import _rate, rate_declarations

HOLDERS = {"Engine": 40, "Refund": 40, "helper": 1, "look_up": 9, "name": 90}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("func (e *Engine) Refund(id int64) error {\n", "Refund"),
        ("type Engine struct {\n", "Engine"),
        ("// New returns a class of things.\nfunc New() *Engine {\n", "New"),
        ("struct command *look_up(int a);\n", "look_up"),
        ("class ACME_API Pool : public Base {\n", "Pool"),
        ("enum class color { red };\n", "color"),
        ("res.send = function send(body) {\n", "send"),
        ("exports.compile = function (value) {\n", "compile"),
        ("export const useStore = create(() => {\n", "useStore"),
        ("defmodule Plug.Conn do\n", "Conn"),
        ("fun <T> Pool.take(n: Int): T {\n", "take"),
        ("public async Task<T> QueryAsync<T>(this IDbConnection cnn)\n", "QueryAsync"),
        ("@decorated(name=1)\ndef look_up(a):\n", "look_up"),
        ("pub(crate) fn search_path<W>(&self) {\n", "search_path"),
        ('resource "aws_vpc" "this" {\n', "aws_vpc"),
        ('variable "azs" {\n', "azs"),
        (
            '#[diagnostic::on_unimplemented(\n    note = "see [it]",\n)]\npub trait Handler {\n',
            "Handler",
        ),
        ("  @callback init(opts) :: opts\n", "init"),
        ("@Component({\n  selector: 'app-page',\n})\nexport class Page {\n", "Page"),
        ("[Route(\n  name = 1)]\npublic class Page\n", "Page"),
    ],
)
def test_a_declaration_names(text: str, name: str) -> None:
    assert _rate(text, HOLDERS)[0] == name


def test_types_and_used_names_are_worth_more() -> None:
    def worth(text: str) -> float:
        return _rate(text, HOLDERS)[1]

    assert worth("type Engine struct {") > worth("func Refund() {") > worth("func helper() {")
    assert worth("func helper() {") > worth("private int helper() {")
    assert worth("def look_up():") > worth("def _look_up():")
    assert worth("pub trait Engine {") > worth("impl<T> Engine for Pool<T> {")
    assert worth("impl Engine {") > worth("impl Engine for Pool {")
    assert _rate("fn s(text: &str) {", {"s": 40})[1] == worth("func helper() {")
    assert worth("interface Engine<T> {") > worth("type Engine<T> = Pick<T, 'a'>")
    assert worth("type Engine struct {") == worth("interface Engine {")


def test_overloads_and_many_of_one_file_are_worth_less() -> None:
    text = "".join(f"int f(int a{n});\nint g{n}(void) {{\n  return 1;\n}}\n" for n in range(30))
    pieces = divide(text, marks=shipped_marks("[cut]"), language="c")
    assert pieces is not None
    worths = list(rate_declarations(pieces.parts, {}).values())
    assert max(worths) > 3 * min(worths)


def test_what_a_module_holds_is_worth_more_than_its_name() -> None:
    """Many files open `module Acme`: of each an overview had this line, and nothing below it."""
    pytest.importorskip("tree_sitter_ruby", reason="needs grammars: pip install '.[test-all]'")
    body = "        a\n        b\n      end\n"
    text = f"module Acme\n  class Net\n    class Pool\n      def take\n{body}    end\n  end\nend\n"
    pieces = divide(text, marks=shipped_marks("[cut]"), language="ruby")
    assert pieces is not None
    rated = rate_declarations(pieces.parts, {"Acme": 200, "Net": 80, "Pool": 3})
    assert [pieces.parts[n].text.split()[1] for n in rated] == ["Pool", "take"]


def test_a_constructor_is_worth_a_share_of_its_type() -> None:
    """Each class calls it by one name: overviews of Python had two constructors of thirty."""
    methods = "".join(f"    def step_{n}(self):\n        a()\n        b()\n" for n in range(4))
    start = "    def __init__(self, size):\n        a()\n        b()\n"
    text = "".join(f"class Pool{n}:\n{start}{methods}" for n in range(3))
    pieces = divide(text, marks=shipped_marks("[cut]"), language="python")
    assert pieces is not None
    holders = {f"Pool{n}": 20 for n in range(3)}
    rated = rate_declarations(pieces.parts, holders)
    first = sorted(rated, key=lambda number: -rated[number])[:6]
    names = [pieces.parts[number].text.split("(")[0].split()[1] for number in first]
    assert names.count("__init__") == 3


def test_tests_beside_a_program_are_worth_nothing() -> None:
    text = (
        "pub fn take(n: u8) -> u8 {\n    n + 1\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
        "    struct Engine {\n        size: u8,\n    }\n\n    #[test]\n    fn takes() {\n"
        "        assert_eq!(take(1), 2);\n    }\n}\n"
    )
    pieces = divide(text, marks=shipped_marks("[cut]"), language="rust")
    assert pieces is not None
    rated = rate_declarations(pieces.parts, HOLDERS)
    assert [pieces.parts[number].text for number in rated] == ["pub fn take(n: u8) -> u8 {\n"]
