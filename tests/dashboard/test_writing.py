"""What a person writes down on the page: lore of each kind, lessons for all projects; as the commands do."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.dashboard.service_client import PageError, ServiceClient
from tests.support.builders import Shop, command_environment, git_project
from tests.support.pages import CONTROL, SCRIPT, SECRET, key_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.browsing import Browser
    from tests.support.pages import Served

RECORDS: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    (
        "decision",
        {
            "text": "Keep one queue",
            "why": "Two get out of step",
            "alternative": "Two\r\nNone",
            "tag": "a\r\nb",
        },
        {"decision": "Keep one queue", "alternatives": ["Two", "None"], "tags": ["a", "b"]},
    ),
    (
        "pattern",
        {"name": "Quote paths", "solution": 'Write "$path"', "category": "bash", "confidence": "0.8"},
        {"name": "Quote paths", "solution": 'Write "$path"', "category": "bash", "confidence": "0.8"},
    ),
    (
        "anti-pattern",
        {"name": "Sleep in tests", "symptom": "Slow", "fix": "Wait for the event", "severity": "high"},
        {"name": "Sleep in tests", "symptom": "Slow", "fix": "Wait for the event", "severity": "high"},
    ),
    (
        "handoff",
        {"message": "Refunds work, partial ones do not", "next": "Round the cents\r\nTell the shop"},
        {"message": "Refunds work, partial ones do not", "next_steps": ["Round the cents", "Tell the shop"]},
    ),
]


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """The parts of a record; those of a handoff stand in an object of their own."""
    fields = record["fields"]
    return {**fields, **next((part for part in fields.values() if isinstance(part, dict) and "message" in part), {})}


@pytest.mark.parametrize(("kind", "form", "written"), RECORDS, ids=[kind for kind, _, _ in RECORDS])
def test_lore_is_written_down_as_the_commands_do(
    served: Served, browser: Browser, kind: str, form: dict[str, str], written: dict[str, Any]
) -> None:
    """The form of each kind leads to the list, which shows the new record; the command shows the same."""
    base, shop = f"{served.base}/lore", served.shop
    fields = browser.get(f"{base}/add?kind={kind}")
    done = browser.post(f"{base}/add", {"kind": kind, **form})
    listed = browser.get(done.headers["location"]).words
    ref = re.search(r"([a-z]+-[0-9a-f-]+) +written", listed)
    assert ref
    record = _flat(shop.json("lore", "show", ref[1])["records"][0])

    assert all(f'name="{name}"' in fields.text for name in form)
    assert 303 == done.status
    assert written == {name: record.get(name) for name in written}


def test_lore_that_cannot_be_written_stays_in_the_form(served: Served, browser: Browser) -> None:
    """A part that is missing, a number that is none, or a like record: the reason is told, nothing typed is lost."""
    base = f"{served.base}/lore"
    browser.get(f"{base}/add?kind=decision")
    empty = browser.post(f"{base}/add", {"kind": "decision", "text": "Use one lock", "why": " "})
    number = browser.post(f"{base}/add", {"kind": "pattern", "name": "n", "solution": "s", "confidence": "much"})
    zero = browser.post(f"{base}/add", {"kind": "pattern", "name": "n", "solution": "s", "confidence": "0"})
    twin = {"kind": "decision", "text": "Use one lock for all files", "why": "Two wait for each other"}
    first = browser.post(f"{base}/add", twin)
    second = browser.post(f"{base}/add", twin)
    forced = browser.post(f"{base}/add", twin | {"force": "1"})

    assert [409, 409, 409, 303, 409, 303] == [one.status for one in (empty, number, zero, first, second, forced)]
    assert "the why is empty" in empty.words
    assert 'value="Use one lock"' in empty.text
    assert "Expected float" in number.words
    assert "must lie above 0" in zero.words
    assert "says nearly the same" in second.words
    assert "--force" not in second.words
    assert "Two wait for each other</textarea>" in second.text


def test_an_unknown_kind_of_lore_is_asked_for(served: Served, browser: Browser) -> None:
    """Without a kind the page offers all four; a change of none is refused."""
    base = f"{served.base}/lore"
    offered = browser.get(f"{base}/add?kind=poem")
    refused = browser.post(f"{base}/add", {"kind": "poem", "message": "roses"})

    assert {f"{base}/add?kind={kind}" for kind, _, _ in RECORDS} <= set(offered.links())
    assert 400 == refused.status


def test_what_is_written_down_holds_no_secret(served: Served, browser: Browser) -> None:
    """Secrets are taken out before a file holds them; markup is shown as text, also in the form that comes back."""
    base, shop = f"{served.base}/lore", served.shop
    browser.get(f"{base}/add?kind=decision")
    form = {"kind": "decision", "text": f"Rotate {SECRET} {SCRIPT}", "why": f"It leaked {CONTROL}"}
    done = browser.post(f"{base}/add", form)
    page = browser.get(done.headers["location"])
    back = browser.post(f"{base}/add", form | {"why": ""})

    assert SECRET not in page.text + back.text + shop.out("lore", "list", "--json")
    assert SCRIPT not in page.text + back.text
    assert "Rotate [redacted:github_token]" in page.words


def test_a_lesson_is_promoted_after_a_question(served: Served, browser: Browser) -> None:
    """The link leads to a question, its form makes the lesson one for all projects, as the command does."""
    base, shop = f"{served.base}/lessons", served.shop
    shop.out("lessons", "add", "Name the unit", "A figure has a unit", "--quiet")
    name = next(one["id"] for one in shop.json("lessons", "list")["lessons"] if one["title"] == "Name the unit")
    asked = browser.get(f"{base}/promote?id={name}").words
    done = browser.post(f"{base}/promote", {"id": name})
    told = browser.get(done.headers["location"]).words
    copy = next(one for one in shop.json("lessons", "list")["lessons"] if one["title"] == "Name the unit")
    again = browser.post(f"{base}/promote", {"id": copy["id"]})
    unknown = browser.post(f"{base}/promote", {"id": "L999"})

    assert f"Make {name} a lesson for all projects?" in asked
    assert f"{name} is now {copy['id']}, for all projects." in told
    assert copy["id"].startswith("S")
    assert 409 == again.status
    assert "is a lesson for all projects already" in again.words
    assert 409 == unknown.status
    assert f"{base}/promote?id={copy['id']}" not in browser.get(base).links()


def test_a_lesson_that_must_not_be_promoted_is_not(served: Served, browser: Browser) -> None:
    """The page says so in place of the button, and the change is refused."""
    base, shop = f"{served.base}/lessons", served.shop
    shop.out("lessons", "add", "Only here", "This shop closes at noon", "--quiet")
    name = next(one["id"] for one in shop.json("lessons", "list")["lessons"] if one["title"] == "Only here")
    shop.out("lessons", "edit", name, "--promotable", "no", "--quiet")
    asked = browser.get(f"{base}/promote?id={name}")
    refused = browser.post(f"{base}/promote", {"id": name})

    assert "Promotable: no" in asked.words
    assert f'action="{base}/promote"' not in asked.text
    assert 409 == refused.status


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("lore/add", {"kind": "handoff", "message": "forged"}),
        ("lessons/promote", {"id": "L001"}),
        ("lessons/add", {"title": "forged", "content": "forged"}),
    ],
)
def test_a_change_without_the_token_of_the_session_is_refused(
    served: Served, browser: Browser, path: str, form: dict[str, object]
) -> None:
    """A form of another page cannot know it; nothing is written."""
    browser.get(f"{served.base}/lore")
    bare = browser.post(f"{served.base}/{path}", form, forgery=False)
    wrong = browser.post(f"{served.base}/{path}", {**form, "forgery": "x" * 43}, forgery=False)
    elsewhere = browser.post(f"{served.base}/{path}", form, headers={"Origin": "http://evil.example"})

    assert [403, 403, 403] == [one.status for one in (bare, wrong, elsewhere)]
    assert "forged" not in served.shop.out("lore", "list", "--all") + served.shop.out("lessons", "list")
    assert "L001" in served.shop.out("lessons", "list")


@pytest.fixture(scope="module")
def lost(served: Served, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Beginning of the paths of a project that was indexed once, and whose folder is gone."""
    shop = Shop(git_project(tmp_path_factory.mktemp("lost") / "attic", {"a.md": "# Attic\n"}), served.shop.home)
    shop.out("reindex", "--quiet")
    key = key_of(shop)
    shutil.rmtree(shop.root)
    return f"/p/{key}"


