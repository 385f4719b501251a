"""The whole flagship on one machine: broker, jobs, generator and page, until Ctrl-C or for so many seconds."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Consumer, TopicPartition
from rich.console import Console
from rich.live import Live
from rich.text import Text

import headrace as hr
from headrace_fraud.deciding import topics
from headrace_fraud.deciding.jobs import INPUTS, LEARNING, OUTPUTS, PARTITIONS
from headrace_fraud.deciding.settings import Rules
from headrace_fraud.demo import rehearsal
from headrace_fraud.demo.panels import Panels
from headrace_fraud.demo.processes import Child, Memory, until
from headrace_fraud.demo.steady import Steady
from headrace_fraud.demo.supervisor import Supervisor
from headrace_fraud.demo.worker import LEARN, MODES, QUERIES, TEMPORARY
from headrace_fraud.page.board import Board
from headrace_fraud.page.collector import Collector
from headrace_fraud.page.control import JobStatus
from headrace_fraud.page.server import Page
from headrace_fraud.world import truth

T = TypeVar("T")

_STARTING = 600.0  # at most: a job that fails says so long before
_DRAINING = 300.0  # at most, and for each of two steps: it ends as soon as all is done


@dataclass(frozen=True)
class Options:
    seconds: float | None
    rate: float
    seed: int
    port: int
    browser: bool
    rules: Rules
    warm_up: float
    model: bool = False


def place() -> Path:
    """Where the last demo left its files: checkpoints, Parquet, the database, logs."""
    return hr.data_directory() / "fraud-demo"


class Demo:
    """One run: `run` it, and get what the JSON file holds."""

    def __init__(self, options: Options, console: Console) -> None:
        self._options, self._console = options, console
        self._begun = time.time()
        self._memory = Memory()
        self._board = Board(options.warm_up, model=options.model)
        self._sent: dict[str, Any] = {}
        self._steady = Steady(self._board)
        self._panels = Panels(self._board)

    def run(self) -> dict[str, Any]:
        with ExitStack() as stack:
            stack.callback(self._memory.close)
            servers = self._step("broker", _broker)
            self._place = place()
            _fresh(self._place, servers, (*INPUTS, *OUTPUTS, *(LEARNING if self._options.model else ())))
            _no_full_collections()
            collector = Collector(self._board, servers)
            collector.start()
            stack.callback(collector.close)
            stack.callback(until, lambda: _removed(self._place / TEMPORARY), 2.0)
            names = (*MODES, *([LEARN] if self._options.model else []))
            jobs = Supervisor(self._place, str(self._place / "fraud.db"), self._options.rules, servers, names)
            stack.callback(jobs.close)
            page = stack.enter_context(Page(self._board, jobs, port=self._options.port))
            self._console.print(f"\n  [bold]{page.url}[/]\n", soft_wrap=True)
            if self._options.browser and _has_screen():
                with suppress(webbrowser.Error):
                    webbrowser.open(page.url)
            for name in names:
                jobs.start(name, rehearse=name in MODES)
            model = ", and the model" if self._options.model else ""
            self._step(f"three jobs, each with a rehearsal on made-up records{model}", lambda: self._running(jobs))
            generator = self._generator(servers)
            stack.callback(generator.wait)
            stack.callback(generator.ask_to_end)
            interrupted = True
            with suppress(KeyboardInterrupt):
                self._watch(generator, jobs)
                interrupted = False
            self._console.print("\nstopping: what was sent is decided first")
            generator.ask_to_end()
            generator.wait()
            until(self._drained, _DRAINING)
            if not interrupted:  # who presses Ctrl-C does not want to wait; the next start of a job would go on where it was
                self._console.print("then stored")
                decided = datetime.now(UTC)
                until(lambda: _stored(jobs.jobs(), decided), _DRAINING)
            self._look(jobs)
            return self._report(servers)

    def _step(self, what: str, do: Callable[[], T]) -> T:
        began = time.monotonic()
        with self._console.status(f"starting: {what}"):
            result = do()
        self._console.print(f"  [green]✓[/] {what}  [dim]{time.monotonic() - began:.1f} s[/]")
        return result

    def _running(self, jobs: Supervisor) -> None:
        """Until no job is on its way any more: the first record finds all of them warm. One that a reader of the page stopped stays so."""
        until(lambda: all(job.state in ("running", "stopped", "failed") for job in jobs.jobs()), _STARTING)
        for job in jobs.jobs():
            if job.state not in ("running", "stopped"):
                raise hr.HeadraceError(
                    f"the job {job.name} did not start: {job.message or 'it took too long'}", fix=f"see {self._place / 'logs'}"
                )

    def _generator(self, servers: str) -> Child:
        options = self._options
        arguments = [
            servers,
            "--rate",
            str(options.rate),
            "--seed",
            str(options.seed),
            "--truth",
            str(self._place / "truth.jsonl"),
            "--with-parent",
        ]
        if options.model:
            arguments.append("--labels")
        if options.seconds is not None:
            arguments += ["--seconds", str(options.seconds)]
        log = self._place / "logs" / "generator.log"
        return Child("headrace_fraud.world", arguments, log, self._sent.update, {})

    def _watch(self, generator: Child, jobs: Supervisor) -> None:
        with Live(console=self._console, refresh_per_second=2) as live:
            while generator.poll() is None:
                self._look(jobs)
                live.update(_line(self._totals(), self._board.latency()))
                time.sleep(0.5)

    def _look(self, jobs: Supervisor) -> None:
        now = time.time()
        self._steady.look(now, _ends(jobs.job("decide")))
        self._panels.look(now, jobs.jobs())

    def _totals(self) -> dict[str, Any]:
        return self._board.totals(time.time() * 1000)

    def _drained(self) -> bool:
        totals = self._totals()
        acknowledged: int = self._sent.get("acknowledged", {}).get("transactions", 0)
        return bool(totals["in_flight"] == 0 and totals["sent"] >= acknowledged)

    def _report(self, servers: str) -> dict[str, Any]:
        totals = self._totals()
        scored = truth.score(_decisions(servers), truth.read(self._place / "truth.jsonl"))
        seconds, first = self._sent.get("seconds") or 0, self._board.latency()["first"]
        return {
            "sent": totals["sent"],
            "decided": totals["decided"],
            "flagged": totals["flagged"],
            "dead_letters": totals["dead_letters"],
            "late": totals["late"],
            "duplicates": totals["duplicates"],
            "conserved": totals["conserved"],
            **self._steady.report(),
            "events_per_s": round(totals["decided"] / seconds, 1) if seconds else None,
            "precision": {rule: score["precision"] for rule, score in scored.items()},
            "recall": {rule: score["recall"] for rule, score in scored.items()},
            "rules": scored,
            **({"model": self._board.model()} if self._options.model else {}),
            "seconds_to_first_decision": None if first is None else round(first - self._begun, 1),
            "panels_after_first_decision_s": self._panels.report(),
            "peak_memory_mb": self._memory.peak_mb,
            "place": str(self._place),
        }


def _no_full_collections() -> None:
    """All that the board knows would be looked through each time, a third of a second in which no decision is read. Cycles are short-lived
    here, and young garbage is still collected."""
    gc.set_threshold(*gc.get_threshold()[:2], 1_000_000)


def _broker() -> str:
    if os.environ.get("HEADRACE_KAFKA"):  # an empty one is as good as none
        raise hr.HeadraceError("HEADRACE_KAFKA is set, and the demo makes and removes topics", fix="unset it: the demo brings a broker")
    return hr.topics.servers()


def _ends(job: JobStatus) -> list[float]:
    """When the last batch of a job's queries ended."""
    return [datetime.fromisoformat(batch["at"]).timestamp() + batch["seconds"] for batch in job.progress]


