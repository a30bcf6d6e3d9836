"""What `parse` says about definitions, and how it fails; tables of definitions stand in `tests/cases/definitions`."""

from __future__ import annotations

import subprocess
import sys

import pytest
from msgspec import structs

from hybrid.chunking.definitions import parse
from hybrid.types import LineSpan
from tests.support.cases import cases


def by_name(parsed):
    """Definitions by their name."""
    return {definition.name: definition for definition in parsed.definitions}


@cases("definitions/samples.txt")
def test_every_definition_of_a_sample_is_found(case, sample_text, definition_table):
    """As a reader would give them; variables inside function bodies, all called `local`, are none."""
    assert case.expected == definition_table(parse(sample_text(case.name), case.text))


@cases("definitions/hindrances.txt")
def test_what_hinders_a_parser_hides_no_definition(case, definition_table):
    """Conditions and macros leave definitions with their names, lines and owners."""
    path = "cart.h" if "header" in case.name else "cart.c"
    parsed = parse(case.text + "\n", case.name.partition(":")[0], path)

    assert case.expected == definition_table(
        structs.replace(parsed, definitions=tuple(one for one in parsed.definitions if one.is_full))
    )


@cases("definitions/signatures.txt")
def test_signature_is_the_head_on_one_line(case):
    """The signature is what stands before the body."""
    assert case.expected == by_name(parse(case.text, case.name))["f"].signature


@cases("definitions/names.txt")
def test_other_languages_give_their_main_names(case):
    """Languages without a full rule set still give the names that a reader would look for."""
    assert case.expected == ", ".join(dict.fromkeys(one.name for one in parse(case.text, case.name).definitions))


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


@pytest.mark.parametrize("end", ["@", '@Foo("x")', "@Foo(", "@a.B<C"])
def test_text_that_ends_inside_an_annotation_of_kotlin_is_parsed_to_its_end(end):
    """The grammar's scanner looked for the end of the annotation for ever."""
    # The parser cannot be stopped from within: a process of its own can.
    program = "import sys; from hybrid.chunking.definitions import parse; print(*(d.name for d in parse(sys.stdin.read(), 'kotlin').definitions))"
    text = f"class Limits {{\n    val most = 1\n}}\nval least = 2\n{end}"

    done = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, timeout=60, check=True
    )

    assert {"Limits", "least"} <= set(done.stdout.split())
