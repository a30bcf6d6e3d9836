"""One spelling for all URLs of a repository; `find` makes the key and the name of a project from it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

_HELPER = re.compile(r"^[A-Za-z0-9]+::")
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(/.*)?$", re.DOTALL)
_SCP = re.compile(r"^(?:[^@/]+@)?(\[[^\]]+\]|[^:/@\[\]]{2,}):(.*)$", re.DOTALL)
_PORT = re.compile(r":\d*$")


def normalise_origin(url: str, base: Path) -> str:
    """`host/path` of a URL: no scheme, user, port or `.git`, host in lower case; a real path for a repository on disk.

    Args:
        url: As it stands in the configuration: `https://…`, `ssh://…`, `git@host:path`, `file://…` or a path.
        base: Folder that a relative path starts from.

    Returns:
        Empty for an empty URL. Letter case of the path is kept: some hosts tell it apart.
    """
    url = _HELPER.sub("", url.strip())
    if not url:
        return ""
    matched = _URL.match(url)
    if matched is not None:
        scheme, authority, path = matched.group(1).lower(), matched.group(2), unquote(matched.group(3) or "")
        return _on_disk(path, base) if scheme == "file" else _on_host(_PORT.sub("", authority), path)
    scp = _SCP.match(url)
    if scp is not None:
        return _on_host(scp.group(1), scp.group(2))
    return _on_disk(url, base)


def name_of_origin(origin: str) -> str:
    """Last part of a normalised origin; empty when there is none."""
    return re.split(r"[/\\]", origin.rstrip("/\\"))[-1]


def _on_host(authority: str, path: str) -> str:
    host = authority.rpartition("@")[2].lower()
    parts = [part for part in _without_git(path).split("/") if part]
    return "/".join([host, *parts])


def _on_disk(path: str, base: Path) -> str:
    # A repository's own path, so that a clone of one on disk has the key of the one it came from.
    if re.match(r"^/[A-Za-z]:[/\\]", path):
        path = path[1:]
    real = os.path.realpath(base / path)
    return _without_git(real)


def _without_git(path: str) -> str:
    bare = path.rstrip("/\\")
    stem = bare.removesuffix(".git")
    # The `.git` folder itself is named after the folder around it.
    return stem.rstrip("/\\")
