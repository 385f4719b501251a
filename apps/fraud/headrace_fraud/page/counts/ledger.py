"""Which records of a topic have been answered, and how: by offset, so that a record answered again is seen as such."""

from __future__ import annotations

import re

DECIDED, DUPLICATE, DEAD, ALERTED, LATE, SCORED = 1, 2, 4, 8, 16, 32
_OUTCOME = DECIDED | DUPLICATE | DEAD
_UNANSWERED = re.compile(rb"[\x00\x08\x10\x18\x20\x28\x30\x38]")  # a mark without any outcome

# An offset costs a byte. Behind the last unanswered one this many are kept, to know repeats by; what is older is only counted.
KEPT = 1 << 21


class Ledger:
    """One partition. Every offset from `low` to `end` is in flight until it gets an outcome, and must get exactly one.

    repeats    answers that came again for the same offset with the same outcome: a job that was killed and repeats its last work
    conflicts  offsets that got two different outcomes: never right
    """

    def __init__(self, low: int = 0, kept: int = KEPT) -> None:
        self.low = self.end = low
        self.repeats = self.conflicts = 0
        self.counts = dict.fromkeys((DECIDED, DUPLICATE, DEAD, ALERTED, LATE, SCORED), 0)
        self._kept = kept
        self._marks = bytearray()
        self._start = low  # the offset of the first mark
        self._open = low  # every offset below has an outcome
        self._reads: list[tuple[int, float]] = []  # (end, when it was that), once a second, as far as offsets are open

    def mark(self, offset: int, outcome: int) -> bool:
        """Note an outcome (or ALERTED, LATE, SCORED); whether it is the first of its kind for this offset."""
        at = offset - self._start
        if at < 0:  # before the log's first record as we met it, or so old that only its count is kept
            self.repeats += outcome == DECIDED
            return False
        marks = self._marks
        if at >= len(marks):
            marks.extend(bytes(at + 1 - len(marks)))
            if offset >= self.end:
                self.end = offset + 1
        old = marks[at]
        if old & outcome:
            self.repeats += bool(outcome & _OUTCOME)
            return False
        marks[at] = old | outcome
        if outcome & _OUTCOME and old & _OUTCOME:
            self.conflicts += 1
            return False
        self.counts[outcome] += 1
        return True

    def grown(self, end: int, at_ms: float) -> None:
        """The log ends there (the offset of its next record)."""
        if end > self.end:
            self.end = end
        if not self._reads or at_ms - self._reads[-1][1] >= 1000:
            self._reads.append((self.end, at_ms))

    def settle(self) -> None:
        """Move on over the offsets that have an outcome, and forget the oldest of them."""
        marks = self._marks
        unanswered = _UNANSWERED.search(marks, self._open - self._start)
        at = unanswered.start() if unanswered else len(marks)
        self._open = self._start + at
        if at > 2 * self._kept:
            del marks[: at - self._kept]
            self._start = self._open - self._kept
        while len(self._reads) > 1 and self._reads[1][0] <= self._open:
            del self._reads[0]
        if len(self._reads) > 1000:  # open for a long time: half as exact from here on
            self._reads[1::2] = []

    @property
    def sent(self) -> int:
        return self.end - self.low

    @property
    def in_flight(self) -> int:
        return self.sent - self.counts[DECIDED] - self.counts[DUPLICATE] - self.counts[DEAD]

    def oldest_ms(self, now_ms: float) -> float:
        """For how long the oldest record in flight has waited, to within the second between two looks at the log; else 0."""
        self.settle()
        if self._open >= self.end:
            return 0.0
        waiting = [at for end, at in self._reads if end > self._open]
        return max(0.0, now_ms - waiting[0]) if waiting else 0.0
