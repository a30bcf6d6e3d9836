from __future__ import annotations

import contextlib
import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.daemon.test_http import told
from tests.support.agent import Agent, is_alive, until
from tests.support.builders import new_shop
from tests.support.memories import fill_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRETS = (b"Access-Control", b"Python", b"Traceback")
"""What no answer may have: a grant to other origins, the interpreter's version, where something failed."""


class Raw:
    """Says bytes to the port, as no client library would."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.port, self.token, self.pid = (told(agent)[name] for name in ("port", "token", "pid"))
        self.host = f"127.0.0.1:{self.port}"
        self.bearer = f"Authorization: Bearer {self.token}"

    def connected(self) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=120)

    def say(self, data: bytes) -> bytes:
        """Everything that is answered to some bytes."""
        with self.connected() as sock:
            with contextlib.suppress(OSError):
                sock.sendall(data)
            return _everything(sock)

    def ask(self, line: str, *headers: str, host: str | None = None) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer."""
        named = [] if host == "" else [f"Host: {host or self.host}"]
        data = "\r\n".join([line, *named, *headers, "", ""])
        answer = self.say(data.encode("latin-1"))
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")

        assert not [secret for secret in SECRETS if secret in answer]
        return int(first.split()[1]), dict(one.split(": ", 1) for one in lines), body

    def status(self, line: str, *headers: str, host: str | None = None) -> int:
        """The status of an answer, whose body must be JSON unless it is left out."""
        status, _, body = self.ask(line, *headers, host=host)
        assert not body or json.loads(body).get("status", 200) in (status, "ok")
        return status


def _everything(sock: socket.socket) -> bytes:
    parts: list[bytes] = []
    with contextlib.suppress(ConnectionResetError):
        while part := sock.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    """A service with a memory; no test ends it."""
    agent = Agent(new_shop(tmp_path_factory.mktemp("refusals"), is_indexed=False))
    fill_memory(agent.shop)
    agent.shop.out("daemon", "start", "--quiet")
    yield Raw(agent)
    agent.stop_service()


@pytest.mark.parametrize("header", ["", "Authorization: Bearer wrong"])
def test_nothing_is_answered_without_the_token(raw: Raw, header: str) -> None:
    """401 with what is needed, for every path, known or not; the token in the address counts for nothing."""
    given = [header] if header else []

    for path in (
        "/context",
        "/search?query=x",
        "/observations/1",
        "/schema",
        "/nothing",
        f"/context?token={raw.token}",
    ):
        status, headers, body = raw.ask(f"GET {path} HTTP/1.1", *given)
        assert (401, 'Bearer realm="hybrid"') == (status, headers["WWW-Authenticate"])
        assert b"records" not in body
    assert 200 == raw.status("GET /context HTTP/1.1", raw.bearer)
    assert 200 == raw.status("GET /context HTTP/1.1", f"authorization: bearer {raw.token}")


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "127.0.0.1.evil.example:{port}",
     "0.0.0.0:{port}", "user@127.0.0.1:{port}", "127.1:{port}", "[::]:{port}"],
)  # fmt: skip
def test_another_host_is_refused(raw: Raw, host: str) -> None:
    """A name that leads to this machine (DNS rebinding) is not ours, with the right token too; /health is no exception."""
    named = host.format(port=raw.port)

    assert 403 == raw.status("GET /context HTTP/1.1", raw.bearer, host=named)
    assert 403 == raw.status("GET /health HTTP/1.1", host=named)


def test_two_hosts_are_refused(raw: Raw) -> None:
    """Whichever comes first."""
    assert 403 == raw.status("GET /health HTTP/1.1", "Host: evil.example")
    assert 403 == raw.status("GET /health HTTP/1.1", f"Host: {raw.host}", host="evil.example")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_the_names_of_loopback_are_answered(raw: Raw, host: str) -> None:
    """With this very port."""
    assert 200 == raw.status("GET /context HTTP/1.1", raw.bearer, host=host.format(port=raw.port))


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://127.0.0.1:1", "null", "",
     "http://localhost:{port}.evil.example", "file://", "chrome-extension://abc"],
)  # fmt: skip
def test_a_page_of_another_origin_is_refused(raw: Raw, origin: str) -> None:
    """With the right token too, and no header invites it."""
    status, headers, _ = raw.ask("GET /context HTTP/1.1", raw.bearer, f"Origin: {origin.format(port=raw.port)}")

    assert 403 == status
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert 403 == raw.status("GET /health HTTP/1.1", f"Origin: {origin.format(port=raw.port)}")


def test_a_page_that_hides_its_origin_is_refused(raw: Raw) -> None:
    """Browsers say that a request crosses sites; the origin of the address that is asked is our own."""
    for site in ("cross-site", "same-site"):
        assert 403 == raw.status("GET /context HTTP/1.1", raw.bearer, f"Sec-Fetch-Site: {site}")
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{raw.port}"
        assert 200 == raw.status("GET /context HTTP/1.1", raw.bearer, f"Origin: http://{host}", host=host)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "BREW"])
