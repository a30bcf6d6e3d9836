from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.records import DECISION, HANDOFF, shop_with_records

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

COMMITS = "How should I format git commits?"
RETRY = "How does the payment client retry?"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The payments project with records; only for commands that change nothing."""
    return shop_with_records(tmp_path_factory.mktemp("recorded"))


def _found(shop: Shop, *args: str, code: int = 0) -> list[tuple[str, int]]:
    """Id of each record, or path of each file, with its rank."""
    return [(hit["id"] or hit["path"], hit["rank"]) for hit in shop.json("search", *args, code=code)["hits"]]


def test_files_are_followed_by_the_records_that_fit(recorded: Shop) -> None:
    """Each list has a heading and ranks of its own; a kind whose gate stays closed is left out."""
    shown = re.sub(r"-?0\.\d\d", "0.NN", recorded.out("search", COMMITS, "-n", "1"))

    expected = """\
Files
 1  [doc] docs/deploy.md:1-9 Deployment (section)
      # Deployment

      ## Rolling back a release

      To roll back, point the load balancer at the previous image and run the down migrations.
      ...

Lessons
 1  [lesson] L001 Git commit format (relevance 4/10)
      Use conventional commits: type(scope): description
"""
    assert expected == shown
    assert [("docs/deploy.md", 1), ("L001", 1)] == _found(recorded, COMMITS, "-n", "1")


def test_without_a_fitting_record_it_is_as_without_records(recorded: Shop, shop: Shop) -> None:
    """Where no gate of a kind of records opens, the output is that of the files alone, without a heading."""
    assert shop.out("search", RETRY) == recorded.out("search", RETRY)


def test_quiet_shows_the_header_lines_alone(recorded: Shop) -> None:
    """With `--quiet` there is a line for each hit and no heading."""
    lines = recorded.out("search", COMMITS, "-n", "1", "--quiet").splitlines()

    assert ["[doc]", "[lesson]"] == [line.split()[1] for line in lines]


def test_a_record_in_the_machine_form(recorded: Shop) -> None:
    """A record has an id and no path, lines or language; the gates of its kinds and what went wrong stand beside."""
    found = recorded.json("search", COMMITS, "-n", "1", "--explain")
    hit = found["hits"][1]

    expected: dict[str, Any] = {"rank": 1, "kind": "lesson", "id": "L001", "path": None, "start_line": None}
    expected |= {"end_line": None, "name": "Git commit format", "language": None, "project": "shop"}
    expected |= {"text": "Use conventional commits: type(scope): description"}
    assert expected == {key: hit[key] for key in expected}
    assert {"cosine", "bm25", "rrf", "relevance", "steps"} <= set(hit)
    assert {"lessons": True, "lore": False} == {kind: said["is_open"] for kind, said in found["kinds"].items()}
    assert [] == found["problems"]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("lesson",), {"L001", "L002"}),
        (("lessons",), {"L001", "L002"}),
        (("decision",), {DECISION}),
        (("handoff",), {HANDOFF}),
        (("pattern", "anti-pattern"), {"pat-000001-aaaaaaaa", "anti-000001-bbbbbbbb"}),
        (("lore",), {DECISION, HANDOFF, "pat-000001-aaaaaaaa", "anti-000001-bbbbbbbb"}),
        (("doc", "decision"), {"docs/deploy.md", "README.md", DECISION}),
    ],
    ids=["lesson", "lessons", "decision", "handoff", "patterns", "lore", "doc-decision"],
)
def test_kinds_choose_what_is_searched(recorded: Shop, kinds: tuple[str, ...], expected: set[str]) -> None:
    """Kinds that are named are searched whatever a gate would say; what was deleted or retracted is never found."""
    options = [option for kind in kinds for option in ("--kind", kind)]

    assert expected == {name for name, _ in _found(recorded, "a question about bash commits", *options)}


def test_path_restricts_to_files(recorded: Shop) -> None:
    """With `--path` there are no records; to ask for both is an error that says so."""
    assert {"docs/deploy.md"} == {name for name, _ in _found(recorded, COMMITS, "--path", "docs")}
    assert "leave out the path or the records" in recorded.error(
        "search", COMMITS, "--path", "docs", "--kind", "lessons"
    )


def test_records_answer_without_an_index_of_the_files(tmp_path: Path) -> None:
    """Before the first index a fitting record is found, and a warning says what is missing; without one it fails."""
    shop = shop_with_records(tmp_path, is_indexed=False)

    done = shop.run("search", COMMITS, "--json")
    quiet = shop.out("search", COMMITS, "--quiet")
    asked = shop.out("search", COMMITS, "--kind", "lesson", "-n", "1")

    form = json.loads(done.stdout)
    assert (0, ["L001"]) == (done.returncode, [hit["id"] for hit in form["hits"]])
    assert (None, None) == (form["top_cosine"], form["candidates"])
    (problem,) = form["problems"]
    assert problem.startswith("files: ")
    assert f"hybrid: warning: {problem}\n" == done.stderr.decode()
    assert [" 1  [lesson] L001 Git commit format (relevance 4/10)"] == quiet.splitlines()
    assert "Lessons" == asked.splitlines()[0]
    assert "hybrid reindex" in shop.error("search", RETRY)


def test_lore_is_ranked_by_the_one_engine(recorded: Shop) -> None:
    """`lore search` finds by sense what shares no word, leaves out what does not fit, and knows `--kind`."""
    by_sense = recorded.json("lore", "search", "shell calculation ends with an error code")["records"]
    journal = recorded.json("lore", "search", "audit journal", "--kind", "decision")["records"]

    assert "pat-000001-aaaaaaaa" == by_sense[0]["id"]
    assert [DECISION] == [one["id"] for one in journal]
    assert "Nothing found.\n" == recorded.out("lore", "search", "pizza oven", code=1)


def test_lore_search_of_everything_ends_with_what_was_withdrawn(recorded: Shop) -> None:
    """With `--all` withdrawn records that share a word follow those that hold."""
    found = recorded.json("lore", "search", "audit journal in Redis", "--all")["records"]

    assert [DECISION, "dec-0f1e2d3c"] == [found[0]["id"], found[-1]["id"]]
    assert "retracted" == found[-1]["status"]


def test_lore_search_without_an_index_is_by_words(tmp_path: Path) -> None:
    """Where the index cannot be made, keywords rank, and a line on standard error says why."""
    shop = shop_with_records(tmp_path, is_indexed=False)
    (shop.home / "records").write_text("not a folder")

    done = shop.run("lore", "search", "audit journal", "--json")

    assert (0, [DECISION]) == (done.returncode, [one["id"] for one in json.loads(done.stdout)["records"]])
    assert done.stderr.decode().startswith("hybrid: warning: ranked by words alone: lore: ")
    assert [DECISION] == [one["id"] for one in shop.json("lore", "search", "audit journal", "--quiet")["records"]]