def test_nothing_is_written_down_for_a_project_whose_folder_is_gone(
    served: Served, browser: Browser, lost: str
) -> None:
    """No form is offered, and a record that is sent all the same reaches no other project."""
    shop, form = served.shop, {"kind": "decision", "text": "Keep the attic dry", "why": "It leaked"}
    lore, form_page, lessons = (browser.get(f"{lost}/{path}") for path in ("lore", "lore/add?kind=decision", "lessons"))
    refused = browser.post(f"{lost}/lore/add", form)
    added = [
        browser.post(f"{lost}/lessons/add", {"title": "Attic", "content": "Mind the attic", "level": level})
        for level in ("project", "system")
    ]
    edited = browser.post(f"{lost}/lessons/edit", {"id": "L001", "title": "Attic", "content": "Mind the attic"})
    deleted = browser.post(f"{lost}/lessons/delete", {"id": "L001"})

    assert "Write something down" not in lore.words
    assert "The folder of this project is gone" in lore.words
    assert "Nothing can be written down: the folder of this project is gone" in form_page.words
    assert "Add a lesson" not in lessons.words
    assert [409] * 5 == [one.status for one in (refused, *added, edited, deleted)]
    assert "the folder of this project is gone" in refused.words
    assert "Keep the attic dry" in refused.text
    assert all("the folder of this project is gone" in one.words for one in (*added, edited, deleted))
    assert not any("--project" in one.text for one in (*added, edited, deleted))
    assert "attic" not in (shop.out("lore", "list", "--all") + shop.out("lessons", "list")).lower()


