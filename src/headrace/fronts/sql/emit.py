"""EMIT: when a window puts out rows, and what is in them.

| written                                                    | meaning                                                       |
|------------------------------------------------------------|---------------------------------------------------------------|
| (nothing)                                                  | as the job's `output_mode` says; of a window in a subquery, once |
| `EMIT FINAL`, `EMIT AFTER WATERMARK`, `EMIT ON WINDOW CLOSE` | once, when the window has ended                             |
| `EMIT CHANGES`                                             | after each record, and when the window has ended              |
| `EMIT EARLY EVERY 100 RECORDS`, `EARLY EVERY INTERVAL '10' SECOND` | also before its end: so many records, or so long by the clock |
| `LATE EVERY 1 RECORDS`                                     | also behind its end, for records that are late                |
| `LATENESS INTERVAL '1' MINUTE`                             | how long behind its end a window takes records                |
| `ACCUMULATING`, `DISCARDING`, `RETRACTING`                 | what is in a pane                                             |
| `EMIT WITH DELAY '10' SECOND BEFORE WATERMARK, WITHOUT DELAY AFTER WATERMARK` | the same in Flink's words                  |
"""

from __future__ import annotations

from typing import Any

from headrace.fronts.sql.reading.durations import duration
from headrace.fronts.sql.reading.tokens import Query, Token, Tokens, split
from headrace.ops.windows import after_watermark

_FIX = "write EMIT FINAL, EMIT CHANGES, or EMIT EARLY EVERY 10 RECORDS, LATENESS INTERVAL '1' MINUTE"
_PHRASES = {("FINAL",), ("AFTER", "WATERMARK"), ("ON", "WINDOW", "CLOSE")}


def options(tokens: Tokens, query: Query, *, final: bool) -> dict[str, Any]:
    """What windows are told, by the clause EMIT; without one, that they put out final rows where others compute with them."""
    if not tokens:
        return {"trigger": after_watermark()} if final else {}
    chosen: dict[str, Any] = {}
    for part in split(tokens[1:]):
        _read(part, query, chosen, tokens[0])
    return chosen or {"trigger": after_watermark()}


def _read(part: list[Token], query: Query, chosen: dict[str, Any], at: Token) -> None:
    words = [token.word for token in part]
    if not part:
        raise query.error(at, "EMIT has a comma too many", _FIX)
    if tuple(words) in _PHRASES:
        return
    if words == ["CHANGES"]:
        chosen["early"] = 1
    elif words[0] in ("ACCUMULATING", "DISCARDING", "RETRACTING") and len(words) <= 2:
        chosen["panes"] = words[0].lower()
    elif words[:2] in (["EARLY", "EVERY"], ["LATE", "EVERY"]) and len(words) > 2:
        chosen[words[0].lower()] = _often(part[2:], query)
    elif words[0] == "LATENESS" and len(words) > 1:
        chosen["lateness"] = duration(part[1:], query, "LATENESS")
    elif words[-1] == "WATERMARK" and words[-2:-1] in (["BEFORE"], ["AFTER"]) and words[:2] in (["WITH", "DELAY"], ["WITHOUT", "DELAY"]):
        side = "early" if words[-2] == "BEFORE" else "late"
        chosen[side] = 1 if words[0] == "WITHOUT" else duration(part[2:-2], query, "DELAY")
        if side == "late":
            chosen.setdefault("lateness", "1 day")
    else:
        raise query.error(part, "EMIT does not know this", _FIX)


def _often(tokens: list[Token], query: Query) -> int | str:
    if len(tokens) == 2 and tokens[0].kind == "number" and tokens[1].word in ("RECORD", "RECORDS", "ROW", "ROWS"):
        return int(tokens[0].text)
    return duration(tokens, query, "EVERY")
