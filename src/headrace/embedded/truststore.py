"""The certificates that Python trusts, as a file that Java can read.

A JRE that comes in a wheel knows the public authorities only. Behind a private one (a company's proxy, a mirror) Python was told whom to
trust, so Java is told the same. The format is Java's first and simplest one, JKS: certificates in a row and a digest; no part is secret.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
from pathlib import Path

from headrace.embedded import places

_MAGIC, _VERSION, _CERTIFICATE = 0xFEEDFEED, 2, 2
_PASSWORD = "changeit"  # Java's own default; it guards the digest, not the certificates


def file() -> Path | None:
    """The trust store in the cache, or None where Python itself has no list of authorities to offer."""
    certificates = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not certificates:
        return None
    store = _jks(certificates)
    path = places.cache() / "java" / f"trusted-{hashlib.sha256(store).hexdigest()[:12]}.jks"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(store)
        draft.rename(path)
    return path


def _jks(certificates: list[bytes]) -> bytes:
    entries = b"".join(
        struct.pack(">I", _CERTIFICATE) + _text(str(i)) + struct.pack(">Q", 0) + _text("X.509") + struct.pack(">I", len(der)) + der
        for i, der in enumerate(certificates)
    )
    content = struct.pack(">III", _MAGIC, _VERSION, len(certificates)) + entries
    # The salt is a joke of the format's authors, and part of the format.
    return content + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content, usedforsecurity=False).digest()


def _text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode("ascii")
