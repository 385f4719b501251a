"""What a job does that its user may not expect: said in Python's log, which shows it unless it is told otherwise."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal

from headrace.planning.guarantees import Promise
from headrace.planning.recipe import Output

_log = logging.getLogger(__name__)

_WORDS = {
    "dead_letters": "records that cannot be decoded",
    "late": "late records",
    "late_other": "late records of the other stream",
    "future": "records whose time is ahead of the clock",
}


@dataclass(frozen=True)
class Notice:
    """Something that happened to a job while it ran.

    event    "unreachable": what it reads or writes does not answer; "reachable": it does again
    what     for people: "Kafka at host:port"
    at       when it was noticed
    seconds  how long it did not answer, once it does again
    """

    job: str
    event: Literal["unreachable", "reachable"]
    what: str
    at: str
    seconds: float | None = None

    @classmethod
    def of_outage(cls, job: str, what: str, *, over: float | None = None) -> Notice:
        """That something does not answer, or does again after so many seconds."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return cls(job, "unreachable", what, at) if over is None else cls(job, "reachable", what, at, round(over, 1))

    def json(self) -> str:
        """All fields as one line of JSON, as `headrace run --json` prints it."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        if self.event == "unreachable":
            return f"{self.what} does not answer; the job goes on when it does"
        return f"{self.what} answers again, after {self.seconds:,.0f} s"


def unanswered(notices: Sequence[Notice]) -> list[Notice]:
    """The last word on each thing that does not answer now."""
    last = {notice.what: notice for notice in notices}
    return [notice for notice in last.values() if notice.event == "unreachable"]


def of_lost_batch(job: str, seconds: float) -> None:
    """That a job was stopped in the middle of a batch."""
    _log.warning(
        "job %r did not finish its batch within %.0f s and was stopped; what it has put out since it last saved is put out again at the"
        " next start, where the sink is at-least-once",
        job, seconds,
    )  # fmt: skip


def of_promises(job: str, promises: Iterable[Promise]) -> None:
    """With which guarantee each output begins: in the log as information."""
    for promise in promises:
        _log.info("job %r: %s", job, promise)


def of_dropped(job: str, outputs: Sequence[Output]) -> None:
    """Say which records go nowhere: those of a port, such as dead letters or late records, that no output takes.

    Of scans by event time one after another only the first has late records: what it lets through is on time for the next.
    """
    taken = dict.fromkeys(step for output in outputs for step in output.step.ancestry())
    for step in taken:
        for name, other in step.beside.items():
            if other not in taken and not (name == "late" and any(name in before.beside for before in step.trunk()[:-1])):
                if step.where is None:  # a statement of a prompt, which has no line and no other outputs
                    _log.warning("job %r drops the %s", job, _WORDS[name])
                    continue
                _log.warning(
                    "job %r drops the %s of %s; to keep them, give it an output of the stream's .%s",
                    job,
                    _WORDS[name],
                    step.where,
                    name if name in ("late", "dead_letters") else f"port({name!r})",
                )
