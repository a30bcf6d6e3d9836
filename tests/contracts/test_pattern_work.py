"""The work of every regular expression on texts of others, counted: it grows with the text and no faster.

A pattern is found where it is compiled, so a new one is covered without being listed.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import ItemsView, ValuesView
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hybrid
from tests.support.regex_work import hostile_text

ROOT = Path(hybrid.__file__).parent
SEARCHES = frozenset("search finditer findall sub subn split".split())
CALLS = SEARCHES | {"compile", "match", "fullmatch"}

MATCHED_ONLY = {"hybrid.hooks.install.tables"}
"""Modules whose functions return patterns that are only matched where a line begins."""
NAMES_OF_FILES = {"hybrid.index.analysis"}
"""Modules whose patterns read the parts of a path, each of which has at most 255 characters."""
BOUNDED = (
    r"(?:^|\bis )@generated\b",  # Reads the first 4,000 characters of a file.
    r"hybrid[\s\S]{0,200}?",  # The bound is a few more than the test allows, as here:
    r"\bat (?P<name>[^\s(]{1,300})\([^()]{0,1000}\)",
    "[^\\s`\\\"'()\\[\\]]{0,200}",
    "[`@]*[^\\s`\\\"'()\\[\\]]{0,200}",
)
"""Beginnings of patterns that are bounded in a way that the counting does not see."""
UNREAD = {
    "hybrid.base.text: re.compile(pattern, flags)",  # What others give it is read where they do.
    "hybrid.chunking.names: re.split(separators, text)",
    "hybrid.chunking.chunker: re.compile(block, re.IGNORECASE)",
    "hybrid.cli.colours: re.sub(place, lambda found, to=target: linked(found.group(), to), line, count=1)",
    "hybrid.operations.lessons: re.compile('|'.join(forms), re.MULTILINE)",
    "hybrid.prompting.clean: compiled(value)",
    # Of a table that is shipped; they read texts of at most 200 characters, and paths.
    "hybrid.prompting.project_questions: re.compile(written_out(pattern), re.IGNORECASE)",
    "hybrid.prompting.project_questions: re.compile(every.replace('AT', _AT).replace('PAGE', _PAGE), re.IGNORECASE)",
    "hybrid.sources.patterns: re.compile(joined)",
    "hybrid.sources.patterns: re.compile(_linear(expression.pattern))",
}
"""Calls whose pattern is not known before the program runs."""


class Found(NamedTuple):
    """A pattern of the package: where, and whether it is looked for in a whole text."""

    where: str
    pattern: re.Pattern[Any]
    is_searching: bool


def modules() -> list[str]:
    """The modules that compile patterns, without `redact`, whose own test counts the work of all of it."""
    files = (path for path in sorted(ROOT.rglob("*.py")) if re.search(r"\bre\.|compiled\(", path.read_text("utf-8")))
    names = (".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in files)
    return [name for name in names if not name.startswith("hybrid.redact")]


class Reader:
    """Reads the patterns of one module from its source, with the values that its names have."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._values = vars(importlib.import_module(name))
        self._tree = ast.parse(Path(self._values["__file__"]).read_text("utf-8"))
        self._nodes = list(ast.walk(self._tree))
        self._parents = {child: node for node in self._nodes for child in ast.iter_child_nodes(node)}
        attributes = (one for one in self._nodes if isinstance(one, ast.Attribute))
        self._methods = [(one.value.id, one.attr) for one in attributes if isinstance(one.value, ast.Name)]
        self.unread: list[str] = []

    def found(self) -> list[Found]:
        """Return the patterns of all calls of `re` and of `compiled`."""
        found: list[Found] = []
        for node in self._nodes:
            if not isinstance(node, ast.Call) or not (method := _method(node)):
                continue
            texts = self._texts(node.args[0])
            if not texts:
                self.unread.append(f"{self.name}: {ast.unparse(node)}")
            is_searching = self._is_searching(node) if method == "compile" else method in SEARCHES
            for text in texts:
                found.append(Found(f"{self.name}:{node.lineno}", re.compile(text, self._flags(node)), is_searching))
        return found

    def _flags(self, node: ast.Call) -> int:
        given = [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
        given += [arg for arg in node.args[1:] if "re." in ast.unparse(arg)]
        values = (self._value(one) for one in given)
        return next((int(value) for value in values if isinstance(value, int)), 0)

    def _value(self, node: ast.expr) -> object:
        try:
            return eval(compile(ast.Expression(node), self.name, "eval"), self._values)
        except (NameError, AttributeError, TypeError, KeyError):
            return None

    def _texts(self, node: ast.expr) -> list[str | bytes]:
        """Return the patterns that an expression may give; of an f-string, unknown names stand for plain text."""
        value = self._value(node)
        if value is not None:
            return _strings(value)
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else self._part(part) for part in node.values)
            return ["".join(map(str, parts))]
        if isinstance(node, ast.Subscript):
            return self._texts(node.value)
        if isinstance(node, ast.Name):
            loops = (one for one in self._nodes if isinstance(one, (ast.comprehension, ast.For)))
            tables = (one.iter for one in loops if node.id in {part.id for part in _names(one.target)})
            return [text for table in tables for text in _strings(self._value(table))]
        return []

    def _part(self, node: ast.expr) -> str:
        value = self._value(node.value) if isinstance(node, ast.FormattedValue) else None
        return value if isinstance(value, str) else "name"

    def _is_searching(self, node: ast.Call) -> bool:
        """Return False where a compiled pattern is only matched: by the methods that are called on it or its name."""
        parent = self._parents[node]
        if isinstance(parent, ast.Attribute):
            return parent.attr in SEARCHES
        target: ast.AST | None = parent.targets[0] if isinstance(parent, ast.Assign) else None
        outer = self._parents.get(parent)
        if isinstance(parent, ast.Tuple) and isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Tuple):
            target = outer.targets[0].elts[parent.elts.index(node)]
        names = {one.id for one in _names(target)} if target else set[str]()
        used = {method for name, method in self._methods if name in names}
        return bool(used & SEARCHES) or not used & CALLS


