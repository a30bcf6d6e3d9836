"""Lets nobody else in: checks where each request comes from, the session, and of a change its anti-forgery token.

Every request is held against the rules of `loopback`, needs the cookie of a session, and a change a token that only our
own pages hold. The first login needs a token that is printed on the terminal, works once and for a short time. Secrets
stay in memory.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse

from hybrid.ipc.loopback import MOST_HEAD, grouped, host_problem, is_same, page_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_S = 600.0
"""Seconds for which the printed token may be exchanged."""

_MOST_WRONG = 20
"""Wrong tokens after which the printed one is void: who starts the page again gets another."""
_MOST_SESSIONS = 16
"""Sessions at a time; the oldest ends first."""
_MOST_BODY = 262_144
"""Bytes of the body of a change."""
_MOST_FIELDS = 1_000
_PUBLIC = ("/static/",)
"""Beginnings of paths that anybody may read: they hold nothing of the user."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every answer, also of a refusal."""


class PageSession:
    """A browser that logged in.

    Attributes:
        forgery_token: What each of its changes must carry.
        notes: What was done, for the next page that is shown: a sentence, and whether it went well.
    """

    def __init__(self, forgery_token: str = "") -> None:
        self.forgery_token = forgery_token or secrets.token_urlsafe(32)
        self.notes: list[tuple[str, bool]] = []

    def take_notes(self) -> list[tuple[str, bool]]:
        """Return the notes, and keep none."""
        notes, self.notes = self.notes, []
        return notes


class Sessions:
    """The sessions of a page, and the token for the first login.

    Args:
        kept: What an earlier process gave to be kept.
        clock: Gives monotonic seconds.
    """

    def __init__(self, kept: Mapping[str, str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._token = ""
        self._until_s = 0.0
        self._n_wrong = 0
        self._sessions = {secret: PageSession(forgery) for secret, forgery in (kept or {}).items()}

    def offer(self) -> str:
        """Return a new token, in place of an earlier one."""
        self._token, self._until_s, self._n_wrong = secrets.token_urlsafe(32), self._clock() + TOKEN_S, 0
        return self._token

    def redeem(self, token: str) -> str | None:
        """Return the secret of a new session for the right token, which is void from then on; None for any other."""
        if not is_same(token, self._token) or self._clock() > self._until_s:
            self._n_wrong += 1
            if self._n_wrong >= _MOST_WRONG:
                self._token = ""
            return None
        self._token = ""
        secret = secrets.token_urlsafe(32)
        self._sessions[secret] = PageSession()
        while len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return secret

    def of(self, secret: str) -> PageSession | None:
        """Return the session with a secret; None without one."""
        found = [one for known, one in self._sessions.items() if is_same(secret, known)]
        return found[0] if found else None

    def end(self, secret: str) -> None:
        """End a session."""
        self._sessions.pop(secret, None)

    def kept(self) -> dict[str, str]:
        """Return the secret of each session and its anti-forgery token."""
        return {secret: session.forgery_token for secret, session in self._sessions.copy().items()}


class Guard:
    """Passes a request on if it may be answered; adds `HEADERS` to every answer.

    What is passed on has `scope["session"]`, and of a change `scope["form"]`: name → value of its fields.

    Args:
        app: Answers what is passed on.
        sessions: The sessions.
        port: The port that is listened on.
        login: Gives the page that asks for the token, with a sentence on what was wrong.
        asked: Called with each request of a session.
    """

    def __init__(
        self, app: ASGIApp, sessions: Sessions, port: int, login: Callable[[str], Response], asked: Callable[[], None]
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._login = login
        self._asked = asked
        self._port = port
        self.cookie = f"hybrid-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = await self._refusal(scope, receive) or self._app
        await answer(scope, receive, _with_headers(send))

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        """Return why a request is not passed on, or the login; None for one that is."""
        n_bytes = len(scope["raw_path"]) + len(scope["query_string"])
        if n_bytes + sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEAD:
            return PlainTextResponse(f"request line and headers have more than {MOST_HEAD:,} bytes\n", 431)
        headers = grouped(scope["headers"])
        if (refusal := self._place_problem(scope["method"], scope["path"], headers)) is not None:
            return refusal
        if scope["method"] in ("GET", "HEAD") and scope["path"].startswith(_PUBLIC):
            return None
        form = await _form(headers, receive) if scope["method"] == "POST" else {}
        if form is None:
            return PlainTextResponse("the form cannot be read\n", 400)
        if scope["path"] == "/login" and scope["method"] == "POST":
            return self._logged_in(form.get("token", ""))
        secret = self._secret(headers)
        session = self._sessions.of(secret) if secret else None
        if session is None:
            return self._login("")
        if scope["method"] == "POST" and not is_same(form.pop("forgery", ""), session.forgery_token):
            return PlainTextResponse("this form is not of this session: load its page again\n", 403)
        self._asked()
        if scope["path"] == "/logout" and scope["method"] == "POST":
            self._sessions.end(secret)
            return self._login("You are logged out.")
        scope["session"], scope["form"] = session, form
        return None

    def _place_problem(self, method: str, path: str, headers: Mapping[str, list[str]]) -> Response | None:
        """Return a refusal for a request to another host, from another page, or of another method."""
        if problem := host_problem(headers, self._port):
            return PlainTextResponse(f"{problem}\n", 403)
        if method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("only GET, HEAD and POST are answered\n", 405, {"allow": "GET, HEAD, POST"})
        if problem := page_problem(headers, is_form=method == "POST"):
            # The file that opens the browser leads here, as may any link: that gets the empty login, whoever comes.
            is_led = (method, path, headers.get("sec-fetch-mode")) == ("GET", "/", ["navigate"])
            return self._login("") if is_led else PlainTextResponse(f"{problem}\n", 403)
        if method == "POST" and "origin" not in headers:
            return PlainTextResponse("a change must name its Origin\n", 403)
        return None

    def _logged_in(self, token: str) -> Response:
        secret = self._sessions.redeem(token.strip().lstrip("#"))
        if secret is None:
            return self._login("This token is wrong, was used already, or is too old.")
        answer = PlainTextResponse("", 303, {"location": "/"})
        answer.set_cookie(self.cookie, secret, path="/", httponly=True, samesite="strict")
        return answer

    def _secret(self, headers: Mapping[str, list[str]]) -> str:
        # Our cookie has no quotes. Python's parser unquotes every cookie, in some versions in quadratic time.
        for text in headers.get("cookie", []):
            for part in text.split(";"):
                name, _, value = part.partition("=")
                if name.strip() == self.cookie:
                    return value.strip()
        return ""


async def _form(headers: Mapping[str, list[str]], receive: Receive) -> dict[str, str] | None:
    """Return the fields of a form, of each name the first one but `ids`, whose values are joined; None for no form."""
    kinds = headers.get("content-type", [""])
    if kinds[0].partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > _MOST_BODY:
            return None
        if not message.get("more_body", False):
            break
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    return {name: " ".join(values) if name == "ids" else values[0] for name, values in fields.items()}


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = {name.encode() for name in HEADERS}
            given: list[Any] = [pair for pair in message.get("headers", []) if pair[0].lower() not in ours]
            given += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": given}
        await send(message)

    return sending
