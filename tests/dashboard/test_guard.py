"""Nobody else gets anything: other hosts, other pages, no token, wrong tokens, used tokens, forms of other sessions."""

from __future__ import annotations

import contextlib
import http.client
import re

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from hybrid.dashboard.guard import HEADERS, TOKEN_S, Guard, Sessions
from tests.support.browsing import Browser
from tests.support.pages import Served, key_of

PATHS = ["", "/now", "/search?q=payment", "/gate", "/lessons", "/lore", "/memory", "/index", "/health", "/now/events"]


def _is_nothing(text: str) -> bool:
    return "payment" not in text.lower() and "shop" not in text.lower()


@pytest.mark.parametrize("path", PATHS)
def test_without_a_session_every_path_asks_for_the_token(served: Served, path: str) -> None:
    """A browser that did not log in gets the login and nothing of the project, not even whether there is one."""
    page = Browser(served.told["port"]).get(f"{served.base}{path}")
    unknown = Browser(served.told["port"]).get("/p/0000000000000000/now")

    assert 401 == page.status
    assert _is_nothing(page.text)
    assert page.body == unknown.body


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": None},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_hosts_and_other_pages_get_nothing(
    served: Served, browser: Browser, headers: dict[str, str | None]
) -> None:
    """A name that leads here, or a page of another origin, is refused though the browser sends the cookie."""
    page = browser.request("GET", f"{served.base}/lessons", headers=headers)

    # Without any host the request is none of HTTP.
    assert (400 if None in headers.values() else 403) == page.status
    assert _is_nothing(page.text)


@pytest.mark.parametrize(
    "cookie", ["", "hybrid-1=x", "hybrid-{port}=", "hybrid-{port}=wrong", 'hybrid-{port}="', "\xff=1"]
)
def test_a_wrong_cookie_is_no_session(served: Served, cookie: str) -> None:
    """Whatever else stands in the cookie gets the login."""
    other = Browser(served.told["port"])
    page = other.get(f"{served.base}/lessons", Cookie=cookie.replace("{port}", str(other.port)))

    assert 401 == page.status
    assert _is_nothing(page.text)


@pytest.mark.parametrize("others", ['a="; ', 'a="' + '\\"' * 7_000 + '"; ', "a; =b;; "])
def test_a_cookie_of_others_hides_ours_from_nobody(served: Served, browser: Browser, others: str) -> None:
    """Cookies do not keep ports apart; one full of escapes kept the page busy for seconds, whoever sent it."""
    ours = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    page = browser.get(f"{served.base}/lessons", Cookie=others + ours)

    assert 200 == page.status


@pytest.mark.parametrize("token", ["", "x", "A" * 43, "ü" * 43])
def test_a_wrong_token_is_no_login(served: Served, token: str) -> None:
    """No cookie is given for any other token."""
    page = Browser(served.told["port"]).post("/login", {"token": token}, forgery=False)

    assert 401 == page.status
    assert "set-cookie" not in page.headers


def test_the_token_works_once(served: Served, browser: Browser) -> None:
    """Whoever reads the address afterwards, in a history or on the screen, gets in with it no more."""
    again = Browser(served.told["port"]).post("/login", {"token": served.token}, forgery=False)

    assert browser.cookies
    assert 401 == again.status
    assert "set-cookie" not in again.headers


def test_the_token_works_for_a_short_time() -> None:
    """After ten minutes, or after twenty wrong ones, it is void."""
    now_s = 0.0
    late, tried = Sessions(clock=lambda: now_s), Sessions(clock=lambda: 0.0)
    token, other = late.offer(), tried.offer()
    now_s = TOKEN_S + 1
    for _ in range(20):
        tried.redeem("wrong")

    assert late.redeem(token) is None
    assert tried.redeem(other) is None


def test_the_cookie_is_for_this_page_alone() -> None:
    """It is not for scripts, is sent from its own pages only, and is named by the port."""
    sessions = Sessions()
    guard = Guard(PlainTextResponse("in"), sessions, 1234, lambda text: PlainTextResponse(text, 401), lambda: None)
    headers = {"Host": "127.0.0.1:1234", "Origin": "http://127.0.0.1:1234"}
    client = TestClient(guard, base_url="http://127.0.0.1:1234", follow_redirects=False)
    answer = client.post("/login", data={"token": sessions.offer()}, headers=headers)

    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith("hybrid-1234=")
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip() for part in cookie.split(";")}