def _method(node: ast.Call) -> str:
    """Return the method of a call of `re`, `compile` for a call of `compiled`; empty for any other."""
    if not node.args or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return ""
    called = ast.unparse(node.func)
    name = "compile" if called == "compiled" else called.removeprefix("re.")
    return name if name in CALLS and (called.startswith("re.") or called == "compiled") else ""


def _names(node: ast.AST) -> list[ast.Name]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Name)]


def _strings(value: object) -> list[str | bytes]:
    if isinstance(value, (str, bytes)):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    if isinstance(value, ItemsView):
        value = [one for _, one in value]
    is_several = isinstance(value, (list, tuple, set, frozenset, ValuesView))
    return [text for one in value for text in _strings(one)] if is_several else []


@pytest.fixture(autouse=True)
def deep_recursion() -> Any:
    """Room for the counting matcher, which calls itself for every repeat of a group."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(60_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("name", modules())
def test_the_work_of_a_pattern_grows_with_the_text(name: str) -> None:
    """No run of white space, line ends, brackets, quotes, letters or marks makes a pattern begin anew at each place.

    A pattern that cannot be read from the source is named as unread, and has a test of its own.
    """
    reader = Reader(name)
    found = reader.found()
    searched = {one.pattern for one in found if one.is_searching}
    hostile = {
        (one.where, one.pattern.pattern[:80], text)
        for one in found
        if name not in NAMES_OF_FILES
        # A match at the start is the first step of a search.
        and (one.is_searching or one.pattern not in searched)
        and not str(one.pattern.pattern).startswith(BOUNDED)
        and (text := hostile_text(one.pattern, is_searching=one.is_searching and name not in MATCHED_ONLY))
    }

    assert {text for text in UNREAD if text.startswith(f"{name}: ")} == set(reader.unread)
    assert found or reader.unread
    assert set() == hostile


def test_every_unread_pattern_has_its_module() -> None:
    """What is named as unread is looked for where it stands."""
    assert {text.split(":")[0] for text in UNREAD} <= set(modules())


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\s*x", "\n"),
        (r"(a|aa)+$", "a"),
        (r"\d+-", "0"),
        (r"<a>.*?</a>", "<a>"),
        (r"(?:a*)*b", "a"),
        (r"\[[^\]]*\]", "["),
    ],
    ids=["blank lines", "nested", "digits", "elements", "empty", "brackets"],
)
def test_a_pattern_with_more_work_is_found(pattern: str, text: str) -> None:
    """The counting finds patterns of each kind that the package once had."""
    found = hostile_text(re.compile(pattern, re.MULTILINE | re.DOTALL), is_searching=True)

    assert found is not None
    assert text in found
