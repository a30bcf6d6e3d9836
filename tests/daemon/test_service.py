from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hybrid.ipc.start import start_command
from hybrid.ipc.wire import WireError, connect, read_endpoint
from tests.support.agent import Agent, is_alive, until
from tests.support.builders import Shop, git_project, new_shop

RETRY = "How does the payment client retry?"
ROTATE = "How do I rotate the database password?"
FRAME = "--- hybrid context (auto-injected"


def test_the_first_hook_starts_the_service_and_is_answered_all_the_same(agent: Agent) -> None:
    """Without a service the first prompt is answered by its own process, the next one by the service that it started."""
    first = agent.prompt(RETRY, "a")
    agent.wait_for_service()
    second = agent.prompt(RETRY, "b")
    until(lambda: agent.status()["answers"] == 1)

    assert first.text.startswith(FRAME)
    assert first.text == second.text


def test_what_the_first_hook_gave_is_recorded_though_the_hook_has_ended(agent: Agent) -> None:
    """Ledger, log and memory have the first prompt; asked again in the session it is silent, whoever answers."""
    texts = [agent.prompt(RETRY, "a").text, agent.prompt(RETRY, "a").text]
    agent.wait_for_service()
    until(lambda: agent.shop.json("memory", "stats")["prompts"] > 0)

    assert [True, False] == [text.startswith(FRAME) for text in texts]
    assert {"injected", "same_topic"} == set(agent.shop.reasons())


def test_a_first_answer_that_nobody_reads_was_not_given(agent: Agent) -> None:
    """A client that hung up gets the same text when it asks again."""
    hung_up = agent.start(prompt=RETRY, session_id="a")
    assert hung_up.stdout is not None
    assert hung_up.stderr is not None
    hung_up.stdout.close()
    code = hung_up.wait(120)
    hung_up.stderr.close()
    agent.wait_for_service()

    assert 0 == code
    assert agent.prompt(RETRY, "a").text.startswith(FRAME)


def test_the_service_starts_although_the_first_answer_fails(agent: Agent) -> None:
    """Without index and model a prompt has no answer, and the service comes all the same."""
    shutil.rmtree(agent.shop.home / "projects")
    broken = Agent(agent.shop, environ={"HYBRID_MODEL_NAME": "no-such-model"})
    answer = broken.prompt(RETRY, "a")

    assert "" == answer.text
    assert agent.wait_for_service() > 0


def test_the_service_looks_after_the_project_of_the_session(agent: Agent, tmp_path: Path) -> None:
    """A client may start hooks anywhere: what counts is the directory that the event names."""
    elsewhere = git_project(tmp_path / "elsewhere")
    event = {"session_id": "s1", "cwd": str(agent.shop.root), "prompt": RETRY}
    subprocess.run(
        start_command("hook", "run", "--client", "claude", "--event", "UserPromptSubmit"),
        input=json.dumps(event).encode(),
        capture_output=True,
        cwd=elsewhere,
        env=os.environ | {"HYBRID_HOME": str(agent.shop.home), "HYBRID_HOOKS_DEADLINE_MS": "60000"},
        check=True,
    )
    agent.wait_for_service()
    until(lambda: agent.status()["projects"])

    assert [str(agent.shop.root)] == [project["root"] for project in agent.status()["projects"]]


def test_the_service_answers_as_the_process_alone_does(served: Agent) -> None:
    """Gate, repeats and counters are the same through the service: the fitting prompt once, the strange one never."""
    texts = [served.prompt(prompt).text for prompt in (RETRY, RETRY, "Which wine goes with grilled salmon?", ROTATE)]
    until(lambda: served.status()["answers"] == 4)
    state = json.loads((served.shop.root / ".hybrid" / "hook_state.json").read_text())

    assert [True, False, False, True] == [text.startswith(FRAME) for text in texts]
    assert ["injected", "same_topic", "gate", "injected"] == served.shop.reasons()
    assert 2 == state["injection_count"]


