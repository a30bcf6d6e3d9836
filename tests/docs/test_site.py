"""The documentation site: its navigation, and what a strict build of it gives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import name_of, pages
from tests.docs.website import INDEX, contents, navigation
from tests.support.builders import CHECKOUT, write_files

_HAS_MKDOCS = find_spec("mkdocs") is not None and find_spec("material") is not None
needs_mkdocs = pytest.mark.skipif(not _HAS_MKDOCS, reason="mkdocs-material is not installed (the extra `docs`)")
_LOADING = {"script", "img", "iframe", "embed", "object", "source", "audio", "video", "track", "input", "link", "use"}
"""Elements whose `src`, `href` or `data` a browser fetches by itself; an `a` waits for a click."""


class _Page(HTMLParser):
    """Collects what a page loads, where it links, and the ids in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.untold: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        if tag == "link" and values.get("rel") in ("canonical", "next", "prev"):
            return
        for name in ("src", "href", "xlink:href", "data", "srcset", "poster"):
            if name in values and tag in (_LOADING | {"a"}):
                (self.links if tag == "a" else self.loads).append(values[name])
        if tag == "img" and not values.get("alt"):
            self.untold.append(values.get("src", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this checkout, built strictly: a warning ends the build with an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", str(folder)]
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=CHECKOUT, env=environ, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stdout + done.stderr)
    return folder


@pytest.fixture(scope="module")
def built(site: Path) -> dict[str, _Page]:
    """Every page of the site by its path."""
    return {path.relative_to(site).as_posix(): _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_the_navigation_is_the_index_of_the_pages() -> None:
    """Each chapter of docs/README.md is a section, a page stands once, and another site is left out."""
    index = "# All\n\nSee [home](../README.md).\n\n## Use\n\n- [A b](a.md): one, [part](a.md#x) of it.\n- [C](../c/README.md)\n\n## Do\n\n- [D](d/e.md), [far](https://example.org), [A](a.md)\n"

    assert [
        {"Home": "README.md"},
        {"All pages": "docs/README.md"},
        {"Use": [{"A b": "docs/a.md"}, {"C": "c/README.md"}]},
        {"Do": [{"D": "docs/d/e.md"}]},
    ] == navigation(index)


def test_the_site_has_what_its_pages_link(tmp_path: Path) -> None:
    """A page outside docs/ takes part when a page of the site links it; an example within a block links nothing."""
    files = {
        "README.md": "[docs](docs/README.md) and [code](#code)",
        "docs/README.md": "[a](../a/README.md#top) `[b](../b.md)`\n\n```\n[c](../c.md)\n```\n",
        "docs/picture.svg": "<svg/>",
        "a/README.md": "![d](d.svg) [gone](gone.md)",
        "a/d.svg": "<svg/>",
        "b.md": "b",
        "c.md": "c",
    }
    write_files(tmp_path, files)

    assert ["README.md", "a/README.md", "a/d.svg", "docs/README.md", "docs/picture.svg"] == contents(tmp_path)


def test_every_page_is_on_the_site() -> None:
    """Each page of docs/ and at the top of the checkout is there, and each page of docs/ in the navigation or an index."""
    assert [] == [name for name in map(name_of, pages()) if name not in contents(CHECKOUT)]


@needs_mkdocs
def test_the_site_builds_without_a_warning(site: Path) -> None:
    """A strict build is silent; the README is the home, and the index of the pages has its old place."""
    assert (site / "index.html").is_file()
    assert (site / INDEX.replace("README.md", "index.html")).is_file()


@needs_mkdocs
def test_no_page_of_the_site_loads_anything_from_elsewhere(site: Path, built: dict[str, _Page]) -> None:
    """Scripts, styles, images and fonts lie in the site; no style sheet of ours or of the theme names another host."""
    far = {(name, url) for name, page in built.items() for url in page.loads if urlsplit(url).netloc}
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]

    assert set() == far
    # The theme would fetch the program that draws such a block.
    assert [] == [path for path in site.rglob("*.html") if 'class="mermaid"' in path.read_text(encoding="utf-8")]
    assert styles
    assert [] == [
        url for text in styles for url in re.findall(r"(?:url\(|@import)[\s\"']*(?:https?:)?//[^)\"']+", text)
    ]


@needs_mkdocs
def test_what_a_page_of_the_site_loads_and_links_is_there(site: Path, built: dict[str, _Page]) -> None:
    """Each relative address leads to a file of the site, and its anchor to a place of that page."""
    missing: list[str] = []
    for name, page in built.items():
        for url in (*page.loads, *page.links):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc or name == "404.html":
                continue
            path = Path(os.path.normpath((site / name).parent / unquote(parts.path))) if parts.path else site / name
            path = path / "index.html" if path.is_dir() else path
            target = built.get(path.relative_to(site).as_posix())
            if not path.is_file() or (parts.fragment and target and unquote(parts.fragment) not in target.ids):
                missing.append(f"{name}: {url}")

    assert [] == missing


@needs_mkdocs
def test_every_picture_of_the_site_is_told_in_words(built: dict[str, _Page]) -> None:
    """An image has a text for those who do not see it."""
    assert [] == [(name, picture) for name, page in built.items() for picture in page.untold]
