"""Draws docs/picture.svg: a small project is indexed, and an agent's hook answers four prompts; `make picture` runs it.

    python -m tests.docs.picture [FILE]

The project is made in a temporary folder and shown as `~/shop`; everything else is what the real command prints.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.demo import CHECKOUT, Demo
from tests.support.builders import git_project

PICTURE = CHECKOUT / "docs" / "picture.svg"
QUESTION = "how do we find a user by e-mail?"
PROMPTS = (QUESTION, QUESTION, "thanks, that looks good to me", "what should I cook for dinner tonight?")
_WIDTH = 106
_FONT = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)


def session(demo: Demo) -> Text:
    """What a terminal shows: the index is built, and each prompt gets something, or nothing and the reason."""
    shown = Text()
    _command(shown, demo, "init", "--quiet")
    _command(shown, demo, "status", "--table", lines=slice(0, 2))
    for prompt in PROMPTS:
        shown.append("\nprompt> ", "bold magenta").append(prompt + "\n", "bold")
        if given := demo.ask(prompt):
            shown.append("hybrid adds to the agent's context:\n", "dim italic").append(given + "\n", "cyan")
        else:
            reason = demo.run("explain", "--last").stdout.splitlines()[1]
            shown.append(f"hybrid adds nothing. {reason}\n", "dim italic")
    return shown


def svg_of(shown: Text) -> str:
    """The terminal as SVG; no font is fetched from elsewhere."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(shown)
    return _FONT.sub("", console.export_svg(title="~/shop", unique_id="hybrid"))


def drawn() -> str:
    """The picture of a run in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="hybrid-picture-") as name:
        folder = Path(name).resolve()
        root = git_project(folder / "shop")
        program = folder / "hybrid"
        # Wide enough that no line of a table is broken before the folder's name is shortened.
        program.write_text(f'#!/bin/sh\nCOLUMNS=1000 exec "{sys.executable}" -m hybrid "$@"\n')
        program.chmod(0o755)
        return svg_of(session(Demo(program, root, folder / "home")))


def _command(shown: Text, demo: Demo, *args: str, lines: slice = slice(None)) -> None:
    """A command as it was typed, and what it prints."""
    done: subprocess.CompletedProcess[str] = demo.run(*args)
    if done.returncode:
        sys.exit(done.stderr.strip() or json.dumps(args))
    shown.append("~/shop $ ", "bold green").append(f"hybrid {' '.join(args)}\n", "bold")
    printed = done.stdout.replace(str(demo.repo.parent), "~")
    rows = printed.splitlines()
    shown.append("".join(f"{line.rstrip()}\n" for line in rows[lines] + (["..."] if rows[lines] != rows else [])))


def main() -> None:
    """Write the picture."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
