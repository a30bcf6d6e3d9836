"""`[index] roots`: in a monorepo the package that one works in comes first, then those that its manifest names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import PAYMENTS, Shop, new_shop

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "how does the payment client retry a request after a timeout"
CLIENT = PAYMENTS["src/payments/client.py"]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Three packages with nearly the same client; `web` needs `core`."""
    files = {f"packages/{name}/client.py": f"{CLIENT}\n# of {name}\n" for name in ("core", "mobile", "web")}
    files["packages/web/package.json"] = '{"dependencies": {"core": "file:../core"}}'
    shop = new_shop(tmp_path, files)
    (shop.root / ".hybrid" / "config.toml").write_text('[index]\nroots = ["packages/*"]\n')
    return shop


def _packages(shop: Shop, folder: str, *options: str) -> list[str]:
    hits = shop.json("search", QUERY, *options, cwd=shop.root / folder)["hits"]
    return list(dict.fromkeys(hit["path"].split("/")[1] for hit in hits))


@pytest.mark.parametrize("name", ["mobile", "web"])
def test_the_own_package_comes_first(shop: Shop, name: str) -> None:
    """The same question finds the file of the package in which it is asked, in a search, in all, and in a prompt."""
    folder = f"packages/{name}"
    event = {"session_id": name, "cwd": str(shop.root / folder), "prompt": QUERY}
    told = shop.out(
        "hook", "inject-context", stdin=json.dumps(event | {"hook_event_name": "UserPromptSubmit"}).encode()
    )

    assert name == _packages(shop, folder)[0]
    assert name == _packages(shop, folder, "--all")[0]
    first = told.index("packages/")
    assert told[first:].startswith(f"packages/{name}/")


def test_what_the_manifest_names_comes_next(shop: Shop) -> None:
    """`web` needs `core`: its client comes before that of `mobile`."""

    assert ["web", "core", "mobile"] == _packages(shop, "packages/web")


def test_elsewhere_and_without_the_setting_nothing_changes(shop: Shop) -> None:
    """At the top of the tree, and in a package without the setting, the order and the numbers are as ever."""
    at_top = shop.json("search", QUERY)["hits"]
    (shop.root / ".hybrid" / "config.toml").write_text("")

    assert at_top == shop.json("search", QUERY)["hits"]
    assert at_top == shop.json("search", QUERY, cwd=shop.root / "packages" / "web")["hits"]
    assert [hit["rank"] for hit in at_top] == list(range(1, len(at_top) + 1))
