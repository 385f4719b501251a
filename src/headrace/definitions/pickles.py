"""What is sent to Spark's workers must be copied there; what cannot be is refused where it is given, with its name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from pyspark import cloudpickle

from headrace.errors import DefinitionError, user_line


def check(at: str, sent: Any) -> None:
    """Raise DefinitionError if it cannot be copied to another process."""
    if (reason := _refusal(sent)) is None:
        return
    used = next((name for name, value in _used(sent) if _refusal(value) is not None), None)
    what = f"{at} uses {used!r}, which cannot be sent to Spark's workers" if used else f"{at} cannot be sent to Spark's workers"
    raise DefinitionError(
        f"{what}: {reason}",
        fix="make such things (connections, locks, open files, Spark's session) where they are used, inside the function",
        where=user_line(),
    )


def _refusal(value: Any) -> str | None:
    """Why it cannot be pickled; None if it can."""
    try:
        cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever the things themselves raise
        return str(error).strip().split("\n")[0]
    return None


def _used(sent: Any) -> Iterator[tuple[str, Any]]:
    """What goes along with a function, or with an object and its methods, by the names that the program has for it."""
    functions = [sent] if inspect.isfunction(sent) else [f for _, f in inspect.getmembers(type(sent), inspect.isfunction)]
    yield from getattr(sent, "__dict__", {}).items()
    for function in functions:
        variables = inspect.getclosurevars(function)
        yield from {**variables.globals, **variables.nonlocals}.items()
