"""docs/picture.svg shows what the commands print today, and nothing of the machine that drew it."""

from __future__ import annotations

import html
import os
import re
import shutil

import pytest

from tests.docs.picture import PICTURE, drawn


@pytest.mark.skipif(os.name == "nt" or shutil.which("sh") is None, reason="the picture shows a POSIX shell")
def test_the_picture_is_current() -> None:
    """`make picture` draws a terminal with the same lines again; colours and sizes are those of the drawing library."""
    assert _lines(PICTURE.read_text(encoding="utf-8")) == _lines(drawn()), "run `make picture`"


def test_the_picture_shows_a_neutral_home() -> None:
    """It holds no absolute path, and fetches nothing: no font, no image, no script."""
    svg = PICTURE.read_text(encoding="utf-8")
    lines = _lines(svg)

    assert {"~/shop $", "hybrid init --quiet"} <= set(lines)
    assert [] == [line for line in lines if re.search(r"(?<![\w.~])/(?:home|Users|root|tmp|var|private)\b", line)]
    assert [] == re.findall(r"(?:href|src)=|url\((?!#)|@import|<script", svg.replace("url(#", ""))


def _lines(svg: str) -> list[str]:
    """The lines of text in a picture."""
    texts = re.findall(r"<text\b[^>]*>(.*?)</text>", svg, re.DOTALL)
    return [html.unescape(text).replace("\N{NO-BREAK SPACE}", " ").rstrip() for text in texts]
