"""The pictures of the concepts: read by a screen reader, in light and dark, without anything from elsewhere."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from tests.docs.drawings import Drawing, pages

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", pages())
def test_a_picture_is_told_in_words(path: str) -> None:
    """It has a title and a description, which it names as its label; it loads nothing, and has colours for the dark."""
    text = pages()[path]()
    root = ET.fromstring(text)

    assert ("img", "title told") == (root.get("role"), root.get("aria-labelledby"))
    assert all(len(root.findtext(f"{_SVG}{name}") or "") > 10 for name in ("title", "desc"))
    assert "prefers-color-scheme: dark" in text
    assert [] == re.findall(r"href=|url\(|@import|<script|<image", text)


@pytest.mark.parametrize("path", pages())
def test_a_text_stays_within_its_picture(path: str) -> None:
    """No line of text begins or ends outside, at eight pixels a letter."""
    root = ET.fromstring(pages()[path]())
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    outside: list[str] = []
    for line in root.iter(f"{_SVG}text"):
        x, y, long = float(line.get("x") or 0), float(line.get("y") or 0), 8 * len(line.text or "")
        left = {"start": x, "middle": x - long / 2, "end": x - long}[line.get("text-anchor") or "start"]
        if left < 0 or left + long > width or not 0 < y < height:
            outside.append(line.text or "")

    assert [] == outside


def test_a_drawing_escapes_its_texts() -> None:
    """Signs of XML in a text stay text."""
    drawing = Drawing(100, 50, "a < b", "x & y")
    drawing.text(10, 20, "<&>")

    root = ET.fromstring(drawing.svg())
    assert ["<&>"] == [line.text for line in root.iter(f"{_SVG}text")]
