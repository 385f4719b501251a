"""Secrets by reference: `env:NAME` or `file:/path` in a connector's options, read when the job starts and never printed.

In an option that names no secret a URL, `file:///…`, is what it says.

>>> refuse_literals({"kafka.ssl.key.password": "env:KEY_PASSWORD"})
>>> refuse_literals({"kafka.ssl.key.password": "hunter2"})  # doctest: +IGNORE_EXCEPTION_DETAIL
Traceback (most recent call last):
headrace.errors.DefinitionError: option kafka.ssl.key.password is a secret, and its value is in the program
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import DefinitionError, JobError, user_line

_SECRET = re.compile(r"(password|passphrase|secret|token|credentials?|jaas\.config|keystore\.key|key\.pem|user\.info)$", re.IGNORECASE)
_REFERENCE = re.compile(r"(env|file):(.+)", re.DOTALL)
_DIGITS = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)", re.ASCII)
_STARS = "*" * 16
_SHORTEST_LINE = 4
_resolved: set[str] = set()


def refuse_literals(options: Mapping[str, str]) -> None:
    """Raise DefinitionError if an option that names a secret holds it."""
    for name, value in options.items():
        if _SECRET.search(name) and not _REFERENCE.fullmatch(value):
            raise DefinitionError(
                f"option {name} is a secret, and its value is in the program",
                fix="write 'env:NAME' or 'file:/path/to/it' instead of the value",
                where=user_line(),
            )


def resolve(options: Mapping[str, str]) -> dict[str, str]:
    """The options with every reference replaced by what it refers to."""
    return {name: _value(name, value) for name, value in options.items()}


def _value(name: str, value: str) -> str:
    reference = _REFERENCE.fullmatch(value)
    if reference is None or (value.startswith("file://") and not _SECRET.search(name)):
        return value
    remember(secret := follow(f"option {name}", value))
    return secret


def follow(what: str, reference: str) -> str:
    """What `env:NAME` or `file:/path` refers to: all of it a secret, or a part."""
    kind, _, place = reference.partition(":")
    if kind == "env":
        secret = os.environ.get(place)
        if secret is None:
            raise JobError(f"{what} refers to the environment variable {place}, which is not set", fix=f"export {place}=…")
        return secret
    try:
        return Path(place).expanduser().read_text().strip()
    except OSError as error:
        raise JobError(f"{what} refers to {place}: {error.strerror}", fix="make the file, readable for this user") from None
    except UnicodeDecodeError:
        raise JobError(f"{what} refers to {place}, which is not text", fix="a key store is named by its path, as text") from None


def remember(secret: str) -> None:
    """Hide it from now on, and each of its lines."""
    # A message may have been cut to one line, in which a key of many would not be found. A line of a bracket or two gives nothing away.
    lines = (line.strip() for line in secret.splitlines())
    _resolved.update(part for part in (secret, *(line for line in lines if len(line) >= _SHORTEST_LINE)) if part)


def hide(text: str) -> str:
    """`text` without any secret that was resolved in this process, nor any line of one, and without card numbers.

    >>> hide("no customer has the card 4111 1111 1111 1111, nor 1700000000000")
    'no customer has the card ****************, nor 1700000000000'
    """
    for secret in sorted(_resolved, key=len, reverse=True):  # one may be the beginning of another
        text = text.replace(secret, "***")
    return _DIGITS.sub(lambda digits: _STARS if _is_card(digits.group()) else digits.group(), text)


def _is_card(digits: str) -> bool:
    """Whether it passes the check of Luhn, as one in ten other numbers does."""
    numbers = [int(digit) for digit in reversed(digits) if digit.isdigit()]
    return sum(n if place % 2 == 0 else sum(divmod(2 * n, 10)) for place, n in enumerate(numbers)) % 10 == 0
