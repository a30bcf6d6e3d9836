"""Bounds on the shape of the package. They only fall: who lowers a figure lowers its bound in the same commit.

Whoever meets a bound first looks for what can go. A feature may raise one by what it needs, in a commit of its own
that says what was looked at to take out instead, and what went.
"""

from __future__ import annotations

import ast
import collections
import os
import re
import subprocess
import sys

import pytest

from tests.contracts.shape import PACKAGE, imports, modules, statements
from tests.support.builders import CHECKOUT

BOUNDS = {
    "files": 290,
    "net lines": 54_617,
    "statements": 45_792,
    "imports per 1,000 net lines": 89,
    "public class names used twice": 0,
    "settings": 99,
    "commands": 81,
    "files of a client": 6,
    "files of a kind": 6,
    "files of a setting": 4,
    "files of a command": 4,
    "files of a question": 3,
    "files of a prompt": 84,
    "calls of a prompt": 3_783,
    "value types of a prompt": 90,
    "searches for secrets of a prompt": 3,
}
"""Figure of `shape.figures` → the most that it may be; `python -m tests.contracts.shape` prints what they are."""
_LEFT = 0.03
"""Share of a bound by which its figure may be below it: the calls of a prompt differ a little between runs."""

TABLES = ("cli/", "chunking/", "dashboard/", "models/", "operations/", "redact/", "search/ranking/", "search/gate/")
"""Folders whose modules are members of a table: commands, languages, views, embedders, operations, shapes, evidence."""
QUESTIONS = ("Whether", "What", "Which", "Whose", "How", "Where", "Why", "Who", "Of")


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Every module of the package by its path in it."""
    return modules()


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """All figures, measured once and in a process of its own: caches that other tests filled save calls."""
    command = [sys.executable, "-m", "tests.contracts.shape"]
    environ = os.environ | {"HYBRID_HOME": str(tmp_path_factory.mktemp("shape"))}
    printed = subprocess.run(command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, check=True).stdout
    return {
        name: int(number.replace(",", "")) for name, number in re.findall(r"^(.+?)  +([\d,]+)$", printed, re.MULTILINE)
    }


def test_every_figure_has_a_bound(measured: dict[str, int]) -> None:
    """A figure without a bound would grow unseen."""
    assert list(BOUNDS) == list(measured)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_figure_keeps_its_bound(measured: dict[str, int], name: str) -> None:
    """No figure is above its bound, and no bound is left where the figure was once."""
    figure, bound = measured[name], BOUNDS[name]

    assert figure <= bound
    assert bound - figure <= _LEFT * bound, f"lower the bound to {figure}"


def test_few_modules_serve_one_other(trees: dict[str, ast.Module]) -> None:
    """A module with one importer is a part of it, unless it is a member of a table."""
    importers: dict[str, set[str]] = collections.defaultdict(set)
    for path, tree in trees.items():
        for name in imports(tree):
            importers[name].add(path)
    names = {path: "hybrid." + path.removesuffix(".py").replace("/", ".") for path in trees if "__init__" not in path}
    single = [path for path, name in names.items() if len(importers[name] - {path}) == 1]
    outside = [path for path in single if not path.startswith(TABLES)]

    assert len(outside) <= 30, outside


def test_few_functions_have_many_parameters(trees: dict[str, ast.Module]) -> None:
    """Values that travel together have a name."""
    many = list[str]()
    for path, tree in trees.items():
        for node in statements(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                args = node.args
                names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
                if len([name for name in names if name not in ("self", "cls")]) > 5:
                    many.append(f"{path}:{node.lineno} {node.name}")

    assert len(many) <= 8, many


def test_no_file_is_a_giant() -> None:
    """A file is as long as its idea, and none is a book."""
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")) <= 800


def test_docstrings_state(trees: dict[str, ast.Module]) -> None:
    """A docstring says what something is or does; it asks nothing."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [
        (path, node) for path, tree in trees.items() for node in (tree, *statements(tree)) if isinstance(node, kinds)
    ]
    texts = [(path, text) for path, node in nodes if (text := ast.get_docstring(node))]
    asking = [f"{path}: {text.splitlines()[0]}" for path, text in texts if text.split()[0] in QUESTIONS]

    assert len(asking) <= 14, asking
