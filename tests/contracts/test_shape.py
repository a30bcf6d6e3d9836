"""Bounds on the shape of the package: they are shares, so that it may grow, and must not decay.

Whoever meets one of them first looks for the cause: a module that belongs to its only importer, values that travel
together without a name. A bound is raised only with a reason in the commit.
"""

from __future__ import annotations

import ast
import collections
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import CHECKOUT
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = CHECKOUT / "hybrid"
TABLES = ("cli/", "chunking/", "dashboard/", "models/", "operations/", "redact/", "search/ranking/", "search/gate/")
"""Folders whose modules are members of a table: commands, languages, views, embedders, operations, shapes, evidence."""
QUESTIONS = ("Whether", "What", "Which", "Whose", "How", "Where", "Why", "Who", "Of")


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Every module of the package by its path in it."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_few_modules_serve_one_other(trees: dict[str, ast.Module]) -> None:
    """A module with one importer is a part of it, unless it is a member of a table."""
    importers: dict[str, set[str]] = collections.defaultdict(set)
    for path, tree in trees.items():
        for name in _imports(tree):
            importers[name].add(path)
    modules = {path: "hybrid." + path.removesuffix(".py").replace("/", ".") for path in trees if "__init__" not in path}
    single = [path for path, name in modules.items() if len(importers[name] - {path}) == 1]
    outside = [path for path in single if not path.startswith(TABLES)]

    assert len(outside) <= 0.15 * len(modules), outside


def test_few_functions_have_many_parameters(trees: dict[str, ast.Module]) -> None:
    """Values that travel together have a name."""
    n_functions, many = 0, list[str]()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                args = node.args
                names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
                n_functions += 1
                if len([name for name in names if name not in ("self", "cls")]) > 5:
                    many.append(f"{path}:{node.lineno} {node.name}")

    assert 1000 * len(many) <= 6 * n_functions, many


def test_no_file_is_a_giant() -> None:
    """Most files are read at a glance; none is a book."""
    sizes = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py"))

    assert sizes[-1] <= 850
    assert sum(size > 600 for size in sizes) <= 0.03 * len(sizes)


def test_one_name_is_one_class(trees: dict[str, ast.Module]) -> None:
    """A reader who meets a public name knows which class it is."""
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    names = collections.Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and node.name[0] != "_")
    repeated = [name for name, count in names.items() if count > 1]

    assert len(repeated) <= 0.03 * len(names), repeated


def test_docstrings_state(trees: dict[str, ast.Module]) -> None:
    """A docstring says what something is or does; it asks nothing."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, kinds)]
    texts = [(path, text) for path, node in nodes if (text := ast.get_docstring(node))]
    asking = [f"{path}: {text.splitlines()[0]}" for path, text in texts if text.split()[0] in QUESTIONS]

    assert len(asking) <= 0.03 * len(texts), asking


def test_a_prompt_crosses_a_part_of_the_files(tmp_path: Path) -> None:
    """Whoever follows one warm prompt through the code must not have to open half of it."""
    talk = new_talk(tmp_path, {}, is_indexed=True)
    talk.ask("How is the database password rotated?")
    crossed = _crossed(Talk(talk.root, talk.home, session_id="s2", kinds=talk.kinds))

    # The protocol of the backend stands in files of its own: decision 63.
    assert len(crossed) <= 0.31 * len(list(PACKAGE.rglob("*.py"))), sorted(crossed)


def _crossed(talk: Talk) -> set[str]:
    files = set[str]()

    def note(frame: FrameType, event: str, _value: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        reply = talk.ask("How does the payment client retry a request after a timeout?")
    finally:
        sys.setprofile(before)
    assert "PaymentClient" in reply.text
    return {name for name in files if name.startswith(str(PACKAGE))}
