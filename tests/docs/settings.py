"""Writes docs/configuration.md from config.toml."""

from __future__ import annotations

import re
import textwrap

from tests.docs.reference import MADE, WIDTH, said

_NO_BREAK = "\0"


def page_of(config: str) -> str:
    """The page for the text of config.toml: a chapter for each section, an entry for each comment with its settings."""
    first = re.findall(r"^#   (\S+) +(.+)$", config.partition("\n[")[0], re.MULTILINE)
    lines = [MADE.format("config.toml"), "", *said("configuration").splitlines()]
    lines += [f"| `{key}` | {about} |" for key, about in first]
    section, comment, keys = "", "", ""
    for line in [*config.partition("\n[")[2].join(["[", "\n"]).splitlines(), ""]:
        if keys and (line.startswith("#") or not line):
            lines += _entry(keys, comment)
            comment = keys = ""
        if line.startswith("["):
            section = line.strip("[]")
            lines += ["", f"### {section}", ""]
        elif line == "#":  # Ends what is said of the whole section.
            lines += [*textwrap.wrap(comment, WIDTH), ""]
            comment = ""
        elif line.startswith("#"):
            comment = f"{comment} {line[1:].strip()}".strip()
        elif line:
            keys = ", ".join(filter(None, [keys, f"`{section}.{line}`"]))
    return "\n".join(lines) + "\n"


def _entry(keys: str, comment: str) -> list[str]:
    """A point of a list; a line never ends within a setting."""
    text = f"- {keys.replace(' ', _NO_BREAK)}: {comment}"
    lines = textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    return [line.replace(_NO_BREAK, " ") for line in lines]
