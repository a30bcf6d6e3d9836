"""Records that name code: raised beside a file that fits, marked when what they name moved, held back when it is gone."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from hybrid.knowledge.named_code import code_names
from hybrid.records.memory.types import Extracted, Owner
from hybrid.upkeep.indexing import reindex
from tests.support.builders import PAYMENTS
from tests.support.memories import FIRST_MS
from tests.support.records import DECISION, DECISIONS, Talk, accept_tree, ids, lesson_file
from tests.support.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.answer.events import Reply

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

CLIENT, STORE, LEDGER = "src/payments/client.py", "src/users/store.py", "src/payments/ledger.py"
BOOK = '"""Keeps the book."""\n\n\ndef post_entry(amount):\n    """Write one line of the book."""\n    return amount\n'
LESSONS = (
    ("L001", "Write the book in order", f"in {LEDGER} sort entries by time before they are posted"),
    ("L002", "Git commit format", "Use conventional commits: type(scope): description"),
    ("L003", f"Balances in {LEDGER}", "round the balance of an account once, at the end of the month"),
    ("L004", "The ledger was removed", f"{LEDGER} lost entries, do not bring it back: `save` keeps what is needed"),
    ("L005", "Squash before review", "Reviewers want one commit"),
)
ENTRIES = "in which order are entries of the book sorted before they are posted?"
BALANCE = "When do we round the balance of an account at the end of the month?"
REMOVED = "bring back the ledger: entries were lost, what do we save?"
"""A prompt for each of the lessons L001, L003 and L004."""


class Project:
    """The payments project with a ledger in git, lessons, and a session that is answered in this process."""

    def __init__(self, folder: Path, lessons: tuple[tuple[str, str, str], ...] = LESSONS) -> None:
        self.git = Repository(folder / "shop")
        self.git.commit("Make a shop", {**PAYMENTS, LEDGER: BOOK})
        self.git.commit("Keep a book", {LEDGER: f"{BOOK}\n# by time\n"})
        self.talk = Talk(folder / "shop", folder / "home", flags={"hooks.dedup_enabled": False})
        self.teach(*lessons)
        self.commit("Index it")

    def teach(self, *lessons: tuple[str, str, str]) -> None:
        """Replace the lessons of the project."""
        self.talk.write(".hybrid/LESSONS.md", lesson_file(*lessons))
        accept_tree(self.talk.root, self.talk.home)

    def commit(self, subject: str, **files: str) -> None:
        """Commit what changed, and bring the index up to date."""
        self.git.commit(subject, files)
        reindex(self.talk.workspace())

    def remove(self) -> None:
        """Delete the ledger in a commit."""
        (self.talk.root / LEDGER).unlink()
        self.commit("Drop the book")

    def asked(self, prompt: str, **flags: object) -> Reply:
        """What a prompt gets; nothing is recorded."""
        reply = self.talk.reply("UserPromptSubmit", prompt=prompt, flags=flags)
        reply.drop()
        return reply

    def reasons(self, prompt: str) -> dict[str, str]:
        """Id of a record, or path → why it was withheld."""
        return {entry.hit.path: entry.reason for entry in self.asked(prompt).decision.withheld}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The payments project, with `LESSONS`."""
    return Project(tmp_path)


# --- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "paths", "symbols"),
    [
        ("see src/a.py:12, `b.py` and ./c/d.go", ("src/a.py", "b.py", "c/d.go"), ()),
        ("call retry_call() before Router.add", (), ("retry_call", "Router.add")),
        ("keep input/output and read/write apart, e.g. by a wrapper", (), ()),
        ("use https://example.org/x/y.py or /etc/hosts.conf, ~/a.toml, ../b.py", (), ()),
        ("pass --no-color and set $HOME", (), ()),
        ("write a new migration; the old one has run", (), ()),
    ],
)
def test_names_are_what_only_code_is_spelled_like(text: str, paths: tuple[str, ...], symbols: tuple[str, ...]) -> None:
    """Paths with the ending of a file and symbols count; prose, options and what lies outside of a project do not."""
    names = code_names(text)

    assert paths == names.paths
    assert symbols == names.symbols


# --- gone -------------------------------------------------------------------------------------------------


def test_a_lesson_about_a_deleted_file_is_held_back(project: Project) -> None:
    """It comes as long as the file is there, and no more once a commit deleted it; the reason is told."""
    before = ids(project.asked(BALANCE))
    project.remove()

    assert "L003" in before
    assert "names_gone" == project.reasons(BALANCE)["L003"]
    assert "L003" not in ids(project.asked(BALANCE))
    assert "L003" in ids(project.asked(BALANCE, hooks_check_names=False))


