"""A made-up model that takes the place of the shipped one, and a copy of the product that ships it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import tomli
from msgspec.structs import replace

from hybrid.base.text import sha256_of_file
from hybrid.models.bag_model import read_bag_model, write_bag_model
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED: str = tomli.loads((CHECKOUT / "config.toml").read_text(encoding="utf-8"))["model"]["name"]
"""The model that ships now."""
SUCCESSOR = "static-v9"
_DIM = 64


def write_successor(folder: Path) -> Path:
    """Write the successor into `folder`: the first dimensions of the shipped table, under a name of its own."""
    shipped = CHECKOUT / "models" / SHIPPED
    place = folder / SUCCESSOR
    shutil.copytree(shipped, place, ignore=shutil.ignore_patterns("probe.safetensors", "manifest.toml", "README.md"))
    model = read_bag_model(shipped)
    write_bag_model(place, replace(model, table=model.table[:, :_DIM].copy()))
    digests = "\n".join(f'"{path.name}" = "{sha256_of_file(path)}"' for path in sorted(place.iterdir()))
    lines = [
        f'name = "{SUCCESSOR}"',
        f'replaces = ["{SHIPPED}"]',
        'engine = "weighted-bag"',
        f"dim = {_DIM}",
        "max_tokens = 320",
        'licence = "MIT"',
        'provenance = "made for a test"',
        f"[files]\n{digests}",
    ]
    (place / "manifest.toml").write_text("\n".join(lines) + "\n")
    return place


def next_version(folder: Path) -> Path:
    """Return a folder with the product as it will be once the successor ships in place of the present model."""
    shutil.copytree(CHECKOUT / "hybrid", folder / "hybrid", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("index", "hooks"):
        (folder / name).symlink_to(CHECKOUT / name)
    (folder / "models").mkdir()
    for path in (CHECKOUT / "models").iterdir():
        if path.name != SHIPPED:
            (folder / "models" / path.name).symlink_to(path)
    write_successor(folder / "models")
    settings = (CHECKOUT / "config.toml").read_text(encoding="utf-8")
    default = f'name = "{SHIPPED}"'
    assert 1 == settings.count(default)
    (folder / "config.toml").write_text(settings.replace(default, f'name = "{SUCCESSOR}"'), encoding="utf-8")
    return folder
