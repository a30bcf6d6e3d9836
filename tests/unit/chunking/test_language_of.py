"""Language and kind of a file by its path and first line."""

from __future__ import annotations

from hybrid.chunking.languages import kind_of, language_of
from tests.support.cases import cases


@cases("definitions/languages.txt")
def test_language_by_path(case):
    """Extension or file name decide, in any case of letters; an unknown name has no language."""
    assert case.expected == (language_of(case.text) or "none")


@cases("definitions/first_lines.txt")
def test_language_by_first_line(case):
    """A file without a telling name is known by its interpreter."""
    assert case.expected == (language_of("bin/tool", case.text) or "none")


@cases("definitions/kinds.txt")
def test_kind_by_path(case):
    """Markup, plain text and files like README are docs; everything else is code."""
    assert case.expected == kind_of(case.text, language_of(case.text))


def test_every_language_has_a_grammar():
    """Each name that is given out is a grammar of the collection, or `text`."""
    from semble_grammars import available_languages

    from hybrid.chunking import languages

    named = {*languages._EXTENSIONS.values(), *languages._NAMES.values(), *languages._INTERPRETERS.values()}

    assert set() == named - set(available_languages()) - {"text"}


def test_languages_load_nothing_else():
    """The module is standard library only: importing it does not load tree-sitter."""
    import subprocess
    import sys

    code = "import sys, hybrid.chunking.languages; print('tree_sitter' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False" == answer.stdout.strip()
