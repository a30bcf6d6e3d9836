"""Who may answer a prompt, which process may be ended, and what counts as given: the service among strangers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid import __version__
from hybrid.daemon.freshness import Freshness
from hybrid.daemon.server import Listener, end_service
from hybrid.ipc.start import kept_environment, start_command
from hybrid.ipc.wire import Connection, WireError, connect, is_newer, packed, read_endpoint, run_folder
from hybrid.workspace import open_workspace
from tests.support.agent import Agent, is_alive, kill, until
from tests.support.builders import CHECKOUT, Shop, hear_interrupts, new_shop

if TYPE_CHECKING:
    from collections.abc import Iterator

RETRY = "How does the payment client retry?"
ROTATE = "How do I rotate the database password?"
FRAME = "--- hybrid context (auto-injected"
GREETING = packed((b"1", __version__.encode(), b"1"))
ANSWER = b'{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "theirs"}}\n'
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners, signals and Unix sockets are those of POSIX")


@pytest.fixture
def impostor(agent: Agent) -> Iterator[socket.socket]:
    """A program that the endpoint file names; it answers one hook with a text of its own and dies before it is told."""
    assert agent.prompt(ROTATE, "settings").text
    agent.stop_service()
    path = agent.shop.home / "run" / "other.sock"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen(5)
    _tell(agent, path)

    def answer() -> None:
        with contextlib.suppress(OSError):  # Nobody came until the test was over.
            sock, _ = listening.accept()
            sock.sendall(GREETING)
            sock.recv(1 << 20)
            sock.sendall(packed((ANSWER, b"")))
            sock.close()

    threading.Thread(target=answer, daemon=True).start()
    yield listening
    # The thread waits in `accept`, which closing alone does not end.
    with contextlib.suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def _tell(agent: Agent, path: Path) -> None:
    file = agent.shop.home / "run" / "daemon"
    file.write_bytes(f"pid 1\nprotocol 1\nversion {__version__}\nsocket {path}\nend\n".encode())
    file.chmod(0o600)


@pytest.mark.usefixtures("impostor")
def test_a_service_that_dies_after_its_answer_leads_to_no_second_one(agent: Agent) -> None:
    """The agent gets one JSON document, also when nobody is there any more to be told that it was given."""
    answer = agent.prompt(RETRY)

    assert "theirs" == answer.text


@pytest.mark.usefixtures("impostor")
def test_a_file_that_others_may_write_names_no_service(agent: Agent) -> None:
    """Prompts do not go where somebody else may have said: this one is answered by its own process."""
    (agent.shop.home / "run" / "daemon").chmod(0o666)
    answer = agent.prompt(RETRY)

    assert answer.text.startswith(FRAME)


def test_a_folder_that_others_may_write_is_closed_to_them(agent: Agent) -> None:
    """The service takes back rights on its folder, and on the file that hooks believe, before it listens."""
    run = agent.shop.home / "run"
    run.mkdir(parents=True, exist_ok=True)
    (run / "daemon").touch()
    (run / "daemon").chmod(0o666)
    run.chmod(0o777)
    agent.shop.out("daemon", "start", "--quiet")

    assert (0o40700, 0o100600) == (run.stat().st_mode, (run / "daemon").stat().st_mode)


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only the superuser gives folders away")
def test_no_service_lives_in_a_folder_of_somebody_else(agent: Agent) -> None:
    """Who owns the folder decides where prompts go, so a service starts in its own only."""
    run = agent.shop.home / "run"
    run.mkdir(parents=True, exist_ok=True)
    os.chown(run, 12345, 12345)
    done = _run_service(agent.shop.home)

    assert (0, None) == (done.wait(120), read_endpoint(str(agent.shop.home)))
    assert agent.prompt(RETRY).text.startswith(FRAME)


def test_the_token_is_not_proved_with_what_the_service_said(tmp_path: Path) -> None:
    """Somebody who does not know the token cannot let the service itself make the proof on a second connection."""
    listener = Listener(tmp_path, {}, is_tcp=True)
    port = int((read_endpoint(str(tmp_path)) or {})["port"])
    admitted: list[bool] = []

    def serve() -> None:
        for _ in range(2):
            sock, _ = listener.socket.accept()
            threading.Thread(target=admit, args=[Connection(sock)], daemon=True).start()

    def admit(connection: Connection) -> None:
        try:
            listener.admit(connection)
            admitted.append(True)
        except WireError:
            admitted.append(False)
        finally:
            connection.close()

    listener.socket.setblocking(True)
    threading.Thread(target=serve, daemon=True).start()
    first, second = (Connection(socket.create_connection(("127.0.0.1", port))) for _ in range(2))
    try:
        first.send(b"mine", timeout_s=60)
        nonce = first.receive(timeout_s=60)[1]
        second.send(nonce + b"mine", timeout_s=60)
        first.send(second.receive(timeout_s=60)[0], timeout_s=5)
        until(lambda: admitted)
        refused = admitted[0] is False
    finally:
        first.close()
        second.close()
        listener.close()

    assert refused


def test_stopping_ends_a_service_that_does_not_answer(served: Agent) -> None:
    """`hybrid daemon stop` ends a suspended service, and one whose endpoint file is gone, by the process it names."""
    hung = served.wait_for_service()
    kill(hung, signal.SIGSTOP)
    served.shop.out("daemon", "stop", "--quiet")
    served.shop.out("daemon", "start", "--quiet")
    lost = served.wait_for_service()
    (served.shop.home / "run" / "daemon").unlink()
    served.shop.out("daemon", "stop", "--quiet")

    until(lambda: not is_alive(hung) and not is_alive(lost))

    assert not served.status()["running"]


def test_a_process_that_got_the_number_of_a_service_is_left_alone(tmp_path: Path) -> None:
    """A number that is left of a killed service may be a stranger's by now, whoever holds the lock."""
    run = tmp_path / "run"
    run.mkdir()
    hold = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(flush=True); time.sleep(60)"
    stranger = subprocess.Popen(
        [sys.executable, "-c", hold, str(run / "daemon.lock")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    try:
        assert stranger.stdout is not None
        stranger.stdout.readline()
        (run / "daemon.pid").write_bytes(str(stranger.pid).encode())
        code = _run_service(tmp_path).wait(60)
        lives = stranger.poll() is None
    finally:
        stranger.kill()
        stranger.communicate()

    assert (0, True) == (code, lives)


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "hanging"])
def test_what_was_never_confirmed_is_given_again(served: Agent, is_killed: bool) -> None:
    """A hook that is killed, or hangs, before it wrote its answer gave nothing: the session's next prompt gets it."""
    connection = connect(read_endpoint(str(served.shop.home)) or {}, timeout_s=60)
    try:
        connection.receive(timeout_s=60)
        event = json.dumps({"session_id": "s1", "cwd": str(served.shop.root), "prompt": RETRY}).encode()
        parts = (b"claude", b"UserPromptSubmit", str(served.shop.root).encode(), b"0", b"60000", b"", event)
        connection.send(b"event", *parts, timeout_s=60)
        lost = json.loads(connection.receive(timeout_s=60)[0])["hookSpecificOutput"]["additionalContext"]
        if is_killed:
            connection.close()
            until(lambda: served.shop.reasons() == ["late"])
        # Where it hangs, the session's next prompt waits for it no longer than a moment.
        second = served.prompt(RETRY, "s1")
    finally:
        connection.close()

    assert lost.startswith(FRAME)
    assert lost == second.text


