"""Says which pages the documentation site has, and in which order; mkdocs calls it as `mkdocs.yml` names it.

The site has the paths of the repository, so a link works on the site as it does on a code host: `README.md` is the
home, and pages outside `docs/` take part when another page links them. The navigation is the list of links in
`docs/README.md`; no other list exists.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

CHECKOUT = Path(__file__).resolve().parent.parent.parent
INDEX = "docs/README.md"
_CODE = re.compile(r"(?ms)^```.*?^```$|`[^`\n]*`")
_LINK = re.compile(r"\[([^\[\]]+)\]\(([^)#\s]*)(?:#[^)\s]+)?\)")
_SECTION = re.compile(r"(?m)^## (.+)$")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the index of the pages."""
    config.nav = navigation((CHECKOUT / INDEX).read_text(encoding="utf-8"))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Give the pages the paths that they have in the repository, and add those outside `docs/` that pages link."""
    from mkdocs.structure.files import File

    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
    for path in contents(CHECKOUT):
        files.append(File(path, str(CHECKOUT), config.site_dir, config.use_directory_urls))
    return files


def navigation(index: str) -> list[dict[str, Any]]:
    """Return the home, the index, and a section for each chapter of the index with its links, as mkdocs wants them.

    A page that several lines link stands at the first of them.
    """
    seen = {"README.md", INDEX}
    entries: list[dict[str, Any]] = [{"Home": "README.md"}, {"All pages": INDEX}]
    _, *parts = _SECTION.split(index)
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        pages: list[dict[str, str]] = []
        for name, target in _LINK.findall(text):
            path = _resolved(INDEX, target)
            if path.endswith(".md") and path not in seen:
                seen.add(path)
                words = " ".join(name.split())
                pages.append({words[0].upper() + words[1:]: path})
        entries.append({title: pages})
    return entries


def contents(root: Path) -> list[str]:
    """Return the files of the site below a checkout: all of `docs/`, README.md, and what these link, and so on."""
    waiting = ["README.md", *_below(root, "docs")]
    found: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path in found or not (root / path).is_file():
            continue
        found.add(path)
        if path.endswith(".md"):
            text = _CODE.sub("", (root / path).read_text(encoding="utf-8"))
            waiting += [_resolved(path, target) for _, target in _LINK.findall(text) if ":" not in target and target]
    return sorted(found)


def _below(root: Path, folder: str) -> Iterator[str]:
    for path in (root / folder).rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            yield path.relative_to(root).as_posix()


def _resolved(page: str, target: str) -> str:
    """Return the path in the repository of a link's target."""
    parts: list[str] = []
    for part in (page.rpartition("/")[0] + "/" + unquote(target)).split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
