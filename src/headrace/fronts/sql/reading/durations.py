"""INTERVAL literals, and durations as text."""

from __future__ import annotations

from headrace.definitions import durations
from headrace.errors import DefinitionError
from headrace.fronts.sql.reading.tokens import Query, Tokens

_FIX = "write INTERVAL '10' SECOND, INTERVAL 10 SECONDS or '10 seconds'"


def duration(tokens: Tokens, query: Query, what: str) -> str:
    """The duration that stands here, as headrace writes it: `10 seconds`."""
    words = [token.text for token in tokens]
    if words and words[0].upper() == "INTERVAL":
        words = words[1:]
    text = " ".join(word.strip("'\"") for word in words).lower()
    try:
        durations.offset(text, what)
    except DefinitionError:
        raise query.error(tokens, f"{what} is no duration", _FIX) from None
    return text
