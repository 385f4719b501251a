"""The web server of the page: one thread, one port of 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mimetypes
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from headrace.errors import HeadraceError, SetupError
from headrace_fraud.page.board import Board
from headrace_fraud.page.control import Control
from headrace_fraud.page.guard import Guard
from headrace_fraud.page.views import Views

_STATIC = Path(__file__).parent / "static"
_EVERY = 1.0  # seconds between two events
mimetypes.add_type("text/javascript", ".js")  # some systems have no or another entry, and browsers insist


class Page:
    """Shows a board and lets its reader stop and start jobs. `start()` returns when it answers; `url` is the link with its token.

    With the same port and token a page that was open before finds the new server by itself.
    """

    def __init__(self, board: Board, control: Control, *, port: int = 0, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self._control = control
        self._views = Views(board, control)
        self._listening = _listen(port)
        self.port: int = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/?token={self.token}"
        config = uvicorn.Config(
            self.app(), log_config=None, access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1, server_header=False
        )
        self._server = uvicorn.Server(config)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page-server", daemon=True)

    def start(self) -> None:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)

    def close(self) -> None:
        """Ends the open event streams too; their readers will try again."""
        self._closing.set()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        self._listening.close()

    def __enter__(self) -> Page:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def app(self) -> Guard:
        routes = [
            Route("/", self._index),
            Route("/events", self._events),
            Route("/api/state", self._state),
            Route("/api/customers/{name:path}", self._customer),
            Route("/api/jobs/{name}/{verb}", self._order, methods=["POST"]),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ]
        return Guard(Starlette(routes=routes), port=self.port, token=self.token)

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])

    async def _index(self, _: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def _state(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._views.state))

    async def _customer(self, request: Request) -> Response:
        customer = self._views.customer(request.path_params["name"])
        return JSONResponse(customer or {"error": "Nothing was heard of this customer lately."}, 200 if customer else 404)

    async def _events(self, _: Request) -> Response:
        return StreamingResponse(self._told(), media_type="text/event-stream")

    async def _told(self) -> AsyncIterator[str]:
        """One event a second: what changed, summed up; of the alerts, those since the last one."""
        yield "retry: 1000\n\n"
        seen = self._views.board.alerts_seen
        while not self._closing.is_set():
            common = self._views.now(_EVERY)
            alerts = self._views.board.alerts(seen)
            seen = alerts[-1]["n"] if alerts else seen
            yield f'data: {{"alerts":{json.dumps(alerts)},{common[1:]}\n\n'
            due = time.monotonic() + _EVERY
            while time.monotonic() < due and not self._closing.is_set():  # so that closing takes no second
                await asyncio.sleep(0.1)

    async def _order(self, request: Request) -> Response:
        name, verb = request.path_params["name"], request.path_params["verb"]
        orders: dict[str, Any] = {"start": self._control.start, "stop": self._control.stop}
        if self._control.can_kill:
            orders["kill"] = self._control.kill
        if verb not in orders or name not in {job.name for job in self._control.jobs()}:
            return JSONResponse({"error": f"There is no job {name} to {verb}."}, 404)
        self._views.asked(name, verb)
        try:
            await run_in_threadpool(orders[verb], name)
        except HeadraceError as problem:
            return JSONResponse({"error": problem.what, "fix": problem.fix}, 409)
        return JSONResponse({"done": True})


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with contextlib.ExitStack() as undo:
        undo.callback(listening.close)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as problem:
            raise SetupError(
                f"The page cannot listen at port {port}: {problem.strerror}.", fix="Choose another port, or none: then a free one is taken."
            ) from None
        undo.pop_all()
    return listening
