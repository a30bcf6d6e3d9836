"""Many agents at once: prompts of several sessions on several projects, all in parallel; `speed` calls it.

Each prompt asks for one function; a session has it when that prompt or an earlier one of the session brought it.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.timing import sum_up
from hybrid.log.state import read_state
from hybrid.workspace import open_workspace
from hybrid_lab.service_process import ServiceProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.evaluation.timing import Runner

_N_PROJECTS = 5
_SESSIONS_OF_A_PROJECT = 4
_PROMPTS_OF_A_SESSION = 10
_SETTLE_S = 5.0
_SHOWN = re.compile(r"^\[code\] (\S+?):(\d+-\d+).*?(?:\n  (.*))?$", re.MULTILINE)
_TOPICS = (
    (
        "retry_charge",
        "retry a card charge after the provider timed out",
        "What happens when charging a card times out?",
    ),
    ("rotate_password", "rotate the database password in the vault", "How is the password of the database rotated?"),
    ("resize_thumbnail", "resize an uploaded photo to a thumbnail", "Where do uploaded photos become thumbnails?"),
    ("send_newsletter", "send the weekly newsletter to every subscriber", "Who mails the newsletter to subscribers?"),
    ("parse_invoice", "parse the lines of a scanned invoice", "Where are scanned invoices parsed into lines?"),
    ("lock_account", "lock a user account after failed logins", "Which code locks an account after failed logins?"),
    ("export_ledger", "export the accounting ledger as a spreadsheet", "How do we export the ledger to a spreadsheet?"),
    (
        "compress_backup",
        "compress the nightly backup before the upload",
        "Is the nightly backup compressed before upload?",
    ),
    ("translate_label", "translate the labels of a form into a language", "How are labels of a form translated?"),
    (
        "throttle_requests",
        "throttle requests of a client that asks too often",
        "Where are clients throttled that ask too often?",
    ),
)


class _Asked(Struct, frozen=True):
    """One prompt and what came of it."""

    project: int
    session: str
    wanted: str
    text: str
    seconds: float


def load_figures(folder: Path, runner: Runner) -> dict[str, Any]:
    """200 prompts in parallel from 20 sessions on 5 projects, with the usual settings and deadline.

    Args:
        folder: For the projects.
        runner: Of processes, with a home of its own.

    Returns:
        Prompts, how many sessions have what they asked for, silent ones, chunks given twice in full, counters beside
        injections, services that ran, and the wall times of the hook processes.
    """
    roots = [_project(folder / f"project-{number}") for number in range(_N_PROJECTS)]
    for root in roots:
        runner.run("-m", "hybrid", "reindex", "--quiet", "--project", str(root))
    service = ServiceProcess(runner)
    wishes = [
        (number, f"load-{number}-{session}", topic)
        for topic in _TOPICS[:_PROMPTS_OF_A_SESSION]
        for session in range(_SESSIONS_OF_A_PROJECT)
        for number in range(_N_PROJECTS)
    ]

    def ask(wish: tuple[int, str, tuple[str, str, str]]) -> _Asked:
        number, session, (name, _, prompt) = wish
        started_s = time.perf_counter()
        text = service.hook(roots[number], prompt, session=session)
        return _Asked(number, session, f"{name}.py", text, time.perf_counter() - started_s)

    with service.running(roots[0]):
        pid = service.status()["pid"]
        with ThreadPoolExecutor(len(wishes)) as pool:
            asked = list(pool.map(ask, wishes))
        time.sleep(_SETTLE_S)
        is_same = service.status()["pid"] == pid
    return _sum_up(asked, roots, runner) | {"same_service": is_same}


def _sum_up(asked: list[_Asked], roots: list[Path], runner: Runner) -> dict[str, Any]:
    by_session: dict[str, list[_Asked]] = {}
    for answer in asked:
        by_session.setdefault(answer.session, []).append(answer)
    has = sum(any(f" src/{answer.wanted}:" in other.text for other in by_session[answer.session]) for answer in asked)
    twice = 0
    for answers in by_session.values():
        shown = Counter(key for answer in answers for key in _full(answer.text))
        twice += sum(count - 1 for count in shown.values())
    counted = [read_state(open_workspace(root, environ=runner.environ).state_folder).injection_count for root in roots]
    injected = Counter(answer.project for answer in asked if answer.text)
    return {
        "prompts": len(asked),
        "have_their_chunk": has,
        "injected": sum(injected.values()),
        "silent": sum(not answer.text for answer in asked),
        "given_twice": twice,
        "counted": counted,
        "counts_are_right": counted == [injected[number] for number in range(len(roots))],
        "hook": sum_up([answer.seconds * 1000 for answer in asked]).as_json(),
    }


def _full(text: str) -> list[tuple[str, str]]:
    """Chunks that a text shows with lines of theirs."""
    return [(path, lines) for path, lines, body in _SHOWN.findall(text) if body]


def _project(root: Path) -> Path:
    (root / "src").mkdir(parents=True)
    for name, what, _ in _TOPICS:
        words = name.replace("_", " ")
        text = (
            f'"""{words.capitalize()}."""\n\n\ndef {name}(request, settings):\n'
            f'    """{what.capitalize()}."""\n    steps = settings.steps_of("{words}")\n'
            f"    for step in steps:\n        request = step.apply(request)\n    return request\n"
        )
        (root / "src" / f"{name}.py").write_text(text, encoding="utf-8")
    git = root / ".git"
    for folder in (git / "objects", git / "refs"):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n", encoding="utf-8")
    (root / "about.json").write_text(json.dumps({"made": "for a measurement"}), encoding="utf-8")
    return root
