"""Writes the pages of docs/reference from the code: commands, answers of hooks, the HTTP interface.

Each function gives the text of one page; `tests.docs.made` writes them.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

from hybrid.base.clients import clients
from hybrid.base.resources import shipped
from hybrid.cli.evaluate import LAB
from hybrid.cli.main import every_command, parser_of
from hybrid.hooks.answer import TAKING, write_answer
from hybrid.operations.asking import rows as every_row
from hybrid.operations.types import described
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hybrid.base.clients import Client

TEXTS = CHECKOUT / "tests" / "docs" / "texts"
"""What is said on each page beside what is made."""
WIDTH = 120
MADE = "<!-- Made from {} by `make docs`: change that, not this page. -->"
"""First line of a page that is made."""
_OF_LABORATORY = ("gate",)
"""A measure of `hybrid eval` that the laboratory replaces; only the product's own options stand on the page."""


def said(page: str, **made: list[str]) -> str:
    """Return the text of a page, with lines that are made in place of marks such as `<!-- files -->`."""
    text = (TEXTS / f"{page}.md").read_text(encoding="utf-8")
    for name, lines in made.items():
        text = text.replace(f"<!-- {name} -->", "\n".join(lines))
    return text


def cell(text: str) -> str:
    """Return a text as one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table, with an empty line behind it; nothing for no rows."""
    lines = [heads, tuple("---" for _ in heads), *(tuple(map(cell, row)) for row in rows)]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""] if rows else []


def wrapped(text: str) -> list[str]:
    """Return a paragraph with an empty line behind it."""
    return [*textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False), ""]


# --- commands ---------------------------------------------------------------------------------------------


_COMMON = ("--project", "--json", "--quiet", "--verbose", "--debug")


def commands_page() -> str:
    """Return the page of commands, from the parsers that read the command line."""
    lines = [MADE.format("the commands' parsers"), "", said("commands")]
    for name, (_, about) in every_command().items():
        parser = parser_of(name)
        lines += [f"## hybrid {name}", "", *wrapped(f"{about[0].upper()}{about[1:]}.")]
        actions = actions_of(parser)
        if not actions:
            lines += _of_parser(parser)
        for action, (told, part) in actions.items():
            lines += [f"### hybrid {name} {action}", "", *wrapped(f"{told[0].upper()}{told[1:]}."), *_of_parser(part)]
        lines += _measures_elsewhere() if name == "eval" else []
    return "\n".join(lines).rstrip("\n") + "\n"


def actions_of(parser: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Return the actions of a command, with what each does; those of other distributions are left out."""
    found: dict[str, tuple[str, argparse.ArgumentParser]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            abouts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            found |= {name: (abouts[name], part) for name, part in action.choices.items() if abouts.get(name)}
    of_lab = {*LAB, *_OF_LABORATORY} if parser.prog == "hybrid eval" else set()
    return {name: each for name, each in found.items() if name not in of_lab}


def examples(parser: argparse.ArgumentParser) -> list[str]:
    """Return the command lines that a parser's help ends with."""
    _, _, rest = (parser.epilog or "").partition("example:\n")
    return [line.strip() for line in rest.split("\n\n")[0].splitlines()]


def _of_parser(parser: argparse.ArgumentParser) -> Iterator[str]:
    rows = [(_form(action), _about(action)) for action in parser._actions if not _is_common(action)]
    common = [f"`{action.option_strings[-1]}`" for action in parser._actions if _is_common(action)]
    common = [option for option in common if option != "`--help`"]
    yield from table(("argument", "what it is"), [*rows, *([(", ".join(common), "as above")] if common else [])])
    if lines := examples(parser):
        yield from ["```text", *lines, "```", ""]


def _is_common(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.option_strings[-1] in (*_COMMON, "--help")


def _form(action: argparse.Action) -> str:
    """Return how an argument is written: its option and value, or its place."""
    value = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        several = action.nargs in ("+", "*")
        return f"`{value} ...`" if several else f"`[{value}]`" if action.nargs == "?" else f"`{value}`"
    *short, last = action.option_strings
    return ", ".join([*(f"`{option}`" for option in short), f"`{last}`" if action.nargs == 0 else f"`{last} {value}`"])


def _about(action: argparse.Action) -> str:
    """Return what an argument is, with its default and the values that it takes."""
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    choices = ", ".join(map(str, action.choices or ()))
    return text if choices in text else "; ".join(filter(None, (text, f"one of {choices}")))


def _measures_elsewhere() -> list[str]:
    names = ", ".join(f"`{name}`" for name in sorted({*LAB, *_OF_LABORATORY}))
    return wrapped(f"[The laboratory](../../lab/README.md) adds or replaces {names}.")


# --- answers of hooks -------------------------------------------------------------------------------------


_TEXT = "--- hybrid context ... --- end hybrid context ---"


def answers_page() -> str:
    """Return the page of hook answers: for each client its events, and the answer to each form of event."""
    lines = [MADE.format("`hybrid/hooks`"), "", said("hook-answers")]
    for client in (each for each in clients().values() if each.events):
        lines += [f"## {client.label}", "", *wrapped(f"{_versions(client)}.")]
        rows = [
            (f"`{name}`", f"`{event}`", "text" if event in TAKING else "none") for name, event in client.events.items()
        ]
        lines += table(("event of the client", "event of hybrid", "answer"), rows)
        for name, event in client.events.items():
            if event == "UserPromptSubmit":
                lines += ["```json", _indented(client, name), "```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _versions(client: Client) -> str:
    folders = sorted(path.name for path in (CHECKOUT / "tests/fixtures/hooks").glob(f"{client.name}-*"))
    versions = dict.fromkeys(name.split("-")[1] for name in folders)
    return f"Read with the events of version {' and '.join(versions)}"


def _indented(client: Client, name: str) -> str:
    event = client.events[name]
    printed = write_answer(_TEXT, client=client.name, name=name, event=event, notice="hybrid: 1 note")
    return json.dumps(json.loads(printed), indent=2)


# --- HTTP -------------------------------------------------------------------------------------------------


def http_page() -> str:
    """Return the page of the HTTP interface, from its JSON schema."""
    schema = json.loads(shipped("index", "schema", "http.json").read_text(encoding="utf-8"))
    served = [
        (
            f"`{row.route}`",
            row.about or row.name,
            ", ".join(f"`{one.name}`" for one in described(row.arguments) if one.about),
        )
        for row in every_row()
        if row.route
    ]
    lines = [MADE.format("`index/schema/http.json`, the rows of `hybrid/operations`"), "", said("http")]
    lines += [*table(("route", "gives", "parameters"), served), *wrapped(schema["description"])]
    for name, told in schema["$defs"].items():
        about = told.get("description", "")
        route = re.match(r"GET (\S+?)[;:] ", about)
        lines += [f"## {f'GET {route.group(1)}' if route else name.capitalize()}", ""]
        lines += wrapped(_sentence(about[route.end() :] if route else about)) if about else []
        required = told.get("required", [])
        rows = [
            (f"`{key}`", _type(value), value.get("description", "") + ("" if key in required else " (may be missing)"))
            for key, value in told.get("properties", {}).items()
        ]
        lines += table(("key", "type", "what it is"), rows)
    return "\n".join(lines).rstrip("\n") + "\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _type(value: Mapping[str, Any]) -> str:
    """Return the type of a value in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "anyOf" in value:
        return " or ".join(_type(each) for each in value["anyOf"])
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{each}`" for each in value["enum"])
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_type(value['items'])}" if "items" in value else "list"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
