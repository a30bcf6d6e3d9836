"""A browser of plain requests: cookies, forms and their tokens, and headers as a test wants them."""

from __future__ import annotations

import http.client
import re
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode

_COOKIE = re.compile(r"([\w-]+)=([^;]*)")
_FORGERY = re.compile(r'name="forgery" value="([^"]+)"')


@dataclass(frozen=True)
class Page:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def words(self) -> str:
        """What a person reads: the text without tags, its entities resolved, white space as one space."""
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", self.text)).split())

    def links(self) -> list[str]:
        """The addresses of the links."""
        return [unescape(one) for one in re.findall(r'href="([^"]+)"', self.text)]


@dataclass
class Browser:
    """One browser of one person.

    Attributes:
        port: The port of the page.
        cookies: Name → value.
    """

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    forgery: str = ""

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str | None] | None = None
    ) -> Page:
        """Send a request as a browser of the page does; a header of None is left out."""
        origin = f"http://127.0.0.1:{self.port}"
        usual: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Origin": origin if method == "POST" else None,
            "Sec-Fetch-Site": "same-origin",
            "Sec-Fetch-Mode": "navigate",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()) or None,
            "Content-Type": "application/x-www-form-urlencoded" if body is not None else None,
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in (usual | (headers or {})).items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            page = Page(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()
        if match := _COOKIE.match(page.headers.get("set-cookie", "")):
            self.cookies[match[1]] = match[2]
        if match := _FORGERY.search(page.body.decode("utf-8", "replace")):
            self.forgery = match[1]
        return page

    def get(self, path: str, **headers: str | None) -> Page:
        """Load a page."""
        return self.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(
        self,
        path: str,
        fields: dict[str, object],
        *,
        forgery: bool = True,
        headers: dict[str, str | None] | None = None,
    ) -> Page:
        """Send a form, with the token of the session unless told otherwise."""
        values = {"forgery": self.forgery, **fields} if forgery else fields
        return self.request("POST", path, urlencode(values, doseq=True).encode(), headers)
