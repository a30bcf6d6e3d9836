"""The web process: how long it lives, an upgrade under open sessions, the extras, limits by kind, and hostile hellos."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import sysconfig
import threading
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid import __version__
from hybrid.ipc.loopback import HOST, listening
from hybrid.ipc.start import WEB, entry_script, reached, start_command
from hybrid.ipc.wire import WireError, read_endpoint
from hybrid.web import bounded_protocol, port_server
from tests.support.agent import kill, until
from tests.support.builders import hear_interrupts, python_process
from tests.support.pages import Served
from tests.support.tool_client import READ, RawClient, end_web, environment, greeted, tools_of, web_pid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.builders import Shop

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix")


# --- its life ----------------------------------------------------------------------------------------------


def test_a_process_that_nobody_needs_ends(fresh: Shop) -> None:
    """It ends some time after its last session, and not under one; its address goes with it."""
    script = """
        import sys
        from hybrid.web import run_web
        sys.exit(run_web(idle_s=1))
    """
    process = python_process(script, **environment(fresh))
    until(lambda: web_pid(fresh.home) == process.pid)
    with greeted(fresh) as client:
        assert {} == client.ask("ping", 1)["result"]
    process.communicate(timeout=60)

    assert 0 == process.returncode
    assert read_endpoint(str(fresh.home), WEB) is None


def test_a_stopped_service_takes_an_idle_process_with_it(fresh: Shop) -> None:
    """`hybrid daemon stop` ends one without a session; one that serves a session goes on."""
    with tools_of(fresh) as tools:
        tools.text("read", ref="README.md")
        first = web_pid(fresh.home)
        fresh.out("daemon", "stop", "--quiet")

        assert first == web_pid(fresh.home)
        assert tools.file("README.md").startswith("# Shop")

    def stopped() -> bool:
        fresh.out("daemon", "stop", "--quiet")
        return web_pid(fresh.home) == 0

    until(stopped)


def test_one_of_an_older_version_is_replaced(fresh: Shop) -> None:
    """A relay tells an older one to end, and starts another one."""
    script = """
        import sys
        import hybrid
        hybrid.__version__ = "0.0.1"
        from hybrid.web import run_web
        sys.exit(run_web())
    """
    older = python_process(script, **environment(fresh))
    until(lambda: web_pid(fresh.home) == older.pid)
    with greeted(fresh) as client:
        assert "# Shop" in client.ask("tools/call", 1, **READ)["result"]["content"][0]["text"]
        assert __version__ == (read_endpoint(str(fresh.home), WEB) or {})["version"]
    older.communicate(timeout=60)

    assert 0 == older.returncode


def test_a_second_one_goes_at_once(shared: Shop) -> None:
    """Of one home there is one."""
    with greeted(shared):
        first = web_pid(shared.home)
        second = subprocess.run(start_command(WEB), env=environment(shared), check=False, timeout=60)
        assert (0, first) == (second.returncode, web_pid(shared.home))


def _older(shop: Shop, code: str) -> list[str]:
    """A command of an older version."""
    return [sys.executable, "-W", "ignore", "-c", f"import sys, hybrid\nhybrid.__version__ = '0.0.1'\n{code}"]


def test_an_upgrade_cuts_nothing_off(fresh: Shop) -> None:
    """The older process ends when what is under way is answered; its sessions go on with the newer one, unasked."""
    run = "from hybrid.web import run_web; sys.exit(run_web())"
    older = subprocess.Popen(_older(fresh, run), env=environment(fresh), stdin=subprocess.DEVNULL)
    until(lambda: web_pid(fresh.home) == older.pid)
    relay = _older(fresh, "import os; from hybrid.mcp_server.relay import relay; os._exit(relay([]))")
    with greeted(fresh, *relay) as client, greeted(fresh, *relay) as idle:
        client.ask("tools/call", 1, **READ)
        service = int((read_endpoint(str(fresh.home)) or {})["pid"])
        kill(service, signal.SIGSTOP)
        try:
            client.say({"id": 2, "method": "tools/call", "params": READ})
            with greeted(fresh):
                assert __version__ == (read_endpoint(str(fresh.home), WEB) or {})["version"]
                assert {} == idle.ask("ping", 3)["result"]
            assert older.poll() is None
        finally:
            kill(service, signal.SIGCONT)
        assert "# Shop" in client.answer(2)["result"]["content"][0]["text"]
        assert 0 == older.wait(60)
        assert "# Shop" in client.ask("tools/call", 4, **READ)["result"]["content"][0]["text"]
        assert (0, b"") == client.close()


def test_no_answer_of_a_replayed_greeting_reaches_the_client(fresh: Shop) -> None:
    """A client hears the answers to its own requests, and no others."""
    with greeted(fresh) as client:
        first = web_pid(fresh.home)
        kill(first)
        until(lambda: web_pid(fresh.home) not in (0, first))
        client.say({"id": 5, "method": "ping"})
        assert [5] == [answer["id"] for answer in client.answers_until(5)]


def test_a_page_outlives_its_process(fresh: Shop) -> None:
    """On the same port and with the same cookie, until its command ends; tools and page have one process."""
    page = Served(fresh)
    browser = page.log_in()
    with greeted(fresh) as client:
        first = web_pid(fresh.home)
        _stop(fresh)
        until(lambda: web_pid(fresh.home) not in (0, first))
        until(lambda: _status(page) == 200)
        assert {} == client.ask("ping", 1)["result"]
        assert 200 == browser.get(f"{page.base}/now").status
        port = page.told["port"]
        assert 0 == page.end()
        assert {} == client.ask("ping", 2)["result"]
    again = Served(fresh, "--port", str(port))
    try:
        assert 401 == browser.get(f"{page.base}/now").status
    finally:
        again.end()


def _status(page: Served) -> int:
    try:
        return page.browser.get(f"{page.base}/now").status
    except OSError:
        return 0


def _stop(shop: Shop) -> None:
    """Tell the web process what a newer version tells it."""
    connection, _ = reached(str(shop.home), WEB, 5.0)
    connection.send(b"stop", timeout_s=5.0)
    connection.close()


def test_the_end_of_one_port_is_not_that_of_others() -> None:
    """Servers leave signals to the process: by them the package of streams finds one, whose end would end all streams."""

    async def app(scope: object, receive: object, send: object) -> None:
        pass

    async def handler() -> object:
        server = port_server(app, bounded_protocol("page"))
        serving = asyncio.ensure_future(server.serve(sockets=[listening(0, 1)]))
        while not server.started:
            await asyncio.sleep(0)
        found = signal.getsignal(signal.SIGTERM)
        server.should_exit = True
        await serving
        return found

    before = signal.getsignal(signal.SIGTERM)
    assert threading.current_thread() is threading.main_thread()
    assert before == asyncio.run(handler())


# --- limits and harm ----------------------------------------------------------------------------------------


def test_each_kind_has_places_of_its_own(fresh: Shop) -> None:
    """When all ports of one kind are taken, that is said, and others are served."""
    script = """
        import sys
        import hybrid.web as web
        web._SERVED["page"] = (*web._SERVED["page"][:2], 1)
        sys.exit(web.run_web())
    """
    process = python_process(script, **environment(fresh))
    until(lambda: web_pid(fresh.home) == process.pid)
    page = Served(fresh)
    try:
        assert "1 are served already" in fresh.error("dashboard", "--no-open")
        with greeted(fresh):
            assert 401 == page.browser.get("/").status
    finally:
        page.end()
        end_web(fresh.home)
        process.communicate(timeout=60)


HELLOS = (
    (b"nothing", b"{}"),
    (b"session",),
    (b"session", b"{"),
    (b"session", b"[]"),
    (b"session", b"{}"),
    (b"http", b"{}"),
    (b"http", b'{"cwd": "/", "port": "x"}'),
    (b"http", b'{"cwd": "/", "port": -1}'),
    (b"page", b'{"cwd": "/", "environ": 1, "idle_s": 1}'),
    (b"page", b'{"cwd": "/", "environ": {}, "idle_s": "x"}'),
    (b"\xff" * 1000, b"\x00"),
)


def test_a_hello_that_is_none_harms_nobody(shared: Shop) -> None:
    """It is closed or told why, and the sessions go on."""
    with greeted(shared) as client:
        first = web_pid(shared.home)
        for hello in HELLOS:
            connection, _ = reached(str(shared.home), WEB, 5.0)
            connection.send(*hello, timeout_s=5.0)
            try:
                answer = json.loads(connection.receive(timeout_s=30.0)[0])
            except WireError:
                answer = {"error": "closed"}
            connection.close()
            assert "error" in answer or hello[0] == b"session", hello
        assert {} == client.ask("ping", 1)["result"]
        assert first == web_pid(shared.home)


# --- the extras ---------------------------------------------------------------------------------------------


EXTRAS = {
    "none": (("mcp", "jinja2", "starlette", "uvicorn", "sse_starlette"), False, False),
    "mcp": (("jinja2",), True, False),
    "dashboard": (("mcp",), False, True),
    "both": ((), True, True),
}


@pytest.fixture(scope="module", params=EXTRAS)
def extras(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bool, bool]:
    """An interpreter with all packages but those of some extras, and whether it has the extras `mcp` and `dashboard`."""
    missing, has_mcp, has_page = EXTRAS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder, symlinks=True)
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith((*missing, "pip", "__editable__", "hybrid")):
            (packages / entry.name).symlink_to(entry)
    return str(folder / "bin" / "python"), has_mcp, has_page


@pytest.fixture
def bare(fresh: Shop) -> Iterator[Shop]:
    """The shared project, whose web process ends afterwards: it lacks packages that others need."""
    yield fresh
    end_web(fresh.home)


def test_a_session_and_a_page_need_their_own_extra_alone(bare: Shop, extras: tuple[str, bool, bool]) -> None:
    """Whoever lacks it is told which to install, in whatever order they come; who has it is served."""
    python, has_mcp, has_page = extras
    entry = (python, "-I", "-S", entry_script())
    with RawClient(bare, *entry, "mcp", "--client", "claude") as client:
        answer = client.greet()
        page = _begun(bare, *entry, "dashboard", "--json", "--no-open")
        http = _begun(bare, *entry, "mcp", "--http", "--json")
        code, said = client.close()

    assert has_mcp == ("result" in answer)
    if not has_mcp:
        assert "the extra `mcp`" in answer["error"]["message"]
        assert 2 == code
        assert b"the extra `mcp`" in said
    assert b"Traceback" not in said
    for is_there, (code, out, err), extra in ((has_page, page, "dashboard"), (has_mcp, http, "mcp")):
        assert (0 if is_there else 2) == code
        assert (HOST in out) == is_there
        assert is_there or f"the extra `{extra}`" in err
        assert len(err.splitlines()) == (0 if is_there else 1)


def _begun(shop: Shop, *command: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command that is interrupted once it has said its address."""
    process = subprocess.Popen(
        command,
        cwd=shop.root,
        env=environment(shop),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    assert process.stdout
    out = ""
    while (line := process.stdout.readline()) and line != "}\n":
        out += line
    if line:
        process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=60)
    return process.returncode, out + rest, err


