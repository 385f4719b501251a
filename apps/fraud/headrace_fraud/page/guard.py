"""Who may see the page: whoever has the link, on this machine, from a page of this server."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
ASKED = "x-headrace"  # a header that a form or a link of another site cannot send

_REFUSED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>headrace: this link is not valid</title>
<h1>This link is not valid</h1>
<p>The page is open to whoever has its link, with the token that was made when it started.
<p>Copy the whole link from the terminal in which <code>headrace demo</code> (or <code>make demo</code>) runs.
If that was started again, it printed a new one.
</html>
"""


class Guard:
    """Stands before every path. The Host must be this machine's own (against rebound names); the token is taken from the link once and then
    from a cookie that no script can read and no other site can send; what changes something must come from this server's own page."""

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"headrace-{port}"  # a browser sends a cookie to all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host") not in self._hosts:
            return PlainTextResponse("This server answers to 127.0.0.1 and localhost only.\n", 421)
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if tokens := [value for name, value in asked if name == "token"]:
            if scope["method"] != "GET" or not self._right(tokens[0]):
                return HTMLResponse(_REFUSED, 403)
            return self._welcome(scope["path"], [(name, value) for name, value in asked if name != "token"], headers)
        if not self._right(cookie_parser(headers.get("cookie", "")).get(self._cookie, "")):
            return HTMLResponse(_REFUSED, 403)
        if scope["method"] not in ("GET", "HEAD") and not self._own(headers):
            return PlainTextResponse("Only the page itself may ask for this.\n", 403)
        return None

    def _right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def _own(self, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        return headers.get(ASKED) == "1" and origin in (None, f"http://{headers['host']}") and site == "same-origin"

    def _welcome(self, path: str, query: list[tuple[str, str]], headers: Headers) -> Response:
        """To the same path without the token, which now is in the cookie."""
        clean = "/" + path.lstrip("/") + (f"?{urlencode(query)}" if query else "")
        if headers.get("sec-fetch-site") == "cross-site":
            # From a link on another site (a terminal in a browser) a redirect goes without the cookie; a request of our own page has it.
            response: Response = HTMLResponse("<!doctype html><title>headrace</title>", headers={"refresh": f"0; url={clean}"})
        else:
            response = RedirectResponse(clean, 303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return response