def test_a_session_that_waits_for_itself_keeps_no_other_waiting(served: Agent) -> None:
    """While hooks of one session wait for an answer that nobody confirms, the service answers those of others."""
    where = read_endpoint(str(served.shop.home)) or {}
    assert served.prompt(RETRY, "warm").text
    hanging = [connect(where, timeout_s=60) for _ in range(16)]
    n_before = served.status()["answers"]
    try:
        for connection in hanging:
            connection.receive(timeout_s=60)
            event = json.dumps({"session_id": "busy", "cwd": str(served.shop.root), "prompt": RETRY}).encode()
            parts = (b"claude", b"UserPromptSubmit", b"/", b"0", b"60000", b"", event)
            connection.send(b"event", *parts, timeout_s=60)
        answers = [served.prompt(RETRY, f"other{n}") for n in range(2)]
        until(lambda: served.status()["answers"] >= n_before + 2)
    finally:
        for connection in hanging:
            connection.close()

    assert [True, True] == [answer.text.startswith(FRAME) for answer in answers]


DRIPS = {
    "length": [b"\0", b"\0"],
    "large message": [b"\0\x20\0\0", b"x", b"x"],
}


@pytest.mark.parametrize("parts", DRIPS.values(), ids=DRIPS)
def test_those_who_greet_and_drip_keep_no_hook_out(served: Agent, parts: list[bytes]) -> None:
    """Clients of the socket that never come to the end of a message leave the service to others, large events too."""
    where = read_endpoint(str(served.shop.home)) or {}
    assert served.prompt(RETRY, "warm").text
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            connection = connect(where, timeout_s=60)
            stack.callback(connection.close)
            connection.receive(timeout_s=60)
            for part in parts:
                connection.detach().send(part)
        n_before = served.status()["answers"]
        texts = [served.prompt(f"{RETRY}{more}", f"s{len(more)}").text for more in ("", " " * 2_000_000)]
        until(lambda: served.status()["answers"] >= n_before + 2)

    assert [True, True] == [text.startswith(FRAME) for text in texts]


