"""Locks between processes, as the operating system keeps them: a lock ends with its last holder, also after kill -9.

That makes them the one thing about another process that can be trusted. A pid in a file may be another process by now; a lock that is held
is held by someone alive. What one process does for all it does under `exclusive`; whether anyone is still there, a shared lock tells
(decision 0003).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from headrace.errors import SetupError


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait until nobody else holds the lock file `path`, then hold it."""
    from filelock import FileLock  # here, for it takes a while, and mostly there is nothing to wait for

    with ExitStack() as stack:
        with _usable(path):
            stack.enter_context(FileLock(path, mode=0o600))
        yield


def share(path: Path) -> int:
    """Hold `path` together with others, waiting while someone holds it alone, until the descriptor is closed or the process ends."""
    descriptor = _open(path)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def held(path: Path) -> bool:
    """Whether someone holds `path` now."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _open(path: Path) -> int:
    with _usable(path):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"headrace cannot use {path}: {error.strerror}",
            fix="make it yours, or set HEADRACE_HOME to a directory of your own",
        ) from None
