"""What stands before every request. Refused requests reach nothing behind it.

    host      on a loopback address only loopback names are answered, so that a foreign name that was pointed at this
              machine (DNS rebinding) gets nothing
    token     every request must carry the token: ``?token=`` once, which leaves a cookie, or ``Authorization: Bearer``.
              A loopback address needs it, too: every user of the machine can connect to it
    origin    a request that changes something must come from this page: the Origin header must name this host, and a
              secret that only this page was given must be in ``X-Page-Secret``

Answers carry a content security policy that runs no script but those of this package. Inline styles are allowed, since
the plotting library places its labels with them.
"""

from __future__ import annotations

import hmac
import html
import ipaddress
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


NO_TOKEN = (
    "This dashboard opens with its token. Open the address that `ccgbo dashboard` printed when it was started: it ends "
    "in ?token=… If it was started again since, only the newest address counts."
)
PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>ccgbo dashboard</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">{head}</head>'
    '<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 34em; margin: 3em auto; padding: 0 1em">'
    "{body}</body></html>"
)


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware; ``local`` where only this machine can connect, ``token`` None where no token is wanted."""

    def __init__(self, app: ASGIApp, *, token: str | None, local: bool, secret: str, port: int) -> None:
        self._app, self._token, self._local, self._secret = app, token, local, secret
        self._cookie = f"ccgbo_{port}"  # cookies do not know ports: two dashboards must not share one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # lifespan; there are no websockets
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._refuse(scope, Headers(scope=scope))
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """An answer instead of the one asked for, or None."""
        if self._local and not is_loopback(_name(headers.get("host", ""))):
            return _no(421, "This address answers to localhost only.")
        if self._token is not None:
            given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
            if given is not None and same(given, self._token) and scope["method"] in SAFE:
                return self._remember(scope)
            if not self._knows_token(headers):
                return _closed(headers)
        if scope["method"] not in SAFE and not self._from_this_page(headers):
            return _no(403, "This request did not come from the dashboard's own page.")
        return None

    def _knows_token(self, headers: Mapping[str, str]) -> bool:
        assert self._token is not None
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        return same(bearer, self._token) or same(cookie, self._token)

    def _remember(self, scope: Scope) -> Response:
        """Leave the token as a cookie and go on without it in the address, where it would stay in the history.

        By a page and not by a redirect: a strict cookie is not sent along a redirect that began on another site, as a
        link in a mail or in a private file (serve.doorway) does.
        """
        assert self._token is not None
        rest = [(k, v) for k, v in parse_qsl(scope["query_string"].decode("latin-1")) if k != "token"]
        # not scope["path"] as it is: "//elsewhere" would lead away from here
        there = html.escape(quote("/" + scope["path"].lstrip("/")) + ("?" + urlencode(rest) if rest else ""))
        head = f'<meta http-equiv="refresh" content="0;url={there}">'
        answer = HTMLResponse(PAGE.format(head=head, body=f'<p><a href="{there}">To the dashboard</a></p>'))
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return answer

    def _from_this_page(self, headers: Mapping[str, str]) -> bool:
        origin = urlsplit(headers.get("origin", ""))
        ours = bool(origin.netloc) and origin.netloc == headers.get("host", "")
        return ours and same(headers.get("x-page-secret", ""), self._secret)


def same(given: str, expected: str) -> bool:
    """Equality that takes as long for a near miss as for a far one."""
    return hmac.compare_digest(given.encode("utf-8"), expected.encode("utf-8"))


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _no(status: int, text: str) -> Response:
    return PlainTextResponse(text + "\n", status)


def _closed(headers: Mapping[str, str]) -> Response:
    """How to get in, for a person or for a program."""
    if "text/html" not in headers.get("accept", ""):
        return _no(403, NO_TOKEN)
    words = html.escape(NO_TOKEN).replace("`ccgbo dashboard`", "<code>ccgbo dashboard</code>")
    return HTMLResponse(PAGE.format(head="", body=f"<h1>The token is missing</h1><p>{words}</p>"), 403)


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return wrapped