def test_explain_names_what_was_held_back(project: Project) -> None:
    """The log keeps the reason, and its line for people."""
    from hybrid.operations.sessions import lines_of_event

    project.remove()
    project.talk.ask(BALANCE)
    lines = lines_of_event(project.talk.log()[0])

    assert any("names_gone" in line for line in lines)
    assert any("L003" in line and "(about code that is gone)" in line for line in lines)


@pytest.mark.parametrize(("prompt", "lesson"), [(REMOVED, "L004"), (ENTRIES, "L001"), (f"{BALANCE} ledger.py", "L003")])
def test_what_is_still_true_comes(project: Project, prompt: str, lesson: str) -> None:
    """A lesson on the removal, one that names the file in passing, and one whose file the prompt names."""
    project.remove()

    assert lesson in ids(project.asked(prompt))


def test_a_mention_of_a_deleted_file_is_marked(project: Project) -> None:
    """Who gets the lesson is told that the file is not there; a lesson that tells of the removal needs no mark."""
    before = project.asked(ENTRIES).text
    project.remove()

    assert "is not there" not in before
    assert f"  ({LEDGER} is not there)" in project.asked(ENTRIES).text.split("\n")
    about_it = project.asked(REMOVED).text.split("[lesson] L004")[1]
    assert "is not there" not in about_it.split("\n[")[0]


def test_without_proof_a_lesson_is_only_marked(project: Project) -> None:
    """What no commit deleted may lie on another branch, or never was: the lesson comes."""
    project.teach(("L003", "Balances in src/payments/planned.py", "round the balance of an account once a month"))

    reply = project.asked(BALANCE)
    assert "L003" in ids(reply)
    assert "(src/payments/planned.py is not there)" in reply.text


def test_a_file_that_is_not_indexed_is_there(project: Project) -> None:
    """The disk is asked before anything is called gone: a file may be ignored, or newer than the index."""
    project.remove()
    project.talk.write(LEDGER, BOOK)

    reply = project.asked(BALANCE)
    assert "L003" in ids(reply)
    assert "is not there" not in reply.text


def test_a_living_symbol_keeps_its_lesson(project: Project) -> None:
    """As long as something that a lesson names is there, it comes."""
    project.teach(("L003", f"Balances in {LEDGER}", "`find_by_email` rounds the balance of an account at the end"))
    project.remove()

    assert "L003" in ids(project.asked(BALANCE))


# --- moved ------------------------------------------------------------------------------------------------


def test_git_tells_where_a_file_went(project: Project) -> None:
    """A file that got another name is named by it, and the lesson is not held back."""
    project.git.git("mv", LEDGER, "src/payments/book.py")
    project.commit("Give it a better name")

    reply = project.asked(BALANCE)
    assert "L003" in ids(reply)
    assert f"({LEDGER} is now src/payments/book.py)" in reply.text


def test_a_file_of_the_name_elsewhere_is_told(project: Project) -> None:
    """A file that moved and changed in one commit is found by its name, if one other file alone has it."""
    (project.talk.root / LEDGER).unlink()
    project.commit("Put books together", **{"src/books/ledger.py": f"{BOOK}\n\ndef close_book():\n    return 0\n"})
    told = project.asked(BALANCE).text
    project.commit("Add another one", **{"src/old/ledger.py": BOOK})
    several = project.asked(BALANCE)

    assert f"({LEDGER} is not there; src/books/ledger.py has its name)" in told
    assert "L003" in ids(several)
    assert "has its name" not in several.text


def test_a_symbol_that_moved_is_told(project: Project) -> None:
    """The file that a lesson names beside it does not hold it any more, and one other file defines it."""
    project.teach(("L003", "Balances", f"`post_entry` in {STORE} rounds the balance of an account at the end"))
    told = project.asked(BALANCE).text
    project.commit("Use it", **{STORE: f"{PAYMENTS[STORE]}\n\nfrom ledger import post_entry\n"})

    assert f"(`post_entry` is defined in {LEDGER})" in told
    assert "is defined in" not in project.asked(BALANCE).text


def test_a_symbol_of_three_places_has_none(project: Project) -> None:
    """Nothing is said of where it is, and it is not missing."""
    project.teach(("L003", "Balances", f"`post_entry` in {STORE} rounds the balance of an account at the end"))
    project.commit("Copy it", **{"src/a.py": BOOK, "src/b.py": BOOK})

    reply = project.asked(BALANCE)
    assert "L003" in ids(reply)
    assert "post_entry` is" not in reply.text