def test_hooks_that_race_to_start_the_service_start_one(agent: Agent) -> None:
    """However many first prompts come at once, one service lives, and each prompt is answered."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: agent.prompt(RETRY, f"s{n}"), range(8)))
    pid = agent.wait_for_service()
    agent.shop.out("daemon", "start", "--quiet")

    assert [True] * 8 == [answer.text.startswith(FRAME) for answer in answers]
    assert pid == agent.wait_for_service()


def test_two_services_are_never_there(served: Agent) -> None:
    """A second `daemon run` goes at once when one answers."""
    pid = served.wait_for_service()
    served.shop.out("daemon", "run")

    assert pid == served.wait_for_service()


def test_the_service_ends_cleanly(served: Agent) -> None:
    """SIGTERM ends it: the process, its socket and the file that tells of it are gone."""
    found = read_endpoint(str(served.shop.home)) or {}
    os.kill(int(found["pid"]), signal.SIGTERM)
    until(lambda: not is_alive(int(found["pid"])))

    assert read_endpoint(str(served.shop.home)) is None
    assert not Path(found["socket"]).exists()
    assert not served.status()["running"]


def test_the_service_can_be_started_looked_at_and_stopped(agent: Agent) -> None:
    """`hybrid daemon start|status|stop` say what is, with exit code 1 when no service runs."""
    before = agent.shop.json("daemon", "status", code=1)
    started = agent.shop.json("daemon", "start")
    shown = agent.shop.out("daemon", "status")
    status = agent.shop.json("status")["daemon"]
    stopped = agent.shop.json("daemon", "stop")
    again = agent.shop.json("daemon", "stop")

    absent = {"running": False, "pid": None, "uptime_s": None, "rss_bytes": None, "hung_pid": None}
    assert (absent, absent | {"stopped": True}, absent | {"stopped": False}) == (before, stopped, again)
    assert started["running"]
    assert (started["pid"], True) == (status["pid"], status["running"])
    assert shown.startswith(f"The service runs (process {started['pid']}, ")


def test_the_service_ends_when_nobody_needs_it(agent: Agent) -> None:
    """After `[daemon] idle_minutes` without an event the service ends by itself."""
    agent.shop.home.mkdir(exist_ok=True)
    (agent.shop.home / "config.toml").write_text("[daemon]\nidle_minutes = 0.01\n")
    agent.shop.out("daemon", "start", "--quiet")
    pid = agent.wait_for_service()
    until(lambda: not is_alive(pid))

    assert read_endpoint(str(agent.shop.home)) is None


def test_the_service_ends_with_its_home(tmp_path: Path) -> None:
    """When `HYBRID_HOME` is deleted nothing is left running."""
    agent = Agent(new_shop(tmp_path))
    agent.shop.out("daemon", "start", "--quiet")
    pid = agent.wait_for_service()
    subprocess.run(["rm", "-rf", str(agent.shop.home)], check=True)
    until(lambda: not is_alive(pid))

    assert not agent.shop.home.joinpath("run", "daemon").exists()


def test_a_port_with_a_token_does_where_there_are_no_unix_sockets(agent: Agent) -> None:
    """The same answers over loopback; who does not know the token hears nothing but a closed connection."""
    service = subprocess.Popen(
        [*_command(agent), "--tcp"], stdin=subprocess.DEVNULL, env=os.environ | {"HYBRID_HOME": str(agent.shop.home)}
    )
    try:
        agent.wait_for_service()
        found = read_endpoint(str(agent.shop.home)) or {}
        answer = agent.prompt(RETRY)
        refused = False
        try:
            connect(found | {"token": "wrong"}, timeout_s=60)
        except WireError:
            refused = True
    finally:
        agent.stop_service()
        service.wait(120)

    assert answer.text.startswith(FRAME)
    assert 0 < int(found["port"])
    assert refused


def _command(agent: Agent) -> list[str]:
    return start_command("daemon", "run", "--project", str(agent.shop.root))


def test_the_service_keeps_nothing_of_its_caller(agent: Agent) -> None:
    """Pipes that a client left open for the hook are closed when the hook ends, though the service it started lives."""
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    event = {"session_id": "s1", "cwd": str(agent.shop.root), "prompt": RETRY}
    done = subprocess.run(
        start_command("hook", "run", "--client", "claude", "--event", "UserPromptSubmit"),
        input=json.dumps(event).encode(),
        capture_output=True,
        close_fds=False,
        cwd=agent.shop.root,
        env=os.environ
        | {"HYBRID_HOME": str(agent.shop.home), "SECRET": "hunter2", "HYBRID_HOOKS_DEADLINE_MS": "60000"},
        check=True,
    )
    os.close(theirs)
    pid = agent.wait_for_service()
    with os.fdopen(ours, "rb") as reader:
        left = reader.read()
    environ = Path(f"/proc/{pid}/environ")

    assert b"hybrid context" in done.stdout
    assert b"" == left
    assert not environ.exists() or b"hunter2" not in environ.read_bytes()
    assert not environ.exists() or str(agent.shop.root) != str(Path(f"/proc/{pid}/cwd").readlink())


def test_settings_in_the_environment_of_a_client_count_for_it(served: Agent) -> None:
    """What a client has in its environment holds for its prompts, and not for those of another one."""
    strict = Agent(served.shop, environ={"HYBRID_HOOKS_GATE_THRESHOLD": "0.99"})
    off = Agent(served.shop, environ={"HYBRID_DISABLE": "1"})

    assert ["", "", True] == [
        strict.prompt(RETRY, "a").text,
        off.prompt(RETRY, "b").text,
        served.prompt(RETRY, "c").text.startswith(FRAME),
    ]


def test_switched_off_nothing_is_started(agent: Agent) -> None:
    """With `HYBRID_DISABLE=1` a hook is silent, starts no service and leaves no line in the log."""
    texts = [Agent(agent.shop, environ={"HYBRID_DISABLE": "1"}).prompt(RETRY, session).text for session in "ab"]

    assert ["", ""] == texts
    assert not (agent.shop.home / "run" / "starting").exists()
    assert [] == agent.shop.reasons()
    assert not agent.status()["running"]


@pytest.mark.parametrize(
    ("client", "event"),
    [("claude", "SessionEnd"), ("gemini", "AfterAgent")],
)
def test_no_service_is_started_for_what_ends(agent: Agent, client: str, event: str) -> None:
    """Events that never take a text need none, by whatever word a client calls them."""
    answer = Agent(agent.shop, client=client).send(event)

    assert (0, b"") == (answer.code, answer.err)
    assert not (agent.shop.home / "run" / "starting").exists()
    assert not agent.status()["running"]


def test_answers_of_many_sessions_at_once_are_kept_apart(tmp_path: Path) -> None:
    """Prompts of several sessions on two projects at once each get their own project's chunk, and none is lost."""
    one = Agent(new_shop(tmp_path / "one"))
    files = {
        "pay.py": "def capture_invoice(invoice):\n    '''Capture the invoice at the bank.'''\n    return bank(invoice)\n"
    }
    two = Agent(Shop(new_shop(tmp_path / "two", files, is_indexed=False).root, one.shop.home))
    two.shop.out("reindex", "--quiet")
    one.shop.out("daemon", "start", "--quiet")
    try:
        with ThreadPoolExecutor(6) as pool:
            first = list(pool.map(lambda n: one.prompt(RETRY, f"a{n}").text, range(6)))
            second = list(
                pool.map(lambda n: two.prompt("Where is an invoice captured at the bank?", f"b{n}").text, range(6))
            )
        until(lambda: one.status()["answers"] == 12)
    finally:
        one.stop_service()

    assert {True} == {"src/payments/client.py" in text for text in first}
    assert {True} == {"pay.py" in text for text in second}


