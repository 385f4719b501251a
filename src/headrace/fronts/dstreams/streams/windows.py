"""Windows over batches, by the time of the batch: there is no event time here, and nothing is late.

The window at time t holds the batches in (t - length, t]. It is computed when t is a multiple of the slide since the start, so the first
windows are not full. Length and slide are multiples of the slide of the stream below.

    batches      0   1   2   3   4   5      one element each
    window(2, 1) 0  01  12  23  34  45
    window(4, 2)    01    0123    2345
    window(2, 3)        12          45      0 and 3 are in none
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark import StorageLevel
from pyspark.resultiterable import ResultIterable

from headrace.errors import ArgumentError, user_line
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node, Plan
from headrace.fronts.dstreams.streams.transforms import Transforms
from headrace.fronts.dstreams.times import Duration, millis, words

if TYPE_CHECKING:
    from headrace.fronts.dstreams.streams.dstream import DStream

_first = operator.itemgetter(0)
_FEW = 5
"""Of fewer slides a window is computed anew, which is then cheaper than taking out what left it. PySpark has the same bound."""


class Window(Plan):
    kind = "window"

    def __init__(self, parent: Node, length: int, slide: int) -> None:
        super().__init__(slide, parent)
        self.length = length

    def compute(self, time: int, node: Node) -> AnyRDD | None:
        rdds = self.parents[0]._between(time - self.length, time)
        return node._ssc._sc.union(rdds) if rdds else node._ssc._nothing()

    def window(self) -> int:
        return self.length


class Sliding(Plan):
    """A reduction by key over a window that goes on from the window before: what left it is taken out, what entered is added."""

    kind = "reduceByKeyAndWindow"
    level = StorageLevel.MEMORY_ONLY
    saves = True

    def __init__(
        self, parent: Node, length: int, slide: int, reduce: Callable[..., Any], invert: Callable[..., Any],
        keep: Callable[[tuple[Any, Any]], bool] | None, partitions: int | None,
    ) -> None:  # fmt: skip
        super().__init__(slide, parent)
        self.length, self.reduce, self.invert, self.keep, self.partitions = length, reduce, invert, keep, partitions

    def compute(self, time: int, node: Node) -> AnyRDD | None:
        parent, sc = self.parents[0], node._ssc._sc
        partitions = self.partitions or sc.defaultParallelism
        last = node._rdd(time - self.slide)
        if last is None:
            entering = parent._between(time - self.length, time)
            total = sc.union(entering).reduceByKey(self.reduce, partitions) if entering else node._ssc._nothing()
        else:
            total = self._without(last, parent._between(time - self.slide - self.length, time - self.length), partitions)
            if entering := parent._between(time - self.slide, time):
                added = sc.union(entering).reduceByKey(self.reduce, partitions)
                total = total.union(added).reduceByKey(self.reduce, partitions)
        return total.filter(self.keep) if self.keep else total

    def _without(self, last: AnyRDD, leaving: list[AnyRDD], partitions: int) -> AnyRDD:
        if not leaving:
            return last
        invert = self.invert
        gone = last.context.union(leaving).reduceByKey(self.reduce, partitions)
        pairs = last.leftOuterJoin(gone.mapValues(lambda value: (value,)), partitions)
        return pairs.mapValues(lambda pair: pair[0] if pair[1] is None else invert(pair[0], pair[1][0]))

    def window(self) -> int:
        return self.length + self.slide


class Windows(Transforms):
    """The methods that look at several batches. Each keeps the batches of its window; with an inverse function also the last result."""

    def window(self, windowDuration: Duration, slideDuration: Duration | None = None) -> DStream:
        """All elements of the batches in (t - windowDuration, t], every slideDuration (each batch if not given)."""
        length, slide = self._checked(windowDuration, slideDuration)
        self._keep()
        return self._new(Window(self, length, slide))

    def countByWindow(self, windowDuration: Duration, slideDuration: Duration) -> DStream:
        """One element for each window: how many elements it holds, 0 if none."""
        return self.count().reduceByWindow(operator.add, operator.sub, windowDuration, slideDuration)

    def reduceByWindow(
        self, reduceFunc: Callable[..., Any], invReduceFunc: Callable[..., Any] | None, windowDuration: Duration, slideDuration: Duration
    ) -> DStream:
        """One element for each window: `reduceFunc` of two elements again and again; none if the window is empty.

        `invReduceFunc(total, part)` takes out of the total what left the window; without it (None) every window is computed anew."""
        pairs = self.map(lambda element: (1, element))
        return pairs.reduceByKeyAndWindow(reduceFunc, invReduceFunc, windowDuration, slideDuration, 1).map(lambda pair: pair[1])

    def reduceByKeyAndWindow(
        self, func: Callable[..., Any], invFunc: Callable[..., Any] | None, windowDuration: Duration, slideDuration: Duration | None = None,
        numPartitions: int | None = None, filterFunc: Callable[[tuple[Any, Any]], bool] | None = None,
    ) -> DStream:  # fmt: skip
        """(key, `func` of its values, two by two) in each window.

        With `invFunc`, new = func(invFunc(old, what left), what entered): it costs what the two ends cost, not the whole window. A key
        whose values have all left *stays*, with what invFunc made of it (0), unless `filterFunc((key, value))` is false: then it is
        forgotten. That is for windows of five slides or more; shorter ones are computed anew also with `invFunc`, and have only keys that
        are in them. (So has PySpark. In Scala such a key stays in short windows, too.) Needs a checkpoint directory."""
        length, slide = self._checked(windowDuration, slideDuration)
        reduced = self.reduceByKey(func, numPartitions)
        if invFunc is None or length < _FEW * slide:
            short = reduced.window(windowDuration, slideDuration).reduceByKey(func, numPartitions)
            return short if invFunc is None or filterFunc is None else short.filter(filterFunc)
        reduced._keep()
        return self._new(Sliding(reduced, length, slide, func, invFunc, filterFunc, numPartitions))

    def groupByKeyAndWindow(
        self, windowDuration: Duration, slideDuration: Duration | None = None, numPartitions: int | None = None
    ) -> DStream:
        """(key, its values) in each window, the older batches' first; a key without values is not there."""

        def dated(time: datetime, rdd: AnyRDD) -> AnyRDD:
            groups = rdd.groupByKey(numPartitions or rdd.context.defaultParallelism)
            return groups.mapValues(lambda values: [(time, list(values))])

        batches = self.transform(dated).window(windowDuration, slideDuration).reduceByKey(operator.add, numPartitions)
        return batches.mapValues(lambda groups: ResultIterable([value for _, values in sorted(groups, key=_first) for value in values]))

    def countByValueAndWindow(
        self, windowDuration: Duration, slideDuration: Duration | None = None, numPartitions: int | None = None
    ) -> DStream:
        """(element, how often) in each window; an element that has left is not there, and is forgotten."""
        ones = self.map(lambda element: (element, 1))
        return ones.reduceByKeyAndWindow(operator.add, operator.sub, windowDuration, slideDuration, numPartitions, lambda pair: pair[1] > 0)

    def _keep(self) -> None:
        """Keep RDDs that are used in several batches; the user's own level goes before."""
        self._level = self._level or StorageLevel.MEMORY_ONLY

    def _checked(self, window: Duration, slide: Duration | None) -> tuple[int, int]:
        length = millis("the window's length", window)
        step = self._slide if slide is None else millis("the window's slide", slide)
        for what, value in (("length", length), ("slide", step)):
            if value % self._slide:
                raise ArgumentError(
                    f"the window's {what}, {words(value)}, is not a multiple of {words(self._slide)}, "
                    "the interval at which the stream below it has a batch",
                    fix=f"take {words(self._slide * max(1, round(value / self._slide)))}, or a batch interval that divides it",
                    where=user_line(),
                )
        return length, step