def test_a_symbol_that_is_nowhere_is_told(project: Project) -> None:
    """Only one that is written as code: a name in prose may be a product's."""
    project.teach(("L003", "Balances", "`round_all_balances` and SalesCloud round the balance of an account"))

    text = project.asked(BALANCE).text
    assert "(`round_all_balances` is not found in the code)" in text
    assert "(`SalesCloud`" not in text


# --- raised -----------------------------------------------------------------------------------------------

SENDING = "PaymentClient.retry sends a charge again after a timeout, make that stop"


def test_a_record_beside_a_fitting_file_has_more_evidence(project: Project) -> None:
    """Of two lessons that say the same, the one that names the file comes first, and explain says why."""
    same = "charges that are sent again after a timeout need a key"
    project.teach(("L001", "Charge once", same), ("L002", "Charge once only", f"{same} ({CLIENT})"), *LESSONS[4:])
    reply = project.asked(SENDING)
    reversed_order = project.asked(SENDING, hooks_check_names=False)

    why = {item.hit.path: item.why for item in reply.decision.items}
    assert ["L002", "L001"] == [one for one in ids(reply) if one.startswith("L")]
    assert f"names {CLIENT}" == why["L002"]
    assert "" == why["L001"]
    assert ["L001", "L002"] == sorted(one for one in ids(reversed_order) if one.startswith("L"))


def test_a_record_just_below_its_bar_passes_beside_its_file(project: Project) -> None:
    """Its file among the best lets it pass; with the weight 0, or where no file fits, it does not."""
    project.teach(*LESSONS, ("L006", "Order keys", f"{CLIENT} must not be called from a worker"))
    fitting = "Fix the endless retry loop of the payment client: stop after some attempts"

    assert "L006" not in ids(project.asked(fitting, gate_file=0.0))
    assert "L006" in ids(project.asked(fitting))
    assert "L006" not in ids(project.asked("Which wine goes with grilled salmon tonight?", gate_file=0.6))


# --- whose records ----------------------------------------------------------------------------------------


def test_records_of_nobody_are_not_judged(project: Project) -> None:
    """A decision of the project is marked; one that names no project may speak of another one's code."""
    gone = {**DECISIONS[0], "decision": "Round the balance of an account in src/payments/planned.py at month's end"}
    marks: list[bool] = []
    for own in (gone, {name: value for name, value in gone.items() if name != "project"}):
        project.talk.write(".hybrid/lore/journal/data/decisions.jsonl", json.dumps(own) + "\n")
        accept_tree(project.talk.root, project.talk.home)
        reply = project.asked(BALANCE)
        assert DECISION in ids(reply)
        marks.append("is not there" in reply.text)

    assert [True, False] == marks


def test_a_record_without_names_is_as_before(project: Project) -> None:
    """What names nothing of the code is given byte for byte as without the check."""
    project.teach(*(one for one in LESSONS if one[0] in ("L002", "L005")))
    prompt = "How should I format the git commits of this change?"

    assert "L002" in ids(project.asked(prompt))
    assert project.asked(prompt, hooks_check_names=False).text == project.asked(prompt).text


def test_without_an_index_nothing_is_judged(project: Project) -> None:
    """Lessons come as they are written while there is nothing to look names up in."""
    project.remove()
    shutil.rmtree(project.talk.workspace().place.folder)
    fresh = Talk(project.talk.root, project.talk.home, flags=project.talk.flags)

    answered = fresh.reply("UserPromptSubmit", prompt=BALANCE)
    answered.drop()
    assert "L003" in ids(answered)
    assert "is not there" not in answered.text


def test_observations_are_judged_in_their_own_project(project: Project) -> None:
    """One of this project on a deleted file is held back; one of another project is not looked up."""
    found = project.talk.workspace().require_project()
    store = project.talk.kinds.stores.memory(project.talk.workspace())
    told = Extracted(
        "discovery", f"Read {LEDGER}: balances", narrative="The balance of an account is rounded once a month"
    )
    assert store.add_observation(Owner("earlier", found.key, found.name), told, FIRST_MS)
    before = project.asked(BALANCE)
    project.remove()

    assert any(path.startswith("o1/") for path in ids(before))
    assert "names_gone" in project.reasons(BALANCE).values()
    assert not any(path.startswith("o1/") for path in ids(project.asked(BALANCE)))


def test_doctor_names_records_of_code_that_is_not_there(project: Project) -> None:
    """A line with their number, the first of them, and what to do."""
    from hybrid.health.doctor import check_records

    before = [finding.what for finding in check_records(project.talk.workspace(), {})]
    project.remove()
    after = [finding.what for finding in check_records(project.talk.workspace(), {})]

    assert not any("named by" in what for what in before)
    assert any(f"named by 2 records (L001: {LEDGER} is not there; L003" in what for what in after)
