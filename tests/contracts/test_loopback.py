"""What the three HTTP servers refuse: each case against each, so that no one has rules of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import select
import socket
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hybrid.base.errors import HybridError
from hybrid.daemon.http import HttpInterface
from hybrid.dashboard.app import PageSite
from hybrid.dashboard.guard import Sessions
from hybrid.dashboard.service_client import Desk
from hybrid.ipc.loopback import (
    MOST_BEGUN,
    MOST_SILENT,
    SILENT_S,
    Silence,
    Site,
    bounded,
    cutting_off,
    listening,
    made_token,
    token_file,
    token_of,
)
from hybrid.mcp_server.http import site
from hybrid.web import bounded_protocol, port_server
from tests.support.agent import until
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

SECRET = "what only the owner may read"


class Clock:
    """Seconds that pass when a test says so.

    Attributes:
        now_s: The time.
        step_s: Seconds that pass with each look at it.
    """

    now_s = 0.0
    step_s = 0.0

    def __call__(self) -> float:
        """The time."""
        self.now_s += self.step_s
        return self.now_s

    @contextlib.contextmanager
    def running(self) -> Generator[None]:
        """Have the time of silent connections pass with each look."""
        self.step_s = SILENT_S
        yield
        self.step_s = 0.0


class Server(NamedTuple):
    """A server that listens.

    Attributes:
        port: Its port.
        path: A path that needs the token, or a session of the page.
        key: Headers that open it, but for those of the place.
        clock: The clock of its limits.
    """

    port: int
    path: str
    key: dict[str, str]
    clock: Clock

    def connected(self) -> socket.socket:
        """A connection on which nothing was said."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, *headers: str, method: str = "GET", path: str = "") -> tuple[int, str]:
        """The status and the text of an answer to a request with exactly these headers."""
        lines = [f"{method} {path or self.path} HTTP/1.1", *headers, "Connection: close", "", ""]
        with self.connected() as sock:
            sock.sendall("\r\n".join(lines).format(port=self.port).encode("latin-1"))
            text = b"".join(iter(lambda: sock.recv(65_536), b"")).decode()
        return int(text.split()[1]), text

    @property
    def opened(self) -> list[str]:
        """The lines of `key`."""
        return [f"{name}: {value}" for name, value in self.key.items()]


def _answer(path: str, values: Mapping[str, list[str]]) -> dict[str, str]:
    return {"answer": SECRET, "path": path}


@contextlib.contextmanager
def _service(home: Path) -> Generator[Server]:
    clock = Clock()
    interface = HttpInterface(home, 0, _answer, clock)
    try:
        key = {"Authorization": f"Bearer {token_of(home)}"}
        yield Server(interface.port, "/context", key, clock)
    finally:
        interface.close()


@contextlib.contextmanager
def _tools(home: Path) -> Generator[Server]:
    with _served(lambda port: site(home, {"cwd": str(home)}, port)) as (port, clock):
        key = {"Authorization": f"Bearer {token_of(home)}", "Accept": "text/html"}
        yield Server(port, "/mcp", key, clock)


@contextlib.contextmanager
def _page(home: Path) -> Generator[Server]:
    desk = Desk(home, {"HYBRID_HOME": str(home), "HOME": str(home)}, home)
    desk.service.start = lambda root="": True  # Nothing here asks it.
    made_token(home)
    sessions = Sessions({"secret": "forgery"})
    with _served(lambda port: PageSite(desk, sessions, port, 1e9)) as (port, clock):
        yield Server(port, "/none", {"Cookie": f"hybrid-{port}=secret"}, clock)


@contextlib.contextmanager
def _served(make: Callable[[int], Site]) -> Generator[tuple[int, Clock]]:
    clock, sock = Clock(), listening(0, 16)
    port = sock.getsockname()[1]
    site = make(port)
    serving = port_server(site.app, bounded_protocol(str(port)), clock)

    def end() -> None:
        site.end()
        serving.should_exit = True

    with _running(lambda: serving.run([sock]), end):
        yield port, clock


