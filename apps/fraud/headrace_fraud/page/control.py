"""What the page asks of whoever runs the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

State = Literal["starting", "rehearsing", "running", "stopping", "stopped", "restarting", "failed"]


@dataclass(frozen=True)
class JobStatus:
    """One job, as it is now.

    state      one that is rehearsing works on made-up records, which do not count, so as to be warm for the first that do
    progress   the last headrace Progress record of each of its queries, with `written`, the rows of all its batches
    restarts   how often it was started again after it ended without being asked to
    message    what a reader should know now, such as why it failed
    """

    name: str
    mode: str
    state: State
    pid: int | None = None
    restarts: int = 0
    progress: Sequence[Mapping[str, Any]] = ()
    message: str | None = None


class Control(Protocol):
    """Runs the jobs. The three verbs may block and may raise a HeadraceError, which the page shows; `jobs` is asked every second."""

    @property
    def can_kill(self) -> bool:
        """Whether the page offers to kill a driver: in the demo only."""
        ...

    def jobs(self) -> Sequence[JobStatus]: ...

    def start(self, name: str) -> None: ...

    def stop(self, name: str) -> None: ...

    def kill(self, name: str) -> None: ...
