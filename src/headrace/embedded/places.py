"""Where headrace keeps things: `cache()` may be deleted at any time, `data()` may not.

`$HEADRACE_HOME/cache` and `$HEADRACE_HOME/data` when that variable is set, otherwise where the system has such things: on Linux
`~/.cache/headrace` and `~/.local/share/headrace`, unless the XDG variables name other places.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal

from headrace.errors import SetupError


def cache() -> Path:
    """Jars, the compiled kernel: everything that can be fetched or made again."""
    return writable(_home("cache"))


def data() -> Path:
    """The directory for what a user would miss: checkpoints, the embedded broker's log. A program may put its own beside them."""
    return writable(_home("data"))


def _home(kind: Literal["cache", "data"]) -> Path:
    if home := os.environ.get("HEADRACE_HOME"):
        return Path(home).expanduser().absolute() / kind
    import platformdirs  # here, for it takes a while, and who sets the variable does not need it

    return platformdirs.user_cache_path("headrace") if kind == "cache" else platformdirs.user_data_path("headrace")


def writable(directory: Path) -> Path:
    """The directory, made if it is not there; SetupError if nothing can be put into it."""
    if separator := next((mark for mark in ",:" if mark in str(directory)), None):
        raise SetupError(
            f"headrace cannot use {directory}: Java, Spark and Kafka take {separator!r} for the end of a path",
            fix="set HEADRACE_HOME to a directory without it",
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()  # permissions, mounts and quotas: only trying tells
    except OSError as error:
        raise SetupError(
            f"headrace cannot write to {directory}: {error.strerror or error}",
            fix="make it writable, or set HEADRACE_HOME to a directory that is",
        ) from None
    return directory