@contextlib.contextmanager
def _running(run: Callable[[], None], end: Callable[[], None]) -> Generator[None]:
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        end()
        thread.join(60)


@pytest.fixture(params=[_service, _tools, _page], scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """Each of the three."""
    with request.param(tmp_path_factory.mktemp("home")) as found:
        yield found


OURS = "Host: 127.0.0.1:{port}"


@cases("http/other_places.txt")
def test_other_places_get_nothing(server: Server, case: Case) -> None:
    """A name that leads here and a page of another origin are refused, also with the token or the cookie."""
    for method in ("GET", "POST"):
        status, text = server.ask(*case.text.split(" | "), *server.opened, method=method)

        assert 403 == status
        assert SECRET not in text


@pytest.mark.parametrize("place", [[], [OURS, "Host: evil.example"]], ids=["no host", "two hosts"])
def test_a_request_has_one_host(server: Server, place: list[str]) -> None:
    """Whether that is none of HTTP, or not allowed, is for each to say."""
    assert server.ask(*place, *server.opened)[0] in (400, 403)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_loopback_are_answered(server: Server, name: str) -> None:
    """With the port, and with an origin that is the same."""
    host, same = f"Host: {name}:{{port}}", [f"Origin: http://{name}:{{port}}", "Sec-Fetch-Site: same-origin"]

    assert {401, 403}.isdisjoint(server.ask(host, *more, *server.opened)[0] for more in ([], same))


@cases("http/without_key.txt")
def test_without_what_opens_it_nothing_is_answered(server: Server, case: Case) -> None:
    """401 without the token, with a wrong one, or where it does not belong; the page counts a cookie alone."""
    key = next(iter(server.key.values())).split("=")[-1].split(" ")[-1]
    headers = case.text.format(key=key, short=key[:-1], port=server.port).split(" | ")
    status, text = server.ask(OURS, *headers)

    assert 401 == status == server.ask(OURS)[0]
    assert SECRET not in text
    assert key not in text


def test_the_token_and_the_cookie_never_stand_for_one_another(tmp_path: Path) -> None:
    """What opens the page opens neither of the others, and their token no page: as it is, and in the other's place."""
    with _service(tmp_path) as service, _tools(tmp_path) as tools, _page(tmp_path) as page:
        token, cookie = token_of(tmp_path), page.key["Cookie"].partition("=")[2]
        for server in (service, tools):
            name = f"hybrid-{server.port}"
            for headers in (page.opened, [f"Authorization: Bearer {cookie}"], [f"Cookie: {name}={token}"]):
                assert 401 == server.ask(OURS, *headers)[0]
            assert 401 != server.ask(OURS, *server.opened)[0]
        for headers in (tools.opened, [f"Cookie: hybrid-{page.port}={token}"], [f"Authorization: Bearer {cookie}"]):
            assert 401 == page.ask(OURS, *headers)[0]
        assert 200 == page.ask(OURS, *page.opened)[0]


def test_the_token_stays_until_it_is_deleted(tmp_path: Path) -> None:
    """It outlives those who serve with it; only its owner can read it."""
    token = made_token(tmp_path)
    with _tools(tmp_path):
        assert token == made_token(tmp_path) == token_of(tmp_path)
        assert 64 == len(token)
        assert 0o600 == token_file(tmp_path).stat().st_mode & 0o777 or sys.platform == "win32"


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_deleted_or_void_token_opens_nothing_from_the_next_request_on(tmp_path: Path, is_deleted: bool) -> None:
    """Service and tools refuse it, take the one that was made instead, and the service tells that in its file."""
    token = made_token(tmp_path)
    with _service(tmp_path) as service, _tools(tmp_path) as tools:
        for asked, other in ((service, tools), (tools, service)):
            if is_deleted or sys.platform == "win32":
                token_file(tmp_path).unlink()
            else:
                token_file(tmp_path).chmod(0o644)
            assert [401, 401] == [one.ask(OURS, f"Authorization: Bearer {token}")[0] for one in (asked, other)]
            old, token = token, token_of(tmp_path)
            assert token != old
            assert 401 not in [one.ask(OURS, f"Authorization: Bearer {token}")[0] for one in (asked, other)]
            assert token == json.loads(token_file(tmp_path).with_name("http.json").read_bytes())["token"]


@pytest.mark.parametrize("name", ["token", "http.json"])
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path, name: str) -> None:
    """Who starts hears which one it is and what to do; it is not taken away, since somebody made it."""
    path = token_file(tmp_path).with_name(name)
    path.mkdir(parents=True)

    with pytest.raises(HybridError, match=rf"a folder .*{re.escape(str(path))}: remove it"), _service(tmp_path):
        pass
    assert path.is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="rights of Unix")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_token_that_others_could_read_or_write_is_void(tmp_path: Path, mode: int) -> None:
    """It opens nothing, and the next one that is made is another one, which they cannot read."""
    token = made_token(tmp_path)
    token_file(tmp_path).chmod(mode)

    assert "" == token_of(tmp_path)
    assert token != made_token(tmp_path)
    assert 0o600 == token_file(tmp_path).stat().st_mode & 0o777


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_token_in_place_of_which_a_link_stands_is_void(tmp_path: Path) -> None:
    """Nobody else says what the token is."""
    theirs = tmp_path / "theirs"
    theirs.write_text("0" * 64)
    theirs.chmod(0o600)
    token_file(tmp_path).parent.mkdir()
    token_file(tmp_path).symlink_to(theirs)

    assert "" == token_of(tmp_path)
    assert "0" * 64 != made_token(tmp_path)
    assert "0" * 64 == theirs.read_text()