def test_only_some_projects_are_looked_after(tmp_path: Path) -> None:
    """The projects that were not heard of for longest are left: a thread and a watcher for each would be too much."""
    care = Freshness(tmp_path / "home")
    environ = {"HYBRID_HOME": str(tmp_path / "home"), "HYBRID_INDEX_WATCH": "false"}
    try:
        for number in (*range(20), 0, *range(20, 40)):
            root = tmp_path / f"project{number}"
            (root / ".hybrid").mkdir(parents=True, exist_ok=True)
            care.begin(open_workspace(root, environ=environ), environ)
        roots = {Path(project["root"]).name for project in care.figures()["projects"]}
    finally:
        care.close()

    assert {f"project{number}" for number in (0, *range(9, 40))} == roots


def test_no_connection_leaves_anything_open(served: Agent) -> None:
    """Hundreds of connections, answered, given up in the middle or never used, leave no file open and no thread."""
    pid = served.wait_for_service()
    where = read_endpoint(str(served.shop.home)) or {}
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files are counted in /proc")
    assert served.prompt(RETRY).text
    before = _open_files(pid)
    for number in range(300):
        connection = connect(where, timeout_s=60)
        if number % 3:
            connection.receive(timeout_s=60)
            connection.send(*([b"status"] if number % 3 == 1 else [b"event", b"claude"]), timeout_s=60)
        connection.close()
    # Watching and building, which began meanwhile, need some.
    until(lambda: _open_files(pid) < before + 10)

    assert len(list(Path(f"/proc/{pid}/task").iterdir())) < 20


@pytest.mark.parametrize(
    "name",
    ["some grüße", os.fsdecode(b"not-utf8-\xff\xfe"), "long-" + "x" * 120, "two\nlines 100%0A percent%", "end\nend\nx"],
    ids=["spaces", "not utf-8", "long", "line end", "end"],
)
def test_the_home_may_lie_anywhere(tmp_path: Path, name: str) -> None:
    """A service lives, and is found, in a home whose path holds spaces or line ends, or is too long for a socket (#16)."""
    if sys.platform == "darwin" and "\udcff" in name:
        pytest.skip("macOS takes no such names")
    shop = new_shop(tmp_path)
    agent = Agent(Shop(shop.root, shop.home.rename(tmp_path / name)))
    try:
        agent.shop.out("daemon", "start", "--quiet")
        answer = agent.prompt(RETRY)
        until(lambda: agent.status()["answers"] == 1)
    finally:
        agent.stop_service()

    assert answer.text.startswith(FRAME)


@pytest.mark.parametrize("is_daemon", [True, False], ids=["service", "alone"])
@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)], ids=["stderr", "all"])
def test_closed_streams_are_not_mistaken_for_files(agent: Agent, closed: tuple[int, ...], is_daemon: bool) -> None:
    """A hook whose standard streams are closed ends well, and what nobody could read does not count as given."""
    agent.shop.home.joinpath("config.toml").write_text(f"[daemon]\nenabled = {str(is_daemon).lower()}\n")
    event = json.dumps({"session_id": "s1", "cwd": str(agent.shop.root), "prompt": RETRY}).encode()
    assert agent.prompt(ROTATE, "first").text
    if is_daemon:
        agent.wait_for_service()
    done = subprocess.run(
        start_command("hook", "run", "--client", "claude", "--event", "UserPromptSubmit"),
        input=event,
        capture_output=True,
        env=os.environ | {"HYBRID_HOME": str(agent.shop.home), "HYBRID_HOOKS_DEADLINE_MS": "60000"},
        preexec_fn=lambda: [os.close(number) for number in closed],
        check=False,
    )
    was_given = FRAME.encode() in done.stdout

    assert (0, b"", closed == (2,)) == (done.returncode, done.stderr, was_given)
    assert was_given != agent.prompt(RETRY, "s1").text.startswith(FRAME)


