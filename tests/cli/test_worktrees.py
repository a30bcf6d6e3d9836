"""A new working tree of an indexed project is answered through the index of another one until it has its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import PAYMENTS, Shop, linked_worktree, new_shop

if TYPE_CHECKING:
    from pathlib import Path

RETRY = "How does the payment client retry a request after a timeout?"
STANDS_IN = "files: the index of another working tree of this project answers until this one is indexed"
CLIENT = "src/payments/client.py"


def _tree(tmp_path: Path, **changes: str | None) -> Shop:
    """A new working tree beside an indexed one; changes: path → text, None for a file that is not there."""
    files = {path: text for path, text in {**PAYMENTS, **changes}.items() if text is not None}
    main = new_shop(tmp_path)
    return Shop(linked_worktree(main.root, tmp_path / "linked", files), main.home)


def _searched(shop: Shop) -> tuple[set[str], str]:
    """The paths that a search for a whole file's words finds, and what it says on standard error."""
    done = shop.run("search", "PaymentClient retry charge wait_before_retry", "--verbose")
    shown = done.stdout.decode()
    return {path for path in PAYMENTS if path in shown}, done.stderr.decode()


def test_a_new_tree_is_searched_at_once(tmp_path: Path) -> None:
    """Before any build a prompt gets what it gets in the other tree, and so does a search, which says why."""
    tree = _tree(tmp_path)
    main = Shop(tmp_path / "shop", tree.home)

    found, told = _searched(tree)

    assert main.hook(RETRY) == tree.hook(RETRY, session="s2") != ""
    assert CLIENT in found
    assert f"hybrid: warning: {STANDS_IN}\n" == told


@pytest.mark.parametrize("text", [None, "def other():\n    return 1\n"], ids=["missing", "another text"])
def test_what_the_files_do_not_say_is_not_shown(tmp_path: Path, text: str | None) -> None:
    """Of a file that is not there, or says something else, neither text nor name of a part is shown."""
    tree = _tree(tmp_path, **{CLIENT: text})

    found, _ = _searched(tree)

    assert CLIENT not in found
    assert "PaymentClient" not in tree.hook(RETRY)


@pytest.mark.parametrize("file", [".hybridignore", ".hybrid/config.toml", ".gitignore"])
def test_what_a_rule_of_the_tree_leaves_out_is_not_shown(tmp_path: Path, file: str) -> None:
    """A file that the rules of this tree leave out is not shown although the other index holds it."""
    rule = '[index]\nexclude = ["client.py"]\n' if file.endswith(".toml") else "client.py\n"
    tree = _tree(tmp_path, **{file: rule})

    found, _ = _searched(tree)

    assert CLIENT not in found
    assert "client.py" not in tree.hook(RETRY)


def test_status_says_what_answers(tmp_path: Path) -> None:
    """The status of such a tree is `missing` and says that another index stands in."""
    tree = _tree(tmp_path)
    index = tree.json("status")["index"]
    shown = tree.out("status", "--table")
    tree.out("reindex", "--quiet")

    assert ("missing", True) == (index["state"], index["stands_in"])
    assert "missing: another index answers" in shown
    assert ("ready", False) == tuple(tree.json("status")["index"][key] for key in ("state", "stands_in"))


def test_the_own_index_takes_over_what_is_equal(tmp_path: Path) -> None:
    """The first build embeds and writes only what differs; the rest is one file of two trees, counted once."""
    tree = _tree(tmp_path, **{"README.md": "# Shop\n\nIt sells zebras.\n"})
    summary = tree.json("reindex")
    told_bytes = tree.json("projects")["projects"][0]["size_bytes"]
    segments = sorted(tree.home.glob("projects/*/trees/*/segment-*"))
    sizes = {path.stat().st_ino: path.stat().st_size for path in tree.home.glob("projects/*/**/*") if path.is_file()}
    found, told = _searched(tree)

    assert (len(PAYMENTS), 1) == (summary["added"], summary["embedded"])
    assert (3, 2) == (len(segments), len({path.stat().st_ino for path in segments}))
    assert told_bytes <= sum(sizes.values())
    assert (CLIENT in found, "") == (True, told)
    assert "README.md" in tree.out("search", "zebras")


def test_the_views_of_the_records_begin_with_nothing(tmp_path: Path) -> None:
    """Lessons of another tree are in no file of this tree's view: strangers' records must not decide."""
    tree = _tree(tmp_path)
    main = Shop(tmp_path / "shop", tree.home)
    for number in range(4):
        main.out(
            "lessons", "add", f"Rule {number}", f"Count to {number} before a release.", "--system", "--force", "--quiet"
        )
    for shop, word in ((main, "quagga"), (tree, "zebra")):
        shop.out("init", "--quiet")
        shop.out("lessons", "add", f"Feed the {word}", f"The {word} eats grass.", "--quiet")
        shop.out("reindex", "--quiet")
    views = [[*view.glob("segment-*")] for view in tree.home.glob("records/views/lessons-*")]

    texts = [b"".join(path.read_bytes() for path in view) for view in views]
    assert [[b"quagga"], [b"zebra"]] == sorted(
        [word for word in (b"quagga", b"zebra") if word in text] for text in texts
    )
    assert {1} == {path.stat().st_nlink for view in views for path in view}


def test_a_damaged_index_stands_in_for_nothing(tmp_path: Path) -> None:
    """An index of another tree that cannot be opened is passed over: the tree has no index, as before."""
    tree = _tree(tmp_path)
    [segment] = tree.home.glob("projects/*/trees/*/segment-*")
    os.truncate(segment, 100)

    assert "no index was built here yet" in tree.error("search", "retry")
    assert "" == tree.hook(RETRY)
    assert 0 == tree.json("reindex")["embedded"]
    assert CLIENT in _searched(tree)[0]
