"""Who may see the page and what it answers, over real sockets."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.errors import SetupError
from headrace_fraud.page import Board, JobStatus, Page


class Control:
    can_kill = False

    def __init__(self) -> None:
        self.told: list[str] = []
        self.progress: list[dict[str, Any]] = []

    def jobs(self) -> list[JobStatus]:
        return [JobStatus("decide", "real-time", "running", progress=self.progress)]

    def start(self, name: str) -> None:
        self.told.append(f"start {name}")

    def stop(self, name: str) -> None:
        self.told.append(f"stop {name}")

    def kill(self, name: str) -> None:
        self.told.append(f"kill {name}")


@pytest.fixture
def control() -> Control:
    return Control()


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def page(board: Board, control: Control) -> Iterator[Page]:
    with Page(board, control) as page:
        yield page


def ask(page: Page, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=sent)
    answer = connection.getresponse()
    answer.body = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def cookie(page: Page) -> str:
    return f"headrace-{page.port}={page.token}"


def test_the_link_gives_a_cookie_and_leads_to_an_address_without_the_token(page: Page) -> None:
    answer = ask(page, f"/?token={page.token}&x=1")
    assert (answer.status, answer.getheader("location")) == (303, "/?x=1")
    kept = answer.getheader("set-cookie") or ""
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in kept.split(";")}
    assert ask(page, "/", cookie=kept.split(";")[0]).status == 200


def test_from_another_site_the_browser_is_asked_to_come_again_by_itself(page: Page) -> None:
    answer = ask(page, f"/?token={page.token}", sec_fetch_site="cross-site")
    assert (answer.status, answer.getheader("refresh")) == (200, "0; url=/")


def test_a_redirect_never_leads_to_another_server(page: Page) -> None:
    assert ask(page, f"//example.org/?token={page.token}").getheader("location") == "/example.org/"


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/state", "/events", "/api/customers/c1", "/api/jobs/decide/stop", "/nothing"])
@pytest.mark.parametrize("how", ["no token", "wrong token", "wrong cookie", "the token of another page"])
def test_nothing_is_shown_without_the_token(page: Page, path: str, how: str) -> None:
    query = "?token=wrong" if how == "wrong token" else ""
    sent = {"wrong cookie": f"headrace-{page.port}=wrong", "the token of another page": f"headrace-1={page.token}"}.get(how, "a=b")
    answer = ask(page, path + query, cookie=sent)
    assert answer.status == 403
    assert b"headrace demo" in answer.body  # type: ignore[attr-defined]  # says where the link is found
    assert answer.getheader("set-cookie") is None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("evil.example:{port}", 421),
        ("127.0.0.1", 421),
        ("127.0.0.1:1", 421),
        ("", 421),
    ],
)
def test_only_this_machines_own_names_are_answered(page: Page, host: str, status: int) -> None:
    assert ask(page, "/", cookie=cookie(page), host=host.format(port=page.port)).status == status


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/state", "/nothing", "/?token=wrong"])
def test_every_answer_is_strict(page: Page, path: str) -> None:
    answer = ask(page, path, cookie=cookie(page))
    policy = answer.getheader("content-security-policy") or ""
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    assert answer.getheader("x-content-type-options") == "nosniff"
    assert answer.getheader("referrer-policy") == "no-referrer"
    assert answer.getheader("cache-control") == "no-store"
    assert answer.getheader("access-control-allow-origin") is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x_headrace": "1"}, 200),
        ({"x_headrace": "1", "origin": "http://127.0.0.1:{port}", "sec_fetch_site": "same-origin"}, 200),
        ({}, 403),
        ({"x_headrace": "1", "origin": "http://evil.example"}, 403),
        ({"x_headrace": "1", "origin": "null"}, 403),
        ({"x_headrace": "1", "sec_fetch_site": "cross-site"}, 403),
        ({"x_headrace": "1", "sec_fetch_site": "same-site"}, 403),
    ],
)
def test_only_the_page_itself_gives_orders(page: Page, control: Control, headers: dict[str, str], status: int) -> None:
    sent = {name: value.format(port=page.port) for name, value in headers.items()}
    assert ask(page, "/api/jobs/decide/stop", "POST", cookie=cookie(page), **sent).status == status
    assert control.told == (["stop decide"] if status == 200 else [])


@pytest.mark.parametrize("path", ["/api/jobs/decide/kill", "/api/jobs/nothing/stop", "/api/jobs/decide/format"])
def test_there_is_no_other_order_and_no_kill_outside_the_demo(page: Page, control: Control, path: str) -> None:
    assert ask(page, path, "POST", cookie=cookie(page), x_headrace="1").status == 404
    assert control.told == []


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd"])
def test_no_file_outside_the_static_ones_is_given(page: Page, path: str) -> None:
    assert ask(page, path, cookie=cookie(page)).status == 404


def test_the_state_is_json_and_an_unknown_customer_is_told(page: Page) -> None:
    state = json.loads(ask(page, "/api/state", cookie=cookie(page)).body)  # type: ignore[attr-defined]
    assert {"totals", "latency", "topics", "jobs", "seconds", "alerts", "letters", "windows"} <= set(state)
    assert ask(page, "/api/customers/c%2F1", cookie=cookie(page)).status == 404


def test_a_jobs_queries_are_told_one_by_one_and_in_sum(page: Page, control: Control) -> None:
    batch = {"batch": 3, "at": "2026-01-01T00:00:00.000Z", "seconds": 1.0}
    alerts, windows = {"pace": 3.5, "lag": 7, "written": 40}, {"pace": None, "lag": 5, "written": 3}
    control.progress = [{**batch, "query": "alerts", **alerts}, {**batch, "query": "windows", **windows}]
    (job,) = json.loads(ask(page, "/api/state", cookie=cookie(page)).body)["jobs"]  # type: ignore[attr-defined]
    assert job["queries"] == {"alerts": alerts, "windows": windows}
    assert job["lag"] == 12


def test_state_and_events_tell_how_the_reading_goes(board: Board, page: Page) -> None:
    board.reading.away = "timed out"
    board.reading.odd("windows/0/7", time.time() * 1000)
    state = json.loads(ask(page, "/api/state", cookie=cookie(page)).body)  # type: ignore[attr-defined]
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    connection.request("GET", "/events", headers={"cookie": cookie(page)})
    stream = connection.getresponse()
    event = json.loads(next(line for line in stream if line.startswith(b"data: ")).removeprefix(b"data: "))
    connection.close()
    assert state["reading"] == event["reading"] == {"away": "timed out", "odd": "windows/0/7"}


def test_it_closes_quickly_with_a_stream_open(control: Control) -> None:
    page = Page(Board(), control)
    page.start()
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    connection.request("GET", "/events", headers={"cookie": cookie(page)})
    stream = connection.getresponse()
    assert stream.getheader("content-type", "").startswith("text/event-stream")
    assert b"retry" in stream.readline()
    before = time.monotonic()
    page.close()
    assert time.monotonic() - before < 8
    assert not [thread for thread in threading.enumerate() if thread.name == "page-server"]
    connection.close()


def test_the_same_port_and_token_serve_again(control: Control) -> None:
    with Page(Board(), control) as first:
        pass
    with Page(Board(), control, port=first.port, token=first.token) as second:
        assert second.url == first.url
        assert ask(second, "/", cookie=cookie(first)).status == 200


def test_a_port_in_use_is_told(page: Page, control: Control) -> None:
    with pytest.raises(SetupError) as refused:
        Page(Board(), control, port=page.port)
    assert str(page.port) in refused.value.what
    assert "another port" in refused.value.fix
