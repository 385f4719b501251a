"""What a topic or a checkpoint brings is opened only if this user has sealed it.

Values of Python's own classes, such as a tuple of a topology or a model, are kept pickled, and to unpickle what somebody else has put there
would run it. So each owner, a topology or a learner, has a secret in the user's data directory. It goes to the processes that open with
their orders, never through Kafka.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote

_SIZE = 16


def sealed(secret: bytes, payload: bytes) -> bytes:
    """A pickle with its seal before it."""
    return _seal(secret, payload) + payload


def opened(secret: bytes, payload: bytes) -> Any:
    """What was pickled and sealed with this secret; ValueError for anything else, of which nothing is unpickled."""
    seal, content = payload[:_SIZE], payload[_SIZE:]
    if not hmac.compare_digest(seal, _seal(secret, content)):
        raise ValueError("this was not sealed with the secret that is here: somebody else has written it, or the secret is gone")
    return pickle.loads(content)


def _seal(secret: bytes, payload: bytes) -> bytes:
    return hmac.digest(secret, payload, hashlib.sha256)[:_SIZE]


def secret_of(name: str, home: Path) -> bytes:
    """The secret of an owner, made when it is first asked for; for its owner's eyes only."""
    home.mkdir(parents=True, exist_ok=True)
    file = home / f"{quote(name, safe='')}.secret"
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as made:  # noqa: PTH123 - with its permissions at once
            made.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    return file.read_bytes()