def test_only_get_and_head(raw: Raw, method: str) -> None:
    """405 with what is possible, before anything else is looked at; a preflight gets no grant."""
    status, headers, body = raw.ask(f"{method} /context HTTP/1.1", raw.bearer, "Content-Length: 5")

    assert (405, "GET, HEAD") == (status, headers["Allow"])
    assert 405 == json.loads(body)["status"]


def test_head_has_the_headers_alone(raw: Raw) -> None:
    """Those of GET."""
    _, head, nothing = raw.ask("HEAD /observations/1 HTTP/1.1", raw.bearer)
    _, get, body = raw.ask("GET /observations/1 HTTP/1.1", raw.bearer)

    assert (b"", str(len(body))) == (nothing, head["Content-Length"])
    assert {name: text for name, text in head.items() if name != "Date"} == {
        name: text for name, text in get.items() if name != "Date"
    }
    assert ("no-store", "nosniff", "close", "hybrid") == tuple(
        get[name] for name in ("Cache-Control", "X-Content-Type-Options", "Connection", "Server")
    )


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /health HTTP/1.1\r\n\r\n", 403),
        (b"GET /health\r\n\r\n", 403),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 505),
        (b"GET / HTTP/x\r\n\r\n", 400),
        (b"GET " + b"/" + b"a" * 9_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET /health HTTP/1.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + b"X: aaaaaaaaaaaaaaaa\r\n" * 2_000 + b"\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + b"X: a\r\n" * 150 + b"\r\n", 431),
    ],
    ids=["no host", "0.9", "no request", "version", "no version", "line", "header", "headers", "number of headers"],
)
def test_what_is_no_sensible_request_is_refused(raw: Raw, data: bytes, status: int) -> None:
    """With a status of its own, as JSON; the service goes on."""
    answer = raw.say(data)

    body = answer.partition(b"\r\n\r\n")[2] if answer.startswith(b"HTTP/") else answer
    assert status == json.loads(body)["status"]
    assert b"<html" not in answer.lower()
    assert 200 == raw.status("GET /health HTTP/1.1")


def test_a_target_that_is_no_path_is_refused(raw: Raw) -> None:
    """An absolute address is that of a proxy."""
    assert 400 == raw.status(f"GET http://{raw.host}/context HTTP/1.1", raw.bearer)
    assert 404 == raw.status("GET /../../etc/passwd HTTP/1.1", raw.bearer)
    assert 404 == raw.status("GET //evil.example/context HTTP/1.1", raw.bearer)


def test_a_body_does_not_cost_the_answer(raw: Raw) -> None:
    """What is sent besides the request is taken and thrown away."""
    data = f"POST /context HTTP/1.1\r\nHost: {raw.host}\r\nContent-Length: 60000\r\n\r\n".encode() + b"x" * 60_000

    assert all(raw.say(data).startswith(b"HTTP/1.1 405 ") for _ in range(5))


def test_one_connection_carries_one_request(raw: Raw) -> None:
    """A second one behind it is not answered."""
    one = f"GET /health HTTP/1.1\r\nHost: {raw.host}\r\nConnection: keep-alive\r\n\r\n".encode()

    assert 1 == raw.say(one + one).count(b"HTTP/1.1 200 OK")


def test_many_silent_connections_stop_nobody(raw: Raw) -> None:
    """Beyond a few at once the oldest that say nothing give way to those who ask; hooks have a socket of their own."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(raw.connected()) for _ in range(40)]
        for _ in range(20):
            assert 200 == raw.status("GET /health HTTP/1.1")
        assert all(_is_closed(sock) for sock in held[:20])
        assert raw.agent.status()["running"]


def _is_closed(sock: socket.socket) -> bool:
    sock.settimeout(5)
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_nobody_listens_but_on_loopback(raw: Raw) -> None:
    """Another address of this machine is not answered."""
    if sys.platform == "linux":
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = {line[1] for line in lines if line[3] == "0A" and int(line[1].split(":")[1], 16) == raw.port}
        assert {f"0100007F:{raw.port:04X}"} == listening
    with pytest.raises(OSError, match=r"."):
        socket.create_connection(("::1", raw.port), timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_slow_client_does_not_hold_the_end_of_the_service(agent: Agent) -> None:
    """It is cut off, and the process ends as without it."""
    agent.shop.out("daemon", "start", "--quiet")
    raw = Raw(agent)
    with raw.connected() as idle, raw.connected() as half:
        half.sendall(f"GET /context HTTP/1.1\r\nHost: {raw.host}\r\n".encode())
        agent.stop_service()
        assert b"" == _everything(idle)

    assert not is_alive(raw.pid)


def test_a_file_of_others_is_replaced(agent: Agent) -> None:
    """Rights that a file had before do not let others read the new token."""
    path = agent.shop.home / "run" / "http.json"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text('{"port": 1, "token": "old", "pid": 1}')
    path.chmod(0o666)
    agent.shop.out("daemon", "start", "--quiet")
    until(lambda: path.exists() and agent.status()["http"])

    assert "old" != told(agent)["token"]
    if sys.platform != "win32":
        assert 0o600 == path.stat().st_mode & 0o777
