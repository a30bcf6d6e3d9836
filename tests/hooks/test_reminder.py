"""The reminder of the lessons that are used most: off unless wanted, and never beside another text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.records import new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.records import Talk

FILES = {
    ".hybrid/LESSONS.md": """# LESSONS.md - Project Level

## Active Lessons

### [L001] [****-|-----] Squash commits before review
- **Uses**: 9 | **Velocity**: 1.0 | **Learned**: 2026-01-02 | **Last**: 2026-02-02 | **Category**: preference
> Reviewers want one commit

### [L002] [-----|-----] Never edit an applied migration
- **Uses**: 0 | **Velocity**: 0 | **Learned**: 2026-01-03 | **Last**: 2026-01-03 | **Category**: gotcha
> Write a new migration
"""
}
ELSEWHERE = "which wine goes well with grilled salmon and lemon?"
RETRY = "How does the payment client retry a request after a timeout?"


def talk_of(folder: Path, every: int) -> Talk:
    """A session in a project with a cited lesson and one that never was."""
    return new_talk(folder, FILES, is_indexed=True, lessons_remind_every=every)


def reasons(talk: Talk, *prompts: str) -> list[str]:
    """What became of some prompts."""
    return [talk.ask(prompt).decision.reason for prompt in prompts]


def test_it_is_off_by_default(tmp_path: Path) -> None:
    """No session is told twice what nobody asked for."""
    talk = new_talk(tmp_path, FILES, is_indexed=True)

    assert ["gate"] * 4 == reasons(talk, *[ELSEWHERE] * 4)


def test_it_comes_after_so_many_prompts_and_then_again(tmp_path: Path) -> None:
    """Each third prompt brings it, with the lessons that were cited, although the session has them."""
    talk = talk_of(tmp_path, 3)
    talk.start("startup")
    decided = reasons(talk, *[ELSEWHERE] * 6)
    text = talk.log()[0]

    assert ["gate", "gate", "reminded"] * 2 == decided
    assert "reminded" == text["reason"]
    assert ["L001"] == [item["id"] for item in text["items"]]


def test_the_agent_gets_its_text(tmp_path: Path) -> None:
    """The title, the rule and how to cite it stand in the answer."""
    reply = talk_of(tmp_path, 1).ask(ELSEWHERE)

    assert "Squash commits before review" in reply.text
    assert "Reviewers want one commit" in reply.text
    assert "applied migration" not in reply.text


def test_it_waits_for_a_request_that_gets_nothing_else(tmp_path: Path) -> None:
    """Neither thanks nor a prompt that fits something brings it; the next silent request does."""
    talk = talk_of(tmp_path, 2)

    assert ["gate", "injected", "prompt", "reminded"] == reasons(talk, ELSEWHERE, RETRY, "thanks", ELSEWHERE)


def test_without_a_cited_lesson_it_never_comes(tmp_path: Path) -> None:
    """A lesson that nobody has used yet is not one to be reminded of."""
    files = {name: text.replace("**Uses**: 9", "**Uses**: 0") for name, text in FILES.items()}
    talk = new_talk(tmp_path, files, is_indexed=True, lessons_remind_every=1)

    assert ["gate", "gate"] == reasons(talk, ELSEWHERE, ELSEWHERE)