def test_a_change_needs_the_token_of_its_session(served: Served, browser: Browser) -> None:
    """A form without it, with another one, without an origin, or of another kind changes nothing."""
    browser.get(f"{served.base}/gate")
    path, fields = f"{served.base}/mark", {"id": "0000010001", "word": "good"}
    refused = [
        browser.post(path, fields, forgery=False),
        browser.post(path, {**fields, "forgery": "x" * 43}, forgery=False),
        browser.post(path, fields, headers={"Origin": None}),
        browser.post(path, fields, headers={"Origin": "null", "Sec-Fetch-Site": None}),
        browser.post(path, fields, headers={"Origin": "http://evil.example"}),
        browser.post(path, fields, headers={"Content-Type": "text/plain"}),
        browser.post(path, fields, headers={"Cookie": None}),
    ]

    assert {400, 401, 403} >= {page.status for page in refused}
    assert {"marks": []} == served.shop.json("mark", "list", code=1)


def test_a_form_of_a_page_without_referrer_is_taken(served: Served, browser: Browser) -> None:
    """Its origin is `null`; the browser says in another header that it is ours."""
    browser.get(f"{served.base}/now")
    fields = {"id": "0000020002", "word": "good"}
    page = browser.post(f"{served.base}/mark", fields, headers={"Origin": "null", "Sec-Fetch-Site": "same-origin"})
    browser.post(f"{served.base}/mark", fields | {"word": "none"})

    assert 303 == page.status


def test_a_change_by_get_changes_nothing(served: Served, browser: Browser) -> None:
    """Addresses of changes are answered to forms only, and other methods to nobody."""
    base = served.base
    pages = [browser.get(f"{base}/{path}") for path in ("mark", "lessons/add", "lore/retract")]
    others = [browser.request(method, f"{base}/lessons") for method in ("PUT", "DELETE", "OPTIONS", "PATCH")]

    assert {405} == {page.status for page in [*pages, *others]}


def test_every_answer_has_the_headers(served: Served, browser: Browser) -> None:
    """Policy, no sniffing, no referrer, nothing kept: on pages, refusals, the login, files, and what is not there."""
    base = served.base
    pages = [
        browser.get(f"{base}/now"),
        browser.get("/static/page.css"),
        browser.get("/nothing"),
        Browser(browser.port).get("/"),
        browser.get(f"{base}/now", Host="evil.example"),
    ]

    for page in pages:
        assert HEADERS.items() <= page.headers.items()
        assert "server" not in page.headers
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_page_holds_script_style_or_address_of_others(served: Served, browser: Browser) -> None:
    """Scripts and styles come from two files of ours; no page loads anything else."""
    for path in ("now", "search?q=payment", "gate", "lessons", "lore", "memory", "index", "health"):
        page = browser.get(f"{served.base}/{path}").text
        assert ['<script src="/static/page.js">'] == re.findall(r"<script[^>]*>", page), path
        assert not re.search(r"<style|\sstyle=|\son\w+=\"", page.replace("onerror=alert(1)", "")), path
        assert not re.search(r'(?:src|href|action)="(?!/|#)', page), path


def test_a_link_from_another_page_gets_the_empty_login(served: Served, browser: Browser) -> None:
    """The browser is opened through a file; whoever else links here gets the same page, with nothing of the user."""
    led = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    front = browser.request("GET", "/", headers=led)
    deeper = browser.request("GET", f"{served.base}/now", headers=led)
    script = browser.request("GET", "/", headers=led | {"Sec-Fetch-Mode": "no-cors"})

    assert [401, 403, 403] == [front.status, deeper.status, script.status]
    assert _is_nothing(front.text)


def test_large_and_broken_requests_are_refused(served: Served, browser: Browser) -> None:
    """A body, a head or a form beyond all sense ends with an error, and the page goes on."""
    browser.get(f"{served.base}/now")
    large = browser.post(f"{served.base}/mark", {"id": "x" * 300_000})
    with contextlib.suppress(http.client.HTTPException, OSError):  # The connection may be closed before it is sent.
        assert browser.get(f"{served.base}/now?x={'y' * 70_000}").status in (400, 431)
    broken = browser.request("POST", f"{served.base}/mark", b"\xff\xfe%", None)

    assert 400 == large.status
    assert broken.status in (400, 403)
    assert 200 == browser.get(f"{served.base}/now").status


def test_after_logging_out_the_cookie_is_worth_nothing(served: Served) -> None:
    """A session ends for good."""
    sessions = Sessions()
    secret = sessions.redeem(sessions.offer())
    assert secret is not None
    before = sessions.of(secret)
    sessions.end(secret)

    assert before is not None
    assert sessions.of(secret) is None


def test_only_loopback_is_listened_on(served: Served) -> None:
    """The address names 127.0.0.1, and the token stands behind the #, which no browser sends."""
    assert served.told["url"] == f"http://127.0.0.1:{served.told['port']}/#{served.token}"
    assert 43 == len(served.token)
    assert key_of(served.shop) not in served.told["url"]