def _stored(jobs: Sequence[JobStatus], since: datetime) -> bool:
    """Whether every query behind the decisions has looked for more since then, and found none left."""
    for job in jobs:
        if job.name != "decide" and job.state not in ("stopped", "failed"):
            last = [batch for batch in job.progress if not batch["lag"] and datetime.fromisoformat(batch["at"]) > since]
            if len(last) < QUERIES[job.name]:
                return False
    return True


def _has_screen() -> bool:
    """Without one, a browser of text might take over the terminal."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _fresh(place: Path, servers: str, names: Sequence[str] = (*INPUTS, *OUTPUTS)) -> None:
    """The topics and the directory of a new run. Topics that no demo made are somebody's, and stay."""
    note = place / "topics"
    made, existing = set(note.read_text().split()) if note.exists() else set(), topics.existing(servers)
    if strange := (existing - made) & {*names}:
        raise hr.HeadraceError(
            f"the broker has topics that the demo did not make: {', '.join(sorted(strange))}",
            fix="remove them, or run the demo with HEADRACE_HOME set to a directory of its own",
        )
    there = {topic for topic in existing if topic in made or topic.startswith(rehearsal.PREFIX)}  # also of a demo that was killed
    if there:
        topics.remove(servers, there)
    shutil.rmtree(place, ignore_errors=True)
    (place / "logs").mkdir(parents=True)
    note.write_text(" ".join(names))
    topics.create(servers, names, partitions=PARTITIONS)


def _removed(directory: Path) -> bool:
    """Whether it is gone; not the first time, perhaps: a JVM that was just killed may still add to it."""
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def _line(totals: dict[str, Any], latency: dict[str, Any]) -> Text:
    p50, p99 = latency["recent"]["p50"], latency["recent"]["p99"]
    ms = f"last 10 s: half within {p50:,.0f} ms, 99 % within {p99:,.0f} ms" if p50 is not None else "waiting for the first decision"
    if latency["warm_up"]["count"] and not latency["steady"]["count"]:
        ms += " (warming up)"
    return Text(
        f"  {totals['sent']:,} sent = {totals['decided']:,} decided + {totals['duplicates']:,} duplicates + "
        f"{totals['dead_letters']:,} dead letters + {totals['in_flight']:,} in flight;  {totals['flagged']:,} flagged;  {ms}"
    )


def _decisions(servers: str) -> Iterator[dict[str, Any]]:
    """All decisions of this run, each once."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "fraud-demo-report", "enable.auto.commit": False, "log_level": 3})
    seen: set[object] = set()
    try:
        for partition in range(PARTITIONS):
            place = TopicPartition("decisions", partition, 0)
            _, end = reader.get_watermark_offsets(place, timeout=10)
            reader.assign([place])
            at = 0
            while at < end:
                for message in reader.consume(10_000, timeout=1):
                    if message.error() is not None:
                        raise hr.HeadraceError(f"the decisions cannot be read: {message.error()}", fix="run the demo again")
                    offset, value, id = message.offset(), message.value(), dict(message.headers() or [])["id"]
                    assert offset is not None
                    assert value is not None
                    at = offset + 1
                    if id not in seen:
                        seen.add(id)
                        yield json.loads(value)
    finally:
        reader.close()
