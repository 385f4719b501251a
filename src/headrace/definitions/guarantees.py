"""How surely a record counts, and in which mode: values that connectors state and jobs ask for.

at-most-once   a record may be lost; none counts twice
at-least-once  none is lost; after a crash some count twice
exactly-once   none is lost, and none counts twice, whatever crashes and whenever

A job has the guarantee of its weakest link: source, state, sink.

>>> weakest([Guarantee.EXACTLY_ONCE, Guarantee.AT_LEAST_ONCE])
<Guarantee.AT_LEAST_ONCE: 'at-least-once'>
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from headrace.errors import DefinitionError, user_line

Mode = Literal["batch", "micro-batch", "real-time"]
MODES: tuple[Mode, ...] = ("batch", "micro-batch", "real-time")


class Guarantee(StrEnum):
    """How often a record counts after a crash: "at-most-once", "at-least-once" or "exactly-once"."""

    AT_MOST_ONCE = "at-most-once"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"

    @property
    def rank(self) -> int:
        """Their order, the weakest first. (As texts they have another.)"""
        return list(Guarantee).index(self)

    def keeps(self, asked: Guarantee) -> bool:
        """Whether who asked for that is served by this."""
        return self.rank >= asked.rank


def weakest(guarantees: Iterable[Guarantee]) -> Guarantee:
    """What is left of several, one after the other."""
    return min(guarantees, key=lambda each: each.rank, default=Guarantee.EXACTLY_ONCE)


def guarantee(wanted: Guarantee | str) -> Guarantee:
    """A guarantee, also as text. DefinitionError if there is none of that name."""
    try:
        return Guarantee(wanted)
    except ValueError:
        raise DefinitionError(f"there is no guarantee {wanted!r}", fix=f"use one of {', '.join(Guarantee)}", where=user_line()) from None


Replay = Literal["any", "other", "same"]
"""How records come again after a failure: in any batch; in the batch of the same number, which may hold others, too; in the same batch.
Real-time mode is "other", micro-batch "same"."""

Memory = Literal["nothing", "batch", "before"]
"""What is kept with a value: nothing else; the number of its last batch; that, and the value before it."""


def of_replay(replay: Replay, memory: Memory) -> Guarantee:
    """What is left of a failure in the middle of a batch. The same batch again is skipped by its number; another one of that number must
    be put in its place, for which what was there before must be known.

    >>> of_replay("other", "batch"), of_replay("other", "before")
    (<Guarantee.AT_LEAST_ONCE: 'at-least-once'>, <Guarantee.EXACTLY_ONCE: 'exactly-once'>)
    """
    known = (replay == "same" and memory != "nothing") or (replay == "other" and memory == "before")
    return Guarantee.EXACTLY_ONCE if known else Guarantee.AT_LEAST_ONCE


@dataclass(frozen=True)
class Yes:
    """It works; `words` say how, `guarantee` how surely, if all else does its part, and `asked` what a job can ask for at a price."""

    words: str = "yes"
    guarantee: Guarantee = Guarantee.EXACTLY_ONCE
    asked: Guarantee | None = None

    @property
    def most(self) -> Guarantee:
        """All that it can give."""
        return self.asked or self.guarantee


YES = Yes()


@dataclass(frozen=True)
class No:
    """It does not, for this reason; `fix` is what to do instead."""

    reason: str
    fix: str


def promised(guarantee: Guarantee, words: str = "", *, asked: Guarantee | None = None) -> Yes:
    """It works, with this guarantee, or with that if it is asked for."""
    more = f"; {asked} if the job asks for it" if asked else ""
    return Yes(f"{guarantee}{', ' if words else ''}{words}{more}", guarantee, asked)


Modes = Mapping[Mode, Yes | No | Guarantee]
"""What a connector states of each mode; of one that it does not name, it has nothing."""


def cell(support: Modes, mode: Mode, otherwise: No) -> Yes | No:
    """What a connector states for a mode, in full."""
    stated = support.get(mode, otherwise)
    return promised(stated) if isinstance(stated, Guarantee) else stated
