"""The acker: which of the spouts' tuples are done, with one number for each, whatever the size of its tree.

For each root it keeps the XOR of the ids of all tuples that were sent and of all that were acked: each comes twice, so it is 0 when every
tuple of the tree has been acked. Messages may come in any order, also an ack before the first. The rule is here once, as a function of two
values; the acker of a topology on Spark is the same rule as a scan (acker.py), and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Verdict = Literal["ack", "fail", "reset"]

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Note:
    """What the acker is told of a root. `spout` comes with the first message, from the spout; the others are bolts'."""

    root: int
    value: int = 0
    spout: int | None = None
    fails: bool = False
    resets: bool = False


@dataclass(slots=True)
class Tree:
    """What the acker keeps of a root."""

    value: int = 0
    spout: int | None = None
    failed: bool = False


class Acker:
    """Takes notes, and says which root is done or has failed: `tell(spout task, root, verdict)`. After its verdict a root is forgotten."""

    def __init__(self, tell: Callable[[int, int, Verdict], None]) -> None:
        self.trees: RotatingMap[int, Tree] = RotatingMap(3)
        self.tell = tell

    def take(self, note: Note) -> None:
        tree = self.trees.get(note.root) or Tree()
        tree.value ^= note.value
        tree.spout = note.spout if tree.spout is None else tree.spout
        tree.failed = tree.failed or note.fails
        self.trees.put(note.root, tree)
        if tree.spout is None:
            return
        if tree.value == 0 or tree.failed:
            self.trees.pop(note.root)
            self.tell(tree.spout, note.root, "ack" if tree.value == 0 else "fail")
        elif note.resets:
            self.tell(tree.spout, note.root, "reset")


class RotatingMap(Generic[K, V]):
    """Entries that expire: `rotate` gives those that were put more than `buckets - 1` rotations ago, and drops them."""

    def __init__(self, buckets: int = 2) -> None:
        self.buckets: list[dict[K, V]] = [{} for _ in range(buckets)]

    def put(self, key: K, value: V) -> None:
        self.pop(key)
        self.buckets[0][key] = value

    def get(self, key: K) -> V | None:
        return next((bucket[key] for bucket in self.buckets if key in bucket), None)

    def pop(self, key: K) -> V | None:
        return next((bucket.pop(key) for bucket in self.buckets if key in bucket), None)

    def rotate(self) -> dict[K, V]:
        expired = self.buckets.pop()
        self.buckets.insert(0, {})
        return expired

    def __len__(self) -> int:
        return sum(map(len, self.buckets))