def test_the_service_writes_nothing_down_without_a_project(served: Served, tmp_path: Path) -> None:
    """A folder that is no project any more when the form is sent: the service refuses as well."""
    shop, service = served.shop, ServiceClient(served.shop.home, command_environment(served.shop.home))
    decision = {"text": "Mend the roof", "why": "It leaks"}
    lesson = {"title": "Roof", "content": "Mend the roof"}
    edited = {"id": "L001", **lesson}
    for name, arguments in (("lore decide", decision), ("lessons add", lesson), ("lessons edit", edited)):
        with pytest.raises(PageError) as refused:
            service.command(name, str(tmp_path), arguments)
        assert "no_project" == refused.value.kind

    assert "roof" not in (shop.out("lore", "list", "--all") + shop.out("lessons", "list")).lower()


def test_what_is_switched_off_is_not_written(served: Served, browser: Browser) -> None:
    """As the tools of an agent refuse it: with a sentence, in the form before anything is typed, and after."""
    shop, base = served.shop, served.base
    shop.out("lessons", "add", "Switch", "A lesson to be taken away", "--quiet")
    name = next(one["id"] for one in shop.json("lessons", "list")["lessons"] if one["title"] == "Switch")
    settings = shop.root / ".hybrid" / "config.toml"
    before = settings.read_text() if settings.exists() else None
    decision = {"kind": "decision", "text": "Write in the dark", "why": "Why not"}
    lesson = {"title": "Dark", "content": "Write in the dark"}
    try:
        settings.write_text("[lore]\nenabled = false\n[lessons]\nenabled = false\n")
        lore, form, lessons = (browser.get(f"{base}/{path}") for path in ("lore", "lore/add?kind=decision", "lessons"))
        refused = browser.post(f"{base}/lore/add", decision)
        added = browser.post(f"{base}/lessons/add", lesson)
        edited = browser.post(f"{base}/lessons/edit", {"id": name, **lesson})
        promoted = browser.post(f"{base}/lessons/promote", {"id": name})
        opened = browser.get(f"{base}/lessons/edit?id={name}")
        deleted = browser.post(f"{base}/lessons/delete", {"id": name})
    finally:
        settings.unlink() if before is None else settings.write_text(before)

    assert "Write something down" not in lore.words
    assert "Nothing can be written down: lore is switched off here ( lore.enabled )" in form.words
    assert "Add a lesson" not in lessons.words
    assert f"{base}/lessons/edit?id={name}" not in lessons.links()
    assert [409, 409, 400, 400, 409] == [one.status for one in (refused, added, edited, promoted, opened)]
    assert "lore is switched off here" in refused.words
    assert all("lessons are switched off here" in one.words for one in (added, edited, promoted, opened))
    assert "Write in the dark</textarea>" in added.text
    assert 303 == deleted.status
    assert "in the dark" not in shop.out("lore", "list", "--all") + shop.out("lessons", "list")
