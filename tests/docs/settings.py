"""Writes docs/configuration.md from config.toml; `make docs` runs it, and a test holds the page current.

python -m tests.docs.settings
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PAGE = CHECKOUT / "docs" / "configuration.md"
_WIDTH = 120
_NO_BREAK = "\0"

_HEAD = """\
<!-- Made from config.toml by `make docs`: change that file, not this page. -->

# Configuration

## Show and change settings

```console
$ hybrid config set hooks.budget 80
hooks.budget = 80 in ...
$ hybrid config get hooks.budget
80
$ HYBRID_HOOKS_BUDGET=60 hybrid config get hooks.budget
60
$ hybrid config unset hooks.budget
removed hooks.budget from ...
$ hybrid config check
Every setting is in order.
```

`hybrid config` shows every setting with its value and where the value comes from. `--user` writes your own layer in place of the
project's. A list is written `a,b` or `["a", "b"]`.

## Layers

A later layer wins:

1. the defaults below, which ship as `config.toml`;
2. `$HYBRID_HOME/config.toml`: yours, for all projects;
3. `.hybrid/config.toml` in a project: meant to be committed;
4. the environment: `HYBRID_` and the name in capitals, such as `HYBRID_HOOKS_BUDGET`;
5. options of a command.

The lists `index.include` and `index.exclude` add up over the layers instead. `!` before a pattern takes that pattern out.

A project's file may tune, leave files out and raise privacy. It may not lower privacy, choose commands, models that do not ship
with hybrid, or paths outside the project, and it may not raise what others pay for (deadlines, sizes, the service). A file
that came with a clone counts only after you accept the project by `hybrid trust`, `hybrid init` or a `hybrid reindex` by hand.
Before that it may set `privacy.redact`, `privacy.log_prompts`, `memory.enabled`, `memory.capture` and `memory.cross_project` in the
direction of more privacy, and add to `index.exclude`. `hybrid config` and `hybrid doctor` name the settings that wait.

Three variables are no settings: `HYBRID_HOME` chooses the folder of [all that is stored](storage-and-privacy.md),
`HYBRID_DISABLE=1` silences every hook, and `MILVUS_TOKEN` opens [the store of your team](team-index.md).

## Settings
"""


_FIRST = """\
These are turned first:

| setting | for |
| --- | --- |"""


def page() -> str:
    """The page for config.toml as it is."""
    return page_of((CHECKOUT / "config.toml").read_text(encoding="utf-8"))


def page_of(config: str) -> str:
    """The page for the text of config.toml: a chapter for each section, an entry for each comment with its settings."""
    first = re.findall(r"^#   (\S+) +(.+)$", config.partition("\n[")[0], re.MULTILINE)
    lines = [_HEAD.rstrip("\n")]
    lines += ["", _FIRST, *(f"| `{key}` | {about} |" for key, about in first)] if first else []
    section, comment, keys = "", "", ""
    for line in [*config.partition("\n[")[2].join(["[", "\n"]).splitlines(), ""]:
        if keys and (line.startswith("#") or not line):
            lines += _entry(keys, comment)
            comment = keys = ""
        if line.startswith("["):
            section = line.strip("[]")
            lines += ["", f"### {section}", ""]
        elif line == "#":  # Ends what is said of the whole section.
            lines += [*textwrap.wrap(comment, _WIDTH), ""]
            comment = ""
        elif line.startswith("#"):
            comment = f"{comment} {line[1:].strip()}".strip()
        elif line:
            keys = ", ".join(filter(None, [keys, f"`{section}.{line}`"]))
    return "\n".join(lines) + "\n"


def _entry(keys: str, comment: str) -> list[str]:
    """A point of a list; a line never ends within a setting."""
    text = f"- {keys.replace(' ', _NO_BREAK)}: {comment}"
    lines = textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
