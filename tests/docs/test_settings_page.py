"""docs/configuration.md is made from config.toml."""

from __future__ import annotations

import re

from hybrid.config import KEYS
from tests.docs.settings import page_of
from tests.support.builders import CHECKOUT


def test_the_page_holds_every_setting_and_begins_with_some() -> None:
    """Every setting stands in docs/configuration.md; the head of config.toml names a dozen, each once, for its beginning."""
    text = (CHECKOUT / "docs" / "configuration.md").read_text(encoding="utf-8")
    first = re.findall(r"^\| `(.+?)` \|", text.partition("| --- | --- |\n")[2].partition("\n\n")[0], re.MULTILINE)

    assert [] == [key for key in KEYS if f"`{key} = " not in text]
    assert (12, 12) == (len(first), len(set(first) & set(KEYS)))


def test_a_comment_belongs_to_the_settings_below_it() -> None:
    """Settings of one comment stand together, and what precedes a bare `#` is said of the section."""
    config = "# head\n\n[a]\n# Whole\n# section.\n#\n# One.\nx = 1\n# Both.\ny = 2\nz = [3]\n\n[b]\n# Last.\nw = 4\n"

    assert (
        "### a\n\nWhole section.\n\n- `a.x = 1`: One.\n- `a.y = 2`, `a.z = [3]`: Both.\n\n### b\n\n- `b.w = 4`: Last.\n"
        == page_of(config).partition("| --- | --- |\n\n")[2]
    )
