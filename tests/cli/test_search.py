from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.builders import new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop


def test_modes_leave_a_leg_out(shop: Shop) -> None:
    """`--mode lexical` gives only chunks with a query term, `--mode dense` ranks by cosine."""
    lexical = shop.json("search", "password", "--mode", "lexical")["hits"]
    dense = shop.json("search", "password", "--mode", "dense")["hits"]

    assert ["docs/deploy.md"] == [hit["path"] for hit in lexical]
    assert len(dense) > 1
    assert sorted((hit["cosine"] for hit in dense), reverse=True) == [hit["cosine"] for hit in dense]


def test_kind_path_and_limit_restrict(shop: Shop) -> None:
    """`--kind`, `--path` and `--limit` restrict the hits, not what they are ranked by."""
    docs = {hit["path"] for hit in shop.json("search", "payment", "--kind", "doc")["hits"]}
    users = {hit["path"] for hit in shop.json("search", "payment", "--path", "src/users")["hits"]}
    glob = {hit["path"] for hit in shop.json("search", "payment", "--path", "*.md")["hits"]}

    assert {"docs/deploy.md", "README.md"} == docs == glob
    assert {"src/users/store.py"} == users
    assert 1 == len(shop.json("search", "payment", "--limit", "1")["hits"])


def test_nothing_found_is_code_1(shop: Shop) -> None:
    """A search without a hit prints so and ends with code 1; the JSON form has an empty list."""
    assert "Nothing found.\n" == shop.out("search", "zzzqqq", "--mode", "lexical", code=1)
    assert [] == shop.json("search", "zzzqqq", "--mode", "lexical", code=1)["hits"]


@pytest.mark.parametrize(
    "arguments", [("x", "--limit", "0"), ("x", "--mode", "fuzzy"), ()], ids=["limit", "mode", "none"]
)
def test_wrong_arguments_are_code_2(shop: Shop, arguments: tuple[str, ...]) -> None:
    """A wrong argument ends with code 2, usage on standard error and nothing on standard output."""
    done = shop.run("search", *arguments)

    assert (2, b"") == (done.returncode, done.stdout)
    assert b"hybrid search: error: " in done.stderr


def test_a_changed_file_is_not_shown_as_it_was(own_shop: Shop) -> None:
    """A hit whose lines are others now has no text, and the reader is told to reindex."""
    (own_shop.root / "docs/deploy.md").write_text("# Rewritten\n")

    shown = own_shop.out("search", "rolling back a release", "-n", "1")
    hit = own_shop.json("search", "rolling back a release", "-n", "1")["hits"][0]

    assert "(changed since it was indexed: run `hybrid reindex`)" in shown
    assert ("docs/deploy.md", None) == (hit["path"], hit["text"])


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    """A key in a file is replaced in both forms."""
    secret = "AKIA" + "Q3EXAMPLEKEY7ZZZ"
    shop = new_shop(tmp_path, {"deploy.sh": f"# upload credentials\nexport AWS_ACCESS_KEY_ID={secret}\nupload\n"})

    assert secret not in shop.out("search", "upload credentials")
    assert secret not in str(shop.json("search", "upload credentials"))