def test_where_no_file_can_be_written_prompts_are_answered(agent: Agent) -> None:
    """In a home that became read-only no service can start; each prompt is answered by its own process, at once."""
    from hybrid.hooks.child import place

    assert agent.prompt(RETRY, "a").text
    agent.stop_service()
    for path in (agent.shop.home / "run").glob("here.*"):
        path.unlink()
        path.symlink_to("nowhere")
    with place(str(agent.shop.home)) as is_mine:
        pass

    assert is_mine


def test_ctrl_c_ends_a_hook_in_silence(agent: Agent) -> None:
    """A signal that the whole terminal gets shows nothing, and the prompt is not taken away."""
    hook = subprocess.Popen(
        start_command("hook", "run", "--client", "claude", "--event", "UserPromptSubmit"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,
        env=os.environ | {"HYBRID_HOME": str(agent.shop.home), "HYBRID_HOOKS_DEADLINE_MS": "60000"},
    )
    assert hook.stdin is not None
    hook.stdin.write(b"{")
    hook.stdin.flush()
    until(lambda: _is_reading(hook.pid))
    hook.send_signal(signal.SIGINT)
    out, err = hook.communicate(timeout=120)

    assert (0, b"", b"") == (hook.returncode, out, err)


@pytest.mark.parametrize(
    ("version", "than", "expected"),
    [
        ("1.10.0", "1.9.9", True),
        ("1.0.0", "1.0.0", False),
        ("1.0.0rc1", "1.0.0", False),
        ("1.0.0", "1.0.0rc12", False),
        ("2", "1.5", True),
        ("", "0.1", False),
        ("1.0+local9", "1.0", False),
    ],
)
def test_versions_are_compared_number_by_number(version: str, than: str, expected: bool) -> None:
    """What follows a number in a version does not make it newer: two services would replace each other for ever."""
    assert expected == is_newer(version, than)


def test_stopping_where_nothing_ever_ran_makes_nothing(tmp_path: Path) -> None:
    """`hybrid daemon stop` in a fresh home finds no service and leaves no file."""
    assert end_service(tmp_path / "home")
    assert not (tmp_path / "home").exists()


_HOLDER = """
import os, sys, time
from pathlib import Path
from hybrid.base.atomic import locked
run, number_after_s = Path(sys.argv[1]), float(sys.argv[2])
print("starts", flush=True)
with locked(run / "daemon.lock", 60):
    time.sleep(number_after_s)
    (run / "daemon.pid").write_text(str(os.getpid()))
    print("holds", flush=True)
    time.sleep(600)
"""


def test_all_services_end_also_one_that_waited_for_the_lock(tmp_path: Path) -> None:
    """It gets the lock when the first one ends, and has not written its number yet (#16)."""
    home = tmp_path / "home"
    run = Path(run_folder(str(home)))
    run.mkdir(mode=0o700, parents=True)
    holders: list[subprocess.Popen[bytes]] = []
    for number_after_s in ("0", "0.5"):
        command = [sys.executable, "-c", _HOLDER, str(run), number_after_s, "daemon", "run", ""]
        holders.append(subprocess.Popen(command, stdout=subprocess.PIPE, cwd=CHECKOUT))
        out = holders[-1].stdout
        assert out is not None
        assert b"starts\n" == out.readline()
        if len(holders) == 1:
            assert b"holds\n" == out.readline()

    assert end_service(home)
    assert [-signal.SIGTERM] * 2 == [holder.wait(timeout=120) for holder in holders]
    for holder in holders:
        assert holder.stdout is not None
        holder.stdout.close()


def _run_service(home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        start_command("daemon", "run"),
        stdin=subprocess.DEVNULL,
        env=os.environ | {"HYBRID_HOME": str(home)},
    )


def _open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _is_reading(pid: int) -> bool:
    """Has a hook begun to read its input? Then its own code runs, and the pipe is drained."""
    syscall = Path(f"/proc/{pid}/syscall")
    try:
        return syscall.read_text().split()[:2] == ["0", "0x0"]
    except OSError:
        return True


def test_stopping_reaches_a_service_that_is_about_to_start(agent: Agent) -> None:
    """A service that a hook sent off, but that does not listen yet, is not there later either."""
    run = agent.shop.home / "run"
    run.mkdir(parents=True, exist_ok=True)
    waiting = subprocess.Popen(
        start_command("daemon", "run", "--marked"),
        stdin=subprocess.DEVNULL,
        env=kept_environment(os.environ, str(agent.shop.home)),
    )

    assert 0 == waiting.wait(120)
    assert not agent.status()["running"]
