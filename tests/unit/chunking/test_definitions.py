"""What `parse` says about a definition beyond its place, and how it fails."""

from __future__ import annotations

import pytest

from hybrid.chunking.definitions import parse
from hybrid.types import LineSpan


def by_name(parsed):
    """Definitions by their name."""
    return {definition.name: definition for definition in parsed.definitions}


@pytest.mark.parametrize(
    ("language", "text", "signature"),
    [
        pytest.param("python", "def f(\n    a,\n    b=1,\n) -> int:\n    return a\n", "def f( a, b=1, ) -> int", id="python"),
        pytest.param("typescript", "export const f = async (a: string) => {\n  g(a);\n};\n", "export const f = async (a: string)", id="typescript"),
        pytest.param("rust", "pub fn f<T>(a: T) -> Option<T>\nwhere\n    T: Copy,\n{\n    None\n}\n", "pub fn f<T>(a: T) -> Option<T> where T: Copy", id="rust"),
        pytest.param("go", "func (s *Store) f(a int) error {\n\treturn nil\n}\n", "func (s *Store) f(a int) error", id="go"),
        pytest.param("java", "class A {\n  @Override\n  public int f(int a) {\n    return a;\n  }\n}\n", "public int f(int a)", id="java"),
        pytest.param("elixir", "defmodule A do\n  def f(a) do\n    a\n  end\nend\n", "def f(a)", id="elixir"),
        pytest.param("c", "static int\nf(int a,\n  int b)\n{\n  return a;\n}\n", "static int f(int a, int b)", id="c"),
    ],
)  # fmt: skip
def test_signature_is_the_head_on_one_line(language, text, signature):
    """The signature is what stands before the body: modifiers, name, parameters and result, without attributes."""
    assert signature == by_name(parse(text, language))["f"].signature


def test_signature_is_bounded():
    """A head of any length is cut to 200 characters."""
    text = "def f(" + ", ".join(f"argument_{n}" for n in range(100)) + "):\n    pass\n"

    assert 200 == len(by_name(parse(text, "python"))["f"].signature)


def test_depth_counts_enclosing_definitions(sample_text):
    """A class at top level has depth 0, its nested class 1, a method of that 2."""
    found = by_name(parse(sample_text("sample.py"), "python"))

    assert [0, 1, 2] == [found[name].depth for name in ("Client", "Session", "close")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MAX_ATTEMPTS", True),
        ("timeout_s", True),
        ("DONE", True),
        ("double", False),
        ("retry", False),
        ("Client", False),
    ],
)
def test_values_are_told_from_functions_and_types(sample_text, name, expected):
    """Constants, fields and enum members hold values; functions, lambdas with a name and classes do not."""
    assert expected is by_name(parse(sample_text("sample.py"), "python"))[name].is_value


def test_docstrings_and_comments_are_comments():
    """Comments and docstrings are reported in order; comment lines that touch are one span."""
    text = '"""Module."""\n# one\n# two\n\nx = 1  # beside\n\n\ndef f():\n    """Doc.\n\n    More.\n    """\n'

    expected = (LineSpan(1, 3), LineSpan(5, 5), LineSpan(9, 12))

    assert expected == parse(text, "python").comments


def test_elixir_docs_are_comments(sample_text):
    """`@moduledoc` and `@doc` are comments of an Elixir module."""
    spans = parse(sample_text("sample.ex"), "elixir").comments

    assert (LineSpan(2, 4), LineSpan(13, 13), LineSpan(48, 48)) == spans


def test_items_inside_wrapper_macros_are_found():
    """Rust macros that only enclose items do not hide them."""
    text = "cfg_rt! {\n    /// Runs.\n    pub fn spawn() {}\n\n    mod inner {\n        fn deep() {}\n    }\n}\n"

    assert ["spawn", "inner", "deep"] == [definition.name for definition in parse(text, "rust").definitions]


def test_macro_before_a_namespace_does_not_hide_it():
    """A C++ macro on a line of its own, without a semicolon, does not swallow the namespace after it."""
    text = "LIB_NAMESPACE_BEGIN\nnamespace detail\n{\nstruct A { int n; };\n}\nLIB_NAMESPACE_END\n"

    assert ["detail", "A", "n"] == [definition.name for definition in parse(text, "cpp").definitions]


def test_conditional_attributes_do_not_hide_a_class():
    """A C# condition around nothing but attributes does not swallow the class after it."""
    text = "namespace N\n{\n#if !OLD\n    [Serializable]\n#endif\n    public class E : Exception\n    {\n        public E() { }\n    }\n}\n"

    assert ["namespace", "class", "constructor"] == [
        definition.kind for definition in parse(text, "csharp").definitions
    ]


