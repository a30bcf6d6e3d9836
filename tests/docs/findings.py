"""Makes docs/troubleshooting.md from the findings of `hybrid doctor`, as they stand in the code.

Each call of `Finding` that is not always `ok` becomes a line: what doctor says, and what helps. A value that is known
only when doctor runs is shown as its name in capitals, or as `…`.
"""

from __future__ import annotations

import ast
import importlib
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from tests.docs.reference import MADE, said, table
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MODULES = ("hybrid/health/doctor.py", "hybrid/operations/doctor.py")
AREAS = {
    "python": "The interpreter",
    "install": "The installation",
    "home": "The home folder",
    "rights": "Rights of files",
    "switch": "Switched off or paused",
    "settings": "Settings",
    "model": "The embedding model",
    "index": "The index",
    "files": "The files",
    "state": "State files",
    "log": "The last decisions",
    "records": "Lessons and lore",
    "memory": "Memory",
    "secrets": "Secrets in your own files",
    "service": "The service",
    "hooks": "Hooks in your agents",
    "trial": "The trial of a hook",
}
"""Areas in the order in which doctor looks at them, with the headings of the page."""
_MOST = 6
"""Number of forms of one text that are shown."""
_OPAQUE = "…"
_OWN = "what is wrong, in a line of its own"
_SAYING_NOTHING = ("what", "remedy", "problem", "sentence")


class Told(NamedTuple):
    """A finding as the code tells it: area, level, and forms of the text and of the remedy."""

    area: str
    level: str
    what: str
    remedy: str


def page() -> str:
    """Return the page for the code as it is."""
    found = [told for path in MODULES for told in told_by((CHECKOUT / path).read_text(encoding="utf-8"))]
    lines = [MADE.format("the findings of `hybrid doctor`"), "", said("troubleshooting")]
    for area, title in AREAS.items():
        rows = [
            (told.level, _OWN if told.what == _OPAQUE else told.what, told.remedy or "–")
            for told in found
            if told.area == area
        ]
        if rows:
            lines += [
                f"### {title}",
                "",
                *table(("level", f"doctor says of `{area}`", "what helps"), list(dict.fromkeys(rows))),
            ]
    return "\n".join(lines).rstrip("\n") + "\n"


def told_by(source: str) -> Iterator[Told]:
    """Yield the findings of a module that can be a warning or a problem, in the order of the text."""
    tree = ast.parse(source)
    constants = [*_imported(tree), *_assigned(tree.body)]
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        local = list(_assigned(node for node in ast.walk(function) if isinstance(node, ast.stmt)))
        for call in sorted(_calls(function), key=lambda call: call.lineno):
            # A name has the value that it was given last above the call.
            names = dict(constants) | {name: value for name, value in local if value.lineno <= call.lineno}
            level, area, what, *remedy = [forms(arg, names) for arg in call.args]
            levels = sorted({each for each in level if each != "ok"}, reverse=True)
            if levels:
                yield Told(area[0], " or ".join(levels), *(_together(each) for each in (what, [*remedy, [""]][0])))


def _calls(tree: ast.AST) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Finding"]


def _imported(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the texts that a module imports from other modules of the package."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hybrid."):
            module = importlib.import_module(node.module or "")
            for name in node.names:
                if isinstance(value := getattr(module, name.name, None), str):
                    yield name.asname or name.name, ast.Constant(value)


def _together(texts: Sequence[str]) -> str:
    return " / ".join(dict.fromkeys(filter(None, texts[:_MOST])))


def _assigned(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name that these statements give a value to, with the value, in the order of the lines."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in body:
        if isinstance(node, ast.Assign):
            pairs += [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs.append((node.target, node.value))
    for target, value in list(pairs):
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs += zip(target.elts, value.elts, strict=True)
    for target, value in sorted(pairs, key=lambda pair: pair[1].lineno):
        if isinstance(target, ast.Name):
            yield target.id, value


def forms(node: ast.expr, names: Mapping[str, ast.expr]) -> list[str]:
    """Return the texts that an expression can give, at least one; what only a run knows is a name in capitals."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts = [forms(part.value if isinstance(part, ast.FormattedValue) else part, names) for part in node.values]
        return ["".join(chosen) for chosen in list(product(*parts))[:_MOST]]
    if isinstance(node, ast.IfExp):
        return list(dict.fromkeys([*forms(node.body, names), *forms(node.orelse, names)]))
    if isinstance(node, ast.Name) and node.id in names:
        return forms(names[node.id], {name: value for name, value in names.items() if name != node.id})
    return [_unknown(node)]


def _unknown(node: ast.expr) -> str:
    """Return the name of a value that only a run knows, in capitals; `…` where a name would say nothing."""
    if isinstance(node, ast.Attribute | ast.Name):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        return _OPAQUE if name in _SAYING_NOTHING else name.strip("_").upper().replace("_", " ")
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value).upper() if isinstance(node.slice.value, str) else _OPAQUE
    if isinstance(node, ast.Call) and node.args:
        words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "amount":
            return f"N {words[-1] if len(words) > 1 else f'{words[0]}s'}"
        if called == "get":
            return str(words[0]).upper()
        return _unknown(node.args[0]) if called in ("str", "join") else _OPAQUE
    return _OPAQUE