def test_a_silent_connection_is_cut_off(server: Server) -> None:
    """One that says nothing, one that stops in its head and one that stops in its body: when their time is over."""
    head = f"POST {server.path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 9\r\n"
    with server.connected() as silent, server.connected() as half, server.connected() as bodiless:
        half.sendall(head.encode())
        bodiless.sendall(f"{head}\r\nxx".encode())
        assert 401 == server.ask(OURS)[0]
        with server.clock.running():
            closed = [_rest(sock) for sock in (silent, half, bodiless)]

    assert [b"", b""] == closed[:2]
    assert SECRET.encode() not in closed[2]


@contextlib.contextmanager
def _dripping(server: Server, begins: list[str]) -> Generator[list[socket.socket]]:
    """Connections that begin a request; each says one byte more from time to time, as long as it is open."""
    held: list[socket.socket] = []
    is_over = threading.Event()

    def drip() -> None:
        while not is_over.wait(0.05):
            for sock in [*held]:
                with contextlib.suppress(OSError):  # It was cut off.
                    sock.send(b"x")

    with contextlib.ExitStack() as stack, _running(drip, is_over.set):
        for begin in begins:
            sock = stack.enter_context(server.connected())
            sock.sendall(begin.format(path=server.path, port=server.port).encode())
            held.append(sock)
        yield held


MANY = 70
HEAD = "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
DRIPS = {
    "line": "GET /",
    "head": f"{HEAD}X: ",
    "body": f"{HEAD}Content-Length: 100000\r\n\r\n",
    "answered": f"{HEAD}Connection: keep-alive\r\n\r\n",
}


@pytest.mark.parametrize("begin", DRIPS.values(), ids=DRIPS)
def test_those_who_drip_keep_nobody_out(server: Server, begin: str) -> None:
    """However many do not come to an end, a request that is there as a whole is answered at once."""
    with _dripping(server, [begin] * MANY):
        assert [401] * 5 == [server.ask(OURS)[0] for _ in range(5)]


