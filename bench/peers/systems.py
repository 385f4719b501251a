"""The systems that are compared. A system can be prepared, which may need the network, and then started on a piece of work."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, Protocol

from headrace.embedded import kafka

PROGRAMS = Path(__file__).parent / "programs"

Work = Literal["count", "rules"]
"""What is done with each record: `programs/work.py`."""


class MissingError(Exception):
    """What a system needs cannot be had here."""


class System(Protocol):
    def prepare(self) -> None:
        """Fetch and compile what it needs, once. MissingError if that cannot be."""

    def started(self, work: Work, source: str, result: str) -> AbstractContextManager[None]:
        """From one topic to another, as long as the context lasts."""


@contextmanager
def program(command: Sequence[str], work: Work, source: str, result: str, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """A program with all processes that it starts. Its arguments: the work, the broker, two topics, and a directory for what it saves."""
    with tempfile.TemporaryDirectory(prefix="headrace-peer-", ignore_cleanup_errors=True) as place:
        state, words = Path(place) / "state", Path(place) / "said"
        state.mkdir()
        arguments = [work, kafka.ensure(), source, result, str(state)]
        with words.open("wb") as log:
            process = subprocess.Popen([*command, *arguments], stdout=log, stderr=log, cwd=place, env=environment, start_new_session=True)
        try:
            yield
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} has ended by itself:\n{words.read_text(errors='replace')[-2000:]}")
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """It, and all that it has started, which are a group."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