@pytest.mark.parametrize("language", ["vue", "svelte", "html"])
def test_scripts_of_component_files_are_read(language):
    """Functions in a script block are found on the lines where they stand."""
    text = "<template>\n  <p>é</p>\n</template>\n<script lang='ts'>\nexport function load(id: string) {\n  return id;\n}\n</script>\n"
    found = parse(text, language).definitions

    assert [("load", 5, 7)] == [(definition.name, definition.start_line, definition.end_line) for definition in found]


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        pytest.param("css", ".card { color: red }\n@media print { a { b: c } }\n", {".card", "a"}, id="css"),
        pytest.param("sql", "CREATE TABLE users (id INT, name TEXT);\n", {"users", "id", "name"}, id="sql"),
        pytest.param("toml", "top = 1\n[tool.ruff]\nline = 2\n", {"top", "tool.ruff", "line"}, id="toml"),
        pytest.param("yaml", "name: x\non:\n  push: y\n", {"name", "on"}, id="yaml"),
        pytest.param("json", '{"name": 1, "deep": {"inner": 2}}\n', {"name", "deep"}, id="json"),
        pytest.param("proto", 'syntax = "proto3";\nmessage User { string id = 1; }\nservice Users { rpc Get (User) returns (User); }\n', {"User", "id", "Users", "Get"}, id="proto"),
        pytest.param("graphql", "type User { id: ID! }\nenum Role { ADMIN }\n", {"User", "id", "Role", "ADMIN"}, id="graphql"),
        pytest.param("hcl", 'resource "aws_vpc" "main" {\n  cidr = "x"\n}\n', {"resource.aws_vpc.main", "cidr"}, id="hcl"),
        pytest.param("perl", "package Foo;\nsub bar { my $x = 1; return $x }\n", {"Foo", "bar"}, id="perl"),
        pytest.param("r", "f <- function(x) {\n  y <- 1\n  x + y\n}\nlimit <- 3\n", {"f", "limit"}, id="r"),
        pytest.param("julia", "module M\nstruct P\n  x::Int\nend\nfunction f(x)\n  x\nend\ng(x) = x + 1\nend\n", {"M", "P", "f", "g"}, id="julia"),
        pytest.param("dart", "class A {\n  int f() { return 1; }\n}\nvoid main() {}\n", {"A", "f", "main"}, id="dart"),
        pytest.param("ocaml", "let limit = 3\nlet f x = x + 1\nmodule M = struct\n  let g y = y\nend\ntype t = A | B\n", {"limit", "f", "M", "g", "t", "A", "B"}, id="ocaml"),
        pytest.param("erlang", "-module(m).\nf(0) -> 1;\nf(N) -> N.\n", {"m", "f"}, id="erlang"),
        pytest.param("solidity", "contract A {\n  uint x;\n  function f() public { uint y = 1; }\n}\n", {"A", "x", "f"}, id="solidity"),
        pytest.param("clojure", "(ns app.core)\n(defn f [x] x)\n(def limit 3)\n", {"app.core", "f", "limit"}, id="clojure"),
        pytest.param("make", "CC = gcc\nall: main.o\n\t$(CC) main.o\n", {"CC", "all"}, id="make"),
        pytest.param("powershell", "function Get-Thing {\n  param($x)\n}\n", {"Get-Thing"}, id="powershell"),
        pytest.param("nix", "{ a = 1; }\n", set(), id="nix"),
        pytest.param("objc", "@interface A : NSObject\n- (void)run;\n@end\nint f(void) { return 1; }\n", {"A", "run", "f"}, id="objc"),
    ],
)  # fmt: skip
def test_other_languages_give_their_main_names(language, text, names):
    """Languages without a full rule set still give the names that a reader would look for."""
    assert names == {definition.name for definition in parse(text, language).definitions}


@pytest.mark.parametrize("language", ["klingon", "", "text", "../c"])
def test_missing_grammar_is_a_failure_not_an_error(language):
    """A language without a grammar gives nothing and says `no_grammar`."""
    parsed = parse("def f(): pass\n", language)

    assert ("no_grammar", ()) == (parsed.failure, parsed.definitions)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = " + "(" * 20_000 + ")" * 20_000, id="deep brackets"),
        pytest.param("\n".join("    " * n + f"def f{n}():" for n in range(300)), id="deep definitions"),
        pytest.param("\x00\x01\x02 def f(\x00):\n", id="control characters"),
        pytest.param("\ud800 = 1\n", id="lone surrogate"),
        pytest.param("", id="empty"),
    ],
)
def test_strange_texts_do_not_raise(text):
    """Nesting of any depth, control characters and lone surrogates are parsed as well as it goes."""
    assert parse(text, "python").failure in ("", "parse_failed", "repetitive")


@pytest.mark.parametrize("language", ["python", "c", "rust", "zig"])
def test_rubble_is_a_failure(language):
    """Thousands of brackets that form nothing are given up on, instead of taking minutes."""
    assert "repetitive" == parse("{\n" * 3000, language).failure


@pytest.mark.parametrize(
    ("begin", "sign"),
    [("let x = ", ", "), ("let x = ", "; "), ("type t = ", " * "), ("let f = function ", " | ")],
    ids=["tuple", "sequence", "type", "pattern"],
)
def test_long_nested_lists_of_ocaml_are_data(begin: str, sign: str) -> None:
    """Queries take time by the square of their length (#16); a list of elements has no such limit."""
    text = "let top = 1\n\n" + begin + "{}" + (" -> 1" if "function" in begin else "") + "\n"
    long, short = (text.format(sign.join(f"a{i}" for i in range(n))) for n in (1100, 900))
    of_elements = f"let top = 1\n\nlet x = [{'; '.join(f'a{i}' for i in range(2500))}]\n"

    assert "parse_failed" == parse(long, "ocaml").failure
    assert "top" == parse(short, "ocaml").definitions[0].name
    assert "top" == parse(of_elements, "ocaml").definitions[0].name
