"""Figures about the package's shape, which `test_shape.py` bounds; `python -m tests.contracts.shape` prints them.

Static figures are read from the files. Those of a prompt are counted in one warm prompt of a project with code,
records and a memory, which this process answers as the service does.
"""

from __future__ import annotations

import ast
import collections
import io
import re
import sys
import tempfile
import tokenize
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import tomli

from hybrid.cli.main import every_command, parser_of
from hybrid.project import registry
from tests.docs.reference import actions_of
from tests.support.builders import CHECKOUT, Shop
from tests.support.memories import fill_memory
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PACKAGE = CHECKOUT / "hybrid"
RECIPES = {
    "files of a client": "### Add a client",
    "files of a kind": "### Add a kind of knowledge",
    "files of a setting": "### Add a setting",
    "files of a command": "### Add a command",
    "files of a question": "### Add a question",
}
"""Figure → the heading in `CONTRIBUTING.md` below which the files to edit stand."""
_MADE = ("docs/configuration.md", "tests/golden/outputs")
"""Paths in recipes that a command writes."""
_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def modules() -> dict[str, ast.Module]:
    """Return every module of the package by its path in it."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement below a node; what stands in expressions is none, and is most of a tree."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for part in getattr(node, field, ()) if not isinstance(node, ast.expr) else ():
            if isinstance(part, ast.stmt):
                yield part
            yield from statements(part)


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a module imports, and the names from them."""
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def figures(folder: Path) -> dict[str, int]:
    """Return all figures by name; the project of the prompt is made in the folder."""
    trees = modules()
    return _of_code(trees) | _of_surface() | _of_prompt(trees, folder)


def _of_code(trees: Mapping[str, ast.Module]) -> dict[str, int]:
    net, of_imports, n_statements = 0, 0, 0
    classes = collections.Counter[str]()
    for path, tree in trees.items():
        net += len(_code_lines((PACKAGE / path).read_text(encoding="utf-8"), tree))
        for node in statements(tree):
            n_statements += not _is_text(node)
            if isinstance(node, ast.Import | ast.ImportFrom):
                of_imports += (node.end_lineno or node.lineno) - node.lineno + 1
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] += 1
    return {
        "files": len(trees),
        "net lines": net,
        "statements": n_statements,
        "imports per 1,000 net lines": round(1000 * of_imports / net),
        "public class names used twice": sum(count > 1 for count in classes.values()),
    }


def _code_lines(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that have code: no blank ones, comments or texts that only describe."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in statements(tree):
        if _is_text(node):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is only a text: a docstring, or what stands under a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _of_surface() -> dict[str, int]:
    settings = tomli.loads((CHECKOUT / "config.toml").read_text(encoding="utf-8"))
    counts = {
        "settings": sum(len(section) for section in settings.values()),
        "commands": sum(max(len(actions_of(parser_of(name))), 1) for name in every_command()),
    }
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, heading in RECIPES.items():
        recipe = text.split(f"{heading}\n", 1)[1].split("\n##", 1)[0]
        places = "\n".join(line.split("|")[1] for line in recipe.splitlines() if line.startswith("|"))
        counts[name] = len({path for path in re.findall(r"`([^`]+)`", places) if not path.startswith(_MADE)})
    return counts


def _of_prompt(trees: Mapping[str, ast.Module], folder: Path) -> dict[str, int]:
    # The key of a project, of its path, is a word of its records: among others a search takes other steps.
    registry._digest = lambda *_: "0123456789abcdef"
    talk = new_talk(folder, {}, is_indexed=True)
    fill_memory(Shop(talk.root, talk.home))
    talk.ask("How is the database password rotated?")
    warm = Talk(talk.root, talk.home, session_id="s2", kinds=talk.kinds)
    calls = _calls(lambda: warm.ask("How does the payment client retry a request after a timeout?").text)
    functions = {(Path(file).relative_to(PACKAGE).as_posix(), line) for file, line, _ in calls}
    return {
        "files of a prompt": len({path for path, _ in functions}),
        "calls of a prompt": sum(calls.values()),
        "value types of a prompt": len(_value_types(trees, functions)),
        "searches for secrets of a prompt": sum(n for (_, _, name), n in calls.items() if name == "find_secrets"),
    }


def _calls(ask: Callable[[], str]) -> collections.Counter[tuple[str, int, str]]:
    """Return the functions of the package that a prompt calls: file, first line and name, with how often."""
    calls = collections.Counter[tuple[str, int, str]]()

    def note(frame: FrameType, event: str, _value: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and code.co_name[0] != "<":
            calls[code.co_filename, code.co_firstlineno, code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        text = ask()
    finally:
        sys.setprofile(before)
    assert "PaymentClient" in text, text
    return calls


def _value_types(trees: Mapping[str, ast.Module], functions: set[tuple[str, int]]) -> set[str]:
    """Return the names of the package's value classes in the signatures of some functions."""
    values = {
        node.name
        for tree in trees.values()
        for node in statements(tree)
        if isinstance(node, ast.ClassDef) and _is_value(node)
    }
    names = set[str]()
    for path, tree in trees.items():
        for node in statements(tree):
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                if (path, first) in functions:
                    names.update(_names_in_signature(node))
    return names & values


def _is_value(node: ast.ClassDef) -> bool:
    """Return whether a class is made of fields: a struct, a named tuple or a dataclass."""
    return any(
        word in ast.unparse(part)
        for part in (*node.bases, *node.decorator_list)
        for word in ("Struct", "NamedTuple", "dataclass")
    )


def _names_in_signature(node: ast.FunctionDef) -> Iterator[str]:
    args = node.args
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs)
    for annotation in (node.returns, *(arg.annotation for arg in every)):
        yield from re.findall(r"\w+", ast.unparse(annotation)) if annotation else ()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for figure, number in figures(Path(made)).items():
            print(f"{figure:34} {number:7,}")  # noqa: T201
