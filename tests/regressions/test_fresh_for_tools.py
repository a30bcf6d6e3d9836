"""A project that is asked about by tools or the page alone: its index follows its files, or the answer says so."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hybrid.base.atomic import locked
from hybrid.dashboard.service_client import ServiceClient
from hybrid.workspace import open_workspace
from tests.support.agent import until
from tests.support.builders import neighbour_of
from tests.support.tool_client import environment, tools_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tests.support.builders import Shop

QUESTION = "collect the lynx toll at the northern gate"
NEW = "lynx.py"
ASKED_THERE = {"query": QUESTION, "lines": True}
TEXT = 'def lynx_toll(cart):\n    """Collect the lynx toll at the northern gate."""\n    return cart\n'


@pytest.fixture
def second(serving: Shop, tmp_path: Path) -> Shop:
    """An indexed project without hooks, whose service was started for another project."""
    return neighbour_of(serving, tmp_path)


@contextmanager
def _by_search(shop: Shop) -> Generator[Callable[[], bool]]:
    with tools_of(shop) as tools:
        yield lambda: NEW in str(tools.refs(query=QUESTION))


@contextmanager
def _by_page(shop: Shop) -> Generator[Callable[[], bool]]:
    page = ServiceClient(shop.home, environment(shop))
    yield lambda: NEW in str(page.command("search", str(shop.root), ASKED_THERE).data["lists"])


@pytest.mark.parametrize("way", [_by_search, _by_page])
def test_a_new_file_is_found_without_hooks(second: Shop, way: Callable[[Shop], Generator[Callable[[], bool]]]) -> None:
    """Asked about once, a project is watched; only the one that the service was started for was."""
    with way(second) as is_found:
        assert not is_found()
        (second.root / NEW).write_text(TEXT)

        until(is_found)


def test_a_first_question_waits_for_the_files(second: Shop) -> None:
    """A file that was written before the project was asked about is found, or the answer says that it may be missing."""
    (second.root / NEW).write_text(TEXT)
    with tools_of(second) as tools:
        first = tools.text("search", query=QUESTION)

    assert NEW in first or "being brought up to date" in first.split("\n")[-1]


def test_an_answer_says_that_a_build_goes_on(second: Shop) -> None:
    """While another process holds the index, tools answer from it as it is, with the reason."""
    workspace = open_workspace(second.root, environ={"HYBRID_HOME": str(second.home)})
    (second.root / NEW).write_text(TEXT)
    with locked(workspace.place.lock, 10.0) as is_held, tools_of(second) as tools:
        assert is_held
        answers = [tools.result(name, **arguments) for name, arguments in ASKED.items()]

    told = "files: what changed since the last build may be missing: the index is being brought up to date"
    assert [told] * len(ASKED) == [answer.content[0].text.split("\n")[-1] for answer in answers]


ASKED = {
    "search": {"query": "how does the payment client retry"},
    "read": {"ref": "src/payments/client.py"},
    "context": {"prompt": "How does the payment client retry a request after a timeout?"},
    "related": {"file": "src/payments/client.py"},
}


def test_an_answer_says_that_a_build_failed(second: Shop) -> None:
    """The reason is named until a build works again; records, which need no index of files, say nothing of it."""
    [catalog] = (second.home / "projects").glob(f"{_key(second)}/catalog.db")
    for path in catalog.parent.glob("catalog.db*"):
        path.unlink()
    catalog.mkdir()
    with tools_of(second) as tools:
        until(lambda: "could not be brought up to date" in tools.text("search", query=QUESTION))
        *_, before, problem = tools.text("search", query=QUESTION).split("\n")
        assert (False, True) == ("catalog.db" in before, "catalog.db" in problem)
        assert "brought up" not in tools.text("lessons")
    page = ServiceClient(second.home, environment(second))
    found = page.command("search", str(second.root), ASKED_THERE)

    assert [problem] == found.data["problems"]


def test_without_automatic_builds_an_answer_says_so(second: Shop) -> None:
    """With `index.auto` off nothing is built behind the user's back, and the command that builds is named."""
    second.out("config", "set", "index.auto", "false", "--user")
    with tools_of(second) as tools:
        text = tools.text("search", query=QUESTION)
    second.out("config", "set", "index.auto", "true", "--user")

    assert "`hybrid reindex`" in text.split("\n")[-1]


def _key(shop: Shop) -> str:
    return open_workspace(shop.root, environ={"HYBRID_HOME": str(shop.home)}).require_project().key