@pytest.mark.parametrize("extras", ["dashboard"], indirect=True)
def test_without_the_package_a_person_is_told_too(bare: Shop, extras: tuple[str, bool, bool]) -> None:
    """On a terminal, where no client speaks, the command ends with the reason."""
    ours, theirs = pty.openpty()
    try:
        command = [extras[0], "-I", "-S", entry_script(), "mcp"]
        done = subprocess.run(
            command, cwd=bare.root, env=environment(bare), stdin=theirs, capture_output=True, timeout=60, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)

    assert (2, b"") == (done.returncode, done.stdout)
    assert b"the extra `mcp`" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("extras", ["none"], indirect=True)
def test_what_was_said_earlier_is_no_promise(bare: Shop, extras: tuple[str, bool, bool]) -> None:
    """A session that is greeted from memory, by an installation that lost the package, hears why with its next request."""
    with greeted(bare) as client:
        client.close()
    end_web(bare.home)
    with RawClient(bare, extras[0], "-I", "-S", entry_script(), "mcp", "--client", "claude") as client:
        assert "result" in client.greet()
        assert "the extra `mcp`" in client.ask("tools/call", 1, **READ)["error"]["message"]


@pytest.mark.parametrize("extras", ["none"], indirect=True)
def test_help_needs_no_package(shared: Shop, extras: tuple[str, bool, bool]) -> None:
    """`hybrid mcp --help` tells what there is."""
    command = [extras[0], "-I", "-S", entry_script(), "mcp", "--help"]
    done = subprocess.run(command, env=environment(shared), capture_output=True, text=True, timeout=60, check=False)

    assert (0, "") == (done.returncode, done.stderr)
    assert "--http" in done.stdout
