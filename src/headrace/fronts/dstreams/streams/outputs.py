"""Output operations: what is done with each batch. Without one, nothing is computed.

Delivery: at-least-once. A batch that failed, or that was under way when the driver died, is run again after a recovery, with the same
records; what it had put out is put out again. For exactly-once, write the batch's time with the rows, in one transaction, and skip a time
that is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from headrace.errors import user_line
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node
from headrace.fronts.dstreams.streams.states import States
from headrace.fronts.dstreams.streams.transforms import with_time
from headrace.fronts.dstreams.times import moment

_RULE = "-" * 43


class Output:
    """One output operation: a function of each batch's time and RDD, run on the driver."""

    def __init__(self, name: str, stream: Node, function: Callable[..., Any]) -> None:
        self.name, self.stream, self.function, self.line = name, stream, function, user_line()
        stream._ssc._add_output(self)

    def run(self, time: int) -> None:
        ssc = self.stream._ssc
        with ssc._lock:
            rdd = self.stream._rdd(time)
        if rdd is not None:
            self.function(moment(time), rdd)


class Outputs(States):
    """The methods that make something happen."""

    def foreachRDD(self, func: Callable[..., Any]) -> None:
        """Call `func(rdd)` or `func(time, rdd)` for each batch, on the driver. All other outputs can be made of it.

        To send the elements elsewhere, make the connection where it is used, once for each partition:

            def send(elements):
                with connection() as there:
                    for element in elements:
                        there.send(element)

            stream.foreachRDD(lambda rdd: rdd.foreachPartition(send))

        One that is made on the driver cannot be copied to the tasks; one for each element costs more than the element."""
        self._output("foreachRDD", with_time("foreachRDD", func, 1))

    def foreach(self, func: Callable[..., Any]) -> None:
        """`foreachRDD` by the name that it had before Spark 1.0."""
        self._output("foreach", with_time("foreach", func, 1))

    def pprint(self, num: int = 10) -> None:
        """Print the batch's time and its first `num` elements, and `...` if there are more."""

        def show(time: datetime, rdd: AnyRDD) -> None:
            elements = rdd.take(num + 1)
            lines = [_RULE, f"Time: {time}", _RULE, *map(str, elements[:num]), *["..."] * (len(elements) > num), "", ""]
            sys.stdout.write("\n".join(lines))
            sys.stdout.flush()

        self._output("pprint", show)

    def print(self, num: int = 10) -> None:
        """`pprint`, as Scala calls it."""
        self.pprint(num)

    def saveAsTextFiles(self, prefix: str, suffix: str | None = None) -> None:
        """Each batch as a directory of text files, `prefix-<milliseconds>.suffix`. A batch that is run again replaces what it wrote."""
        self._save("saveAsTextFiles", prefix, suffix, lambda rdd, place: rdd.saveAsTextFile(place))

    def saveAsPickleFiles(self, prefix: str, suffix: str | None = None) -> None:
        """The same with the elements as they are, for `sc.pickleFile`: what `saveAsObjectFiles` is in Scala."""
        self._save("saveAsPickleFiles", prefix, suffix, lambda rdd, place: rdd.saveAsPickleFile(place))

    def saveAsHadoopFiles(
        self, prefix: str, suffix: str | None = None, outputFormatClass: str = "org.apache.hadoop.mapred.TextOutputFormat", **options: Any
    ) -> None:
        """The same in a format of Hadoop's older kind. The elements are pairs; `options` are those of `RDD.saveAsHadoopFile`."""
        self._save("saveAsHadoopFiles", prefix, suffix, lambda rdd, place: rdd.saveAsHadoopFile(place, outputFormatClass, **options))

    def saveAsNewAPIHadoopFiles(
        self, prefix: str, suffix: str | None = None,
        outputFormatClass: str = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat", **options: Any,
    ) -> None:  # fmt: skip
        """The same in a format of Hadoop's newer kind; `options` are those of `RDD.saveAsNewAPIHadoopFile`."""
        self._save(
            "saveAsNewAPIHadoopFiles", prefix, suffix, lambda rdd, place: rdd.saveAsNewAPIHadoopFile(place, outputFormatClass, **options)
        )

    def _save(self, name: str, prefix: str | Path, suffix: str | None, save: Callable[[AnyRDD, str], None]) -> None:
        start, end = str(prefix), f".{suffix}" if suffix else ""

        def written(time: datetime, rdd: AnyRDD) -> None:
            place = f"{start}-{round(time.timestamp() * 1000)}{end}"
            try:
                save(rdd, place)
            except Py4JJavaError as error:
                if "FileAlreadyExists" not in error.java_exception.toString():
                    raise
                _delete(rdd, place)  # from a run of this batch that did not come to its end
                save(rdd, place)

        self._output(name, written)

    def _output(self, name: str, function: Callable[..., Any]) -> None:
        Output(name, self, function)


def _delete(rdd: AnyRDD, place: str) -> None:
    sc: Any = rdd.context
    path = sc._jvm.org.apache.hadoop.fs.Path(place)
    path.getFileSystem(sc._jsc.hadoopConfiguration()).delete(path, True)