def test_stop_returns_when_the_process_is_gone(tmp_path: Path) -> None:
    """`hybrid daemon stop` returned while the process of the service lived."""
    shop = new_shop(tmp_path, is_indexed=False)
    alive: list[int] = []
    for _ in range(3):
        pid = shop.json("daemon", "start")["pid"]
        shop.out("daemon", "stop")
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        alive += [pid] if "(zombie)" not in _state(pid) else []

    assert [] == alive


def _state(pid: int) -> str:
    """The state of a process as the system tells it."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, encoding="utf-8", check=False)
    return "(zombie)" if done.stdout.strip().startswith("Z") or not done.stdout.strip() else done.stdout


def test_status_of_a_switched_off_service_promises_nothing(shop: Shop) -> None:
    """It said that the next prompt starts the service."""
    told = shop.out("daemon", "status", code=1, HYBRID_DAEMON_ENABLED="false")

    assert told == (
        "The service does not run, and `daemon.enabled = false`: no prompt starts it, each opens the index anew.\n"
    )
    assert "the next prompt of an agent starts it" in shop.out("daemon", "status", code=1, HYBRID_DAEMON_ENABLED="true")


def test_a_service_that_cannot_live_is_told_at_once(new_project: Shop) -> None:
    """`hybrid daemon start` in a home that cannot be written waited ten seconds, and did not say why."""
    new_project.home.mkdir()
    (new_project.home / "run").write_text("a file in the place of the folder", encoding="utf-8")

    message = new_project.error("daemon", "start")

    assert (
        f"hybrid: the service cannot start: {new_project.home / 'run'} cannot be written (Not a directory)" == message
    )
