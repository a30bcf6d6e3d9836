"""docs/configuration.md is made from config.toml."""

from __future__ import annotations

import re

from hybrid.config import KEYS
from tests.docs.settings import PAGE, page_of
from tests.support.builders import CHECKOUT


def test_the_page_of_settings_is_current() -> None:
    """docs/configuration.md is what `make docs` writes for config.toml as it is; it holds every setting."""
    text = PAGE.read_text(encoding="utf-8")

    assert page_of((CHECKOUT / "config.toml").read_text(encoding="utf-8")) == text, "run `make docs`"
    assert [] == [key for key in KEYS if f"`{key} = " not in text]


def test_what_is_turned_first_is_a_setting() -> None:
    """The head of config.toml names a dozen settings, each once; the page begins with them."""
    table = page_of((CHECKOUT / "config.toml").read_text(encoding="utf-8")).partition("| --- | --- |\n")[2]
    first = re.findall(r"^\| `(.+?)` \|", table.partition("\n\n")[0], re.MULTILINE)

    assert (12, 12) == (len(first), len(set(first) & set(KEYS)))


def test_a_comment_belongs_to_the_settings_below_it() -> None:
    """Settings of one comment stand together, and what precedes a bare `#` is said of the section."""
    config = "# head\n\n[a]\n# Whole\n# section.\n#\n# One.\nx = 1\n# Both.\ny = 2\nz = [3]\n\n[b]\n# Last.\nw = 4\n"

    assert (
        "### a\n\nWhole section.\n\n- `a.x = 1`: One.\n- `a.y = 2`, `a.z = [3]`: Both.\n\n### b\n\n- `b.w = 4`: Last.\n"
        == page_of(config).partition("## Settings\n\n")[2]
    )
