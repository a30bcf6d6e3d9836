"""What may go wrong with the service while an agent works: no prompt waits beyond the deadline, none shows an error."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid import __version__
from hybrid.ipc.start import kept_environment, start_command
from hybrid.ipc.wire import read_endpoint
from tests.support.agent import Agent, is_alive, kill, until
from tests.support.builders import CHECKOUT

RETRY = "How does the payment client retry?"
ROTATE = "How do I rotate the database password?"
FRAME = "--- hybrid context (auto-injected"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the faults are made with signals and limits of POSIX")


def _two_prompts(agent: Agent) -> list[bool]:
    """Two prompts after a fault, each of a session of its own: did they get their text?"""
    return [agent.prompt(prompt, f"after-{prompt}").text.startswith(FRAME) for prompt in (RETRY, ROTATE)]


def test_the_service_is_killed(served: Agent) -> None:
    """After kill -9 the next prompt is answered, and another service takes over."""
    pid = served.wait_for_service()
    kill(pid)
    answers = _two_prompts(served)
    served.wait_for_service()

    assert [True, True] == answers
    assert pid != served.wait_for_service()


def test_the_service_is_stopped(served: Agent) -> None:
    """A suspended service is not waited for; one that does not come back is replaced."""
    pid = served.wait_for_service()
    kill(pid, signal.SIGSTOP)
    # A sixth of the deadline goes to waiting for it.
    answers = _two_prompts(Agent(served.shop, deadline_ms=20_000))
    until(lambda: not is_alive(pid))

    assert [True, True] == answers
    assert pid != served.wait_for_service()


def test_a_stopped_service_delays_no_prompt_beyond_the_deadline(served: Agent) -> None:
    """With the usual deadline a prompt that meets a suspended service ends in time, answered or silent."""
    impatient = Agent(served.shop, deadline_ms=1500)
    kill(served.wait_for_service(), signal.SIGSTOP)
    answer = impatient.prompt(RETRY)

    assert (0, b"") == (answer.code, answer.err)


def test_the_socket_is_deleted(served: Agent) -> None:
    """A service that nobody can reach any more ends, and another one takes its place."""
    pid = served.wait_for_service()
    Path((read_endpoint(str(served.shop.home)) or {})["socket"]).unlink()
    answers = _two_prompts(served)
    until(lambda: not is_alive(pid))

    assert [True, True] == answers
    assert pid != served.wait_for_service()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"pid 999999999\nprotocol 1\nversion 0.1.0\nsocket /nowhere/x.sock\nend\n",
        b"pid 1\nprotocol 1\nversion 0.1.0\nport 1\ntoken t\nend\n",
    ],
    ids=["empty", "dead", "nobody listens"],
)
def test_the_file_that_tells_of_the_service_is_stale_or_damaged(agent: Agent, content: bytes) -> None:
    """Whatever stands in the endpoint file, prompts are answered and a service comes up."""
    run = agent.shop.home / "run"
    run.mkdir(parents=True, exist_ok=True)
    (run / "daemon").write_bytes(content)
    (run / "daemon.pid").write_bytes(b"999999999")

    assert [True, True] == _two_prompts(agent)
    agent.wait_for_service()


def test_nothing_can_be_written(served: Agent) -> None:
    """On a full disk prompts are answered, by the service and without it, and nothing is said about it."""
    limited = start_command("hook", "run", "--client", "claude", "--event", "UserPromptSubmit")

    def ask(session: str) -> tuple[int, bytes, bool]:
        event = {"session_id": session, "cwd": str(served.shop.root), "prompt": RETRY}
        done = subprocess.run(
            limited,
            input=json.dumps(event).encode(),
            capture_output=True,
            env=os.environ | {"HYBRID_HOME": str(served.shop.home), "HYBRID_HOOKS_DEADLINE_MS": "60000"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
            check=False,
        )
        return done.returncode, done.stderr, FRAME.encode() in done.stdout

    resource.prlimit(served.wait_for_service(), resource.RLIMIT_FSIZE, (0, 0))
    with_service = ask("a")
    served.stop_service()
    without = ask("b")
    again = ask("c")

    assert [(0, b"", True)] * 3 == [with_service, without, again]


def test_nothing_comes_twice_while_nothing_can_be_written(served: Agent) -> None:
    """A service that cannot write its ledgers remembers what it gave, and writes it when it can."""
    pid = served.wait_for_service()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    texts = [served.prompt(RETRY).text, served.prompt(RETRY).text]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    texts.append(served.prompt(ROTATE).text)
    until(lambda: served.status()["answers"] == 3)
    served.stop_service()
    texts.append(served.prompt(RETRY).text)

    assert [True, False, True, False] == [text.startswith(FRAME) for text in texts]


def test_the_home_cannot_be_written(agent: Agent) -> None:
    """Where a file stands in the place of the folder for the service, each prompt is answered by its own process."""
    shutil.rmtree(agent.shop.home / "run", ignore_errors=True)
    (agent.shop.home / "run").write_text("in the way")

    assert [True, True] == _two_prompts(agent)
    assert not agent.status()["running"]


def test_the_index_is_being_rebuilt(served: Agent) -> None:
    """While a build holds the lock, and after it made a new generation, prompts are answered."""
    during = subprocess.Popen(
        start_command("reindex", "--full", "--quiet"),
        cwd=served.shop.root,
        env=os.environ | {"HYBRID_HOME": str(served.shop.home)},
    )
    answers = _two_prompts(served)
    during.wait(120)
    (served.shop.root / "src" / "refunds.py").write_text(
        "def refund_order(order):\n    '''Give the money of an order back.'''\n"
    )
    served.shop.out("reindex", "--quiet")
    fresh = served.prompt("How do I give the money of an order back, refund_order?", "new")

    assert [True, True] == answers
    assert "src/refunds.py" in fresh.text


def test_another_version_was_installed(agent: Agent, tmp_path: Path) -> None:
    """A hook of a newer version ends the older service in the middle of a session and starts its own."""
    service = _older_service(agent, tmp_path / "old")
    agent.wait_for_service()
    before = agent.status()["version"]
    answers = _two_prompts(agent)
    service.wait(120)
    agent.prompt("What does save do with a user of the same address?", "third")
    agent.wait_for_service()

    assert ("0.0.1", __version__) == (before, agent.status()["version"])
    assert [True, True] == answers


def test_starting_the_service_replaces_an_older_one(agent: Agent, tmp_path: Path) -> None:
    """`hybrid daemon start` said that the service runs, and left the old version there until the next prompt (#16)."""
    service = _older_service(agent, tmp_path / "old")
    agent.wait_for_service()
    agent.shop.out("daemon", "start", "--quiet")

    assert __version__ == agent.status()["version"]
    assert 0 == service.wait(120)


def _copy(folder: Path) -> None:
    """Install hybrid there once more, with its compiled modules but none that is just being written."""
    shutil.copytree(CHECKOUT / "hybrid", folder / "hybrid", ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("index", "hooks", "models", "config.toml"):
        (folder / name).symlink_to(CHECKOUT / name)


def _older_service(agent: Agent, old: Path) -> subprocess.Popen[bytes]:
    """Run a copy of hybrid of an older version, in this folder."""
    _copy(old)
    package = old / "hybrid" / "__init__.py"
    package.write_text(package.read_text().replace(f'"{__version__}"', '"0.0.1"'))
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(old / "hybrid" / "entry.py"), "daemon", "run"],
        stdin=subprocess.DEVNULL,
        env=kept_environment(os.environ, str(agent.shop.home)),
    )


def test_the_code_under_the_service_is_replaced(agent: Agent, tmp_path: Path) -> None:
    """A service whose own files were installed anew ends: modules that it did not load yet would not fit."""
    copy = tmp_path / "copy"
    _copy(copy)
    service = subprocess.Popen(
        [sys.executable, "-I", "-S", str(copy / "hybrid" / "entry.py"), "daemon", "run"],
        stdin=subprocess.DEVNULL,
        env=kept_environment(os.environ, str(agent.shop.home)),
    )
    agent.wait_for_service()
    package = copy / "hybrid" / "__init__.py"
    package.write_text(package.read_text() + "\n")

    assert 0 == service.wait(120)


def test_no_service_can_be_started_at_all(agent: Agent) -> None:
    """A service that dies at once is not started again by every prompt, and each prompt is answered."""
    run = agent.shop.home / "run"
    (run / "daemon").mkdir(parents=True)
    first = agent.prompt(RETRY, "a")
    until((run / "starting").exists)
    started_ns = (run / "starting").stat().st_mtime_ns
    second = agent.prompt(ROTATE, "b")

    assert [True, True] == [answer.text.startswith(FRAME) for answer in (first, second)]
    assert started_ns == (run / "starting").stat().st_mtime_ns