def test_a_byte_now_and_then_gains_no_time(server: Server) -> None:
    """The time of a head or a body counts as a whole: dripping connections are cut off like silent ones.

    They are fewer than may be silent, so that nothing but their time ends them.
    """
    begins = [*DRIPS.values()] * (MOST_SILENT // len(DRIPS) - 1)
    with _dripping(server, begins) as held, server.clock.running():
        assert not any(SECRET.encode() in _rest(sock) for sock in held)


def test_the_service_wants_a_head_in_its_own_time(tmp_path: Path) -> None:
    """It has a thread for each connection, so a head gets less time than an answer."""
    clock = Clock()  # It stands still: nothing takes long but for a head that may take no time.
    interface = HttpInterface(tmp_path, 0, _answer, clock, head_s=0.0)
    try:
        with _dripping(Server(interface.port, "/context", {}, clock), [DRIPS["head"]] * MANY) as held:
            assert {b""} == {_rest(sock) for sock in held}
    finally:
        interface.close()


def test_few_connections_may_be_silent(server: Server) -> None:
    """Beyond a number some are cut off before their time is over, and others are answered."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(server.connected()) for _ in range(MOST_SILENT + 8)]
        closed, _, _ = select.select(held, [], [], 60)
        assert {b""} == {_rest(sock) for sock in closed}
    until(lambda: _is_answered(server))


def test_the_longest_silent_are_cut_off_first() -> None:
    """Those beyond the number, then all whose time is over; what was not silent meanwhile begins anew."""
    clock = Clock()
    silence = Silence[int](clock)
    assert [] == silence.late([1])
    clock.now_s = 1.0
    assert [1] == silence.late(range(1, MOST_SILENT + 2))
    assert [] == silence.late([1, 3])
    clock.now_s = SILENT_S
    assert [1] == silence.late([1, 2, 3])
    clock.now_s = SILENT_S + 1.0
    assert [1, 3] == silence.late([1, 2, 3])


class _Request:
    """A request that was answered, as uvicorn keeps it with its connection."""

    response_complete = True
    more_body = False


class _Connection:
    """A connection of uvicorn; its transport is itself."""

    is_cut = False
    read_paused = False
    write_paused = False

    def __init__(self) -> None:
        self.transport, self.cycle, self.flow = self, _Request(), self

    def abort(self) -> None:
        self.is_cut = True

    def is_closing(self) -> bool:
        return self.is_cut

    def connection_made(self, transport: object) -> None:
        """As uvicorn calls it."""

    def connection_lost(self, exc: Exception | None) -> None:
        """As uvicorn calls it."""


def test_a_connection_that_asks_again_and_again_is_kept() -> None:
    """Each look finds it between two requests; only one whose last request is the same for long is cut off."""
    clock = Clock()
    busy, idle = _Connection(), _Connection()
    cut_off = cutting_off([busy, idle], clock)
    for _ in range(int(SILENT_S) + 1):
        asyncio.run(cut_off())
        clock.now_s += 1.0
        busy.cycle = _Request()

    assert (False, True) == (busy.is_cut, idle.is_cut)


@pytest.mark.parametrize("pause", ["", "read_paused", "write_paused"])
def test_who_does_not_take_the_answer_is_cut_off(pause: str) -> None:
    """One that asks more meanwhile, or reads nothing, held its connection for ever; one that waits is kept."""
    clock, connection = Clock(), _Connection()
    connection.cycle.response_complete = False
    cut_off = cutting_off([connection], clock)
    if pause:
        setattr(connection, pause, True)
    asyncio.run(cut_off())
    clock.now_s = SILENT_S
    asyncio.run(cut_off())

    assert bool(pause) == connection.is_cut


def test_between_two_looks_the_oldest_silent_one_gives_way() -> None:
    """A storm of connections took all files of a process within a second, and with them every session of tools."""
    kind = bounded(_Connection)
    first, *others = made = [kind() for _ in range(MOST_BEGUN + 2)]
    first.cycle.response_complete = False  # It waits for its answer.
    for one in made[:-1]:
        one.connection_made(one)
    assert not any(one.is_cut for one in made)
    made[-1].connection_made(made[-1])
    assert [others[0]] == [one for one in made if one.is_cut]
    others[1].connection_lost(None)
    late = kind()
    late.connection_made(late)
    assert not late.is_cut
    assert not others[2].is_cut


def _is_answered(server: Server) -> bool:
    with contextlib.suppress(OSError, IndexError):  # One beyond the number is closed without an answer.
        return server.ask(OURS)[0] == 401
    return False


def _rest(sock: socket.socket) -> bytes:
    """What still comes until the other side ends the connection."""
    with contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: sock.recv(65_536), b""))
    return b""
