from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

HIT_KEYS = [
    "rank",
    "kind",
    "id",
    "path",
    "start_line",
    "end_line",
    "name",
    "language",
    "cosine",
    "bm25",
    "rrf",
    "relevance",
    "project",
    "text",
]


def test_search_shows_headers_and_telling_lines(shop: Shop) -> None:
    """A hit is its rank, kind, place, name and cosine, then its head and the lines that tell most."""
    shown = re.sub(r"0\.\d\d", "0.NN", shop.out("search", "rolling", "back", "a", "release", "-n", "1"))

    expected = """\
 1  [doc] docs/deploy.md:1-9 Deployment (section, cosine 0.NN)
      # Deployment

      ## Rolling back a release

      To roll back, point the load balancer at the previous image and run the down migrations.
      ...
"""
    assert expected == shown


def test_search_has_every_key_of_the_machine_form(shop: Shop) -> None:
    """`--json` holds query, mode and hits; what a hit does not have is null, never left out."""
    found = shop.json("search", "retry")

    assert {"query", "mode", "hits"} <= set(found)
    assert ("retry", "hybrid") == (found["query"], found["mode"])
    assert all(set(HIT_KEYS) <= set(hit) for hit in found["hits"])
    assert list(range(1, len(found["hits"]) + 1)) == [hit["rank"] for hit in found["hits"]]
    top = found["hits"][0]
    assert ("code", None, "src/payments/client.py", 1, "python") == tuple(
        top[key] for key in [*HIT_KEYS[1:5], "language"]
    )
    assert "shop" == top["project"]
    assert top["text"].startswith('"""Talks to the payment provider."""')
    assert 0 <= min(hit["relevance"] for hit in found["hits"]) <= max(hit["relevance"] for hit in found["hits"]) == 1


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


def test_explain_shows_both_legs_and_the_fusion(shop: Shop) -> None:
    """`--explain` names rank and score of each leg, rrf and relevance; in JSON under `steps`."""
    shown = shop.out("search", "retry", "-n", "1", "--explain", "--quiet")
    steps = shop.json("search", "retry", "-n", "1", "--explain")["hits"][0]["steps"]

    assert re.search(r"\n +cosine 0\.\d+ \(rank \d\); bm25 \d\.\d+ \(rank 1\); rrf 0\.\d+; relevance 1\.00\n", shown)
    assert {"dense", "lexical", "fusion", "floor"} <= set(steps)
    assert {"rank", "cosine"} == set(steps["dense"])


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


def test_odd_file_names_are_found(tmp_path: Path) -> None:
    """Names with spaces, quotes and other scripts go through both forms."""
    name = "naïve 'ファイル'.py"
    shop = new_shop(tmp_path, {name: "def distribute_mail():\n    return 1\n"})

    assert name in shop.out("search", "distribute_mail")
    assert name == shop.json("search", "distribute_mail")["hits"][0]["path"]
