"""StreamingContext: where a program of Spark Streaming begins."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any

from pyspark import SparkConf, SparkContext, StorageLevel
from pyspark.sql import SparkSession

from headrace.errors import DefinitionError, unknown_name, user_line
from headrace.fronts.dstreams.batches.batch import Batch
from headrace.fronts.dstreams.batches.clocks import Clock, SystemClock
from headrace.fronts.dstreams.batches.engine import Engine
from headrace.fronts.dstreams.batches.listeners import Listeners, StreamingListener
from headrace.fronts.dstreams.checkpoints import recovery
from headrace.fronts.dstreams.checkpoints.journal import Journal
from headrace.fronts.dstreams.sources.inputs import Files, Input, Positions, Queue
from headrace.fronts.dstreams.sources.receivers import Received, Receiver, SocketReceiver
from headrace.fronts.dstreams.streams.dstream import DStream
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node, same_context, same_slide
from headrace.fronts.dstreams.streams.outputs import Output
from headrace.fronts.dstreams.streams.transforms import Transform
from headrace.fronts.dstreams.times import Duration, millis, words
from headrace.io.receiver import Receiver as Log

_KEPT_FOR_FAILED = 1000  # batches for which one that failed waits to be run again

_HINTS = {
    "rawSocketStream": "it reads objects as Spark's JVM writes them; take socketStream(host, port, converter)",
    "twitterStream": "Spark has no Twitter source any more; write a Receiver: ssc.receiverStream(…)",
    "kafkaStream": "KafkaUtils.createDirectStream(ssc, [topic], {…})",
    "actorStream": "Spark has no Akka source any more; write a Receiver: ssc.receiverStream(…)",
}


class StreamingContextState(Enum):
    """Where a StreamingContext is in its life."""

    INITIALIZED = "initialized"
    ACTIVE = "active"
    STOPPED = "stopped"


class StreamingContext:
    """The entry to a program of Spark Streaming: makes streams, starts and stops them.

    sparkContext   a SparkContext; a SparkSession or a SparkConf will do
    batchDuration  the interval of batches, in seconds; fractions are allowed
    clock          for tests, a `ManualClock`

    One is active at a time. Nothing can be added after `start`, and one that was stopped does not start again.
    """

    _active: StreamingContext | None = None

    def __init__(
        self, sparkContext: SparkContext | SparkSession | SparkConf, batchDuration: Duration | None = None, *, clock: Clock | None = None
    ) -> None:
        if batchDuration is None:
            raise DefinitionError("StreamingContext has no batch interval", fix="StreamingContext(sc, 1), in seconds", where=user_line())
        self._setup(_spark_context(sparkContext), millis("the batch interval", batchDuration), clock)

    def _setup(self, sc: SparkContext, interval: int, clock: Clock | None) -> None:
        self._sc, self._interval, self._clock = sc, interval, clock or SystemClock()
        self._streams: list[Node] = []
        self._outputs: list[Output] = []
        self._listeners = Listeners()
        self._lock = threading.RLock()
        self._state = StreamingContextState.INITIALIZED
        self._journal: Journal | None = None
        self._recovered = False
        self._carried: dict[str, Any] = {}  # the positions at which inputs go on, of a program that this one replaces
        self._engine: Engine | None = None
        self._remembered = 0
        self._zero = self._latest = 0
        self._can_save = False
        self._empty: AnyRDD | None = None

    def __reduce__(self) -> Any:
        raise DefinitionError(
            "a function refers to the StreamingContext, which cannot be sent or saved", fix="use rdd.context inside it", where=user_line()
        )

    # -- life ---------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def getOrCreate(
        cls, checkpointPath: str, setupFunc: Callable[[], StreamingContext], *, newCode: bool = False, clock: Clock | None = None
    ) -> StreamingContext:
        """The context from the checkpoint, if there is one; else what `setupFunc()` makes, which then checkpoints there.

        From the checkpoint come the functions as they were, so `setupFunc` is not called, and changes of the program are not seen. With
        `newCode=True` it is called, and what it makes goes on from the state and the positions of the checkpoint: streams are matched by
        their names (`setName`) or their order. Batches that were not done are not run again then: their records come in the first batch of
        the new program. Windows begin empty.

        A checkpoint holds pickled functions, and reading it runs them: the directory must be yours alone. That is checked on this
        machine."""
        journal = Journal(str(checkpointPath))
        graph = journal.graph()
        if graph is not None and not newCode:
            return recovery.recovered(cls, journal, graph, clock)
        ssc = _made_by(setupFunc)
        if graph is not None:
            recovery.carry_over(ssc, recovery.recovered(cls, journal, graph, clock, sc=ssc._sc))
        ssc.checkpoint(checkpointPath)
        return ssc

    @classmethod
    def getActive(cls) -> StreamingContext | None:
        """The context that was started and not stopped; None if there is none."""
        return StreamingContext._active

    @classmethod
    def getActiveOrCreate(cls, checkpointPath: str | None, setupFunc: Callable[[], StreamingContext]) -> StreamingContext:
        """The active one; else `getOrCreate`; without a path, `setupFunc()`."""
        active = cls.getActive()
        if active is not None:
            return active
        return _made_by(setupFunc) if checkpointPath is None else cls.getOrCreate(checkpointPath, setupFunc)

    @property
    def sparkContext(self) -> SparkContext:
        """The SparkContext that it runs on."""
        return self._sc

    def getState(self) -> StreamingContextState:
        """INITIALIZED, ACTIVE or STOPPED."""
        return self._state

    def start(self) -> None:
        """Begin. The first batch is at the next multiple of the interval (since 1970), so that batches have the same times wherever it
        runs."""
        if self._state is StreamingContextState.ACTIVE:
            return
        recovery.check(self)
        if not self._recovered:
            now = self._clock.now()
            self._zero = self._latest = now - now % self._interval
        try:
            again = recovery.begin(self)
        except BaseException:
            if self._journal:
                self._journal.release()
            raise
        self._engine = Engine(self, self._latest + self._interval)
        self._state = StreamingContextState.ACTIVE
        StreamingContext._active = self
        atexit.register(self._at_exit)
        for _, source in self._inputs():
            if isinstance(source, Received):
                source.start()
        self._listeners.started(self._clock.now())
        self._engine.start(again)

    def awaitTermination(self, timeout: float | None = None) -> None:
        """Wait until somebody stops it, or so many seconds. Raises the error of the first batch that failed; later batches go on."""
        self.awaitTerminationOrTimeout(timeout)

    def awaitTerminationOrTimeout(self, timeout: float | None) -> bool:
        """The same, and whether it was stopped."""
        if self._engine is None:
            if self._state is StreamingContextState.STOPPED:
                return True
            raise DefinitionError("the StreamingContext was not started", fix="call ssc.start() first", where=user_line())
        return self._engine.wait(timeout)

    def stop(self, stopSparkContext: bool = True, stopGraceFully: bool = False) -> None:
        """End, and the SparkContext, too, if nothing else is said. Twice is as good as once.

        stopGraceFully: receive no more, run all that was received, save the state; for at most ten batch intervals, or
        `spark.streaming.gracefulStopTimeout` milliseconds. Otherwise at once: what runs is cancelled, and is run again after a recovery."""
        if self._state is StreamingContextState.ACTIVE and self._engine is not None:
            self._stop(self._engine, gracefully=stopGraceFully)
        self._state = StreamingContextState.STOPPED
        if StreamingContext._active is self:
            StreamingContext._active = None
        if stopSparkContext:
            self._sc.stop()

    def _stop(self, engine: Engine, *, gracefully: bool) -> None:
        atexit.unregister(self._at_exit)
        for _, source in self._inputs():
            source.close()
        engine.no_more()
        if gracefully:
            patience = int(self._sc.getConf().get("spark.streaming.gracefulStopTimeout") or 10 * self._interval)
            if any(source.waiting() for _, source in self._inputs()):
                engine.make_next()
            if engine.drain(max(patience, 10_000)):
                recovery.save(self)
        engine.end()
        if self._journal:
            self._journal.release()

    def _at_exit(self) -> None:
        """The program ends without a stop."""
        graceful = self._sc.getConf().get("spark.streaming.stopGracefullyOnShutdown", "false") == "true"
        self.stop(stopSparkContext=False, stopGraceFully=graceful)

    @property
    def _jssc(self) -> StreamingContext:
        """Programs that reach for PySpark's context of the JVM find the same calls."""
        return self

    # -- settings -----------------------------------------------------------------------------------------------------------------------

    def checkpoint(self, directory: str) -> None:
        """Keep here what a recovery needs: the program, the inputs of each batch, the state from time to time. See `getOrCreate`."""
        self._changeable("checkpoint")
        journal = Journal(str(directory))
        journal.prepare(self._sc)
        self._journal = journal

    def remember(self, duration: Duration) -> None:
        """Keep the RDDs of all streams for so many seconds at least, for `slice`."""
        self._changeable("remember")
        self._remembered = millis("remember", duration)

    def addStreamingListener(self, streamingListener: StreamingListener) -> None:
        """Tell it of batches, outputs and receivers."""
        self._listeners.add(streamingListener)

    def removeStreamingListener(self, streamingListener: StreamingListener) -> None:
        """Tell it no more."""
        self._listeners.remove(streamingListener)

    # -- inputs -------------------------------------------------------------------------------------------------------------------------

    def socketTextStream(self, hostname: str, port: int, storageLevel: StorageLevel | None = None) -> DStream:
        """Lines of UTF-8 from a TCP address, without their ends. What is received and not done is lost with the driver."""
        return self._input(Received(self, SocketReceiver(hostname, port)), "socketTextStream")

    def socketStream(self, hostname: str, port: int, converter: Callable[[Any], Iterable[Any]]) -> DStream:
        """The same with records of your own: `converter(stream of bytes)` gives them."""
        return self._input(Received(self, SocketReceiver(hostname, port, converter)), "socketStream")

    def receiverStream(self, receiver: Receiver | Log) -> DStream:
        """What a receiver of yours stores; or the records of a log with positions (`headrace.io.receiver.Receiver`), read by tasks."""
        if isinstance(receiver, Log):
            return self._input(Positions(self, receiver))
        if not isinstance(receiver, Receiver):
            raise DefinitionError(
                f"receiverStream: {receiver!r} is no receiver",
                fix="give an object of a class of yours: class Mine(Receiver): …",
                where=user_line(),
            )
        return self._input(Received(self, receiver))

    def textFileStream(self, directory: str) -> DStream:
        """The lines of new files in a directory (or in all that match a pattern), by the time of their last change. Move files in whole."""
        return self._input(Files(self, directory, lambda sc, file: sc.textFile(file)))

    def binaryRecordsStream(self, directory: str, recordLength: int) -> DStream:
        """The bytes of new files, in records of this length."""
        return self._input(Files(self, directory, lambda sc, file: sc.binaryRecords(file, recordLength)), "binaryRecordsStream")

    def fileStream(
        self, directory: str, keyClass: str = "org.apache.hadoop.io.LongWritable", valueClass: str = "org.apache.hadoop.io.Text",
        inputFormatClass: str = "org.apache.hadoop.mapreduce.lib.input.TextInputFormat",
        filter: Callable[[str], bool] | None = None, newFilesOnly: bool = True,
    ) -> DStream:  # fmt: skip
        """(key, value) pairs of new files, read in a format of Hadoop's. `filter(path)` says which files; `newFilesOnly=False` also takes
        those of the last minute before the start."""

        def read(sc: SparkContext, file: str) -> AnyRDD:
            return sc.newAPIHadoopFile(file, inputFormatClass, keyClass, valueClass)

        return self._input(Files(self, directory, read, new_only=newFilesOnly, wanted=filter), "fileStream")

    def queueStream(self, rdds: Sequence[Any], oneAtATime: bool = True, default: Any = None) -> DStream:
        """RDDs, or lists, of the program's own: one a batch, or all in the first; then `default`, or nothing. For tests: it cannot be
        recovered.

        Later changes of the list are not seen."""
        return self._input(Queue(self, rdds, oneAtATime, default))

    def _input(self, source: Input, kind: str | None = None) -> DStream:
        if kind is not None:
            source.kind = kind
        return DStream(self, source)

    # -- of several streams -------------------------------------------------------------------------------------------------------------

    def union(self, *dstreams: DStream) -> DStream:
        """The elements of all. They must have the same slide."""
        return self._of_several("union", dstreams, lambda rdds: self._sc_of(rdds).union(list(rdds)))

    def transform(self, dstreams: Sequence[DStream], transformFunc: Callable[[Sequence[AnyRDD]], AnyRDD]) -> DStream:
        """`transformFunc([rdd, …])` of the RDDs of the same time, on the driver, once a batch."""
        return self._of_several("transform", dstreams, transformFunc)

    @staticmethod
    def _sc_of(rdds: Sequence[AnyRDD]) -> SparkContext:
        return rdds[0].context

    def _of_several(self, at: str, streams: Sequence[DStream], function: Callable[[Sequence[AnyRDD]], AnyRDD]) -> DStream:
        if not streams:
            raise DefinitionError(f"{at}: there are no streams", fix="give at least one", where=user_line())
        same_context(at, list(streams))
        same_slide(at, list(streams))
        return DStream(self, Transform(lambda _, *rdds: function(rdds), *streams))

    # -- the graph ----------------------------------------------------------------------------------------------------------------------

    def _changeable(self, what: str) -> None:
        if self._state is not StreamingContextState.INITIALIZED:
            raise DefinitionError(
                f"{what}: the StreamingContext is {self._state.value}, and nothing can be added or changed after its start",
                fix="do it before ssc.start(); after a stop, make a new StreamingContext", where=user_line(),
            )  # fmt: skip

    def _add(self, node: Node) -> None:
        self._changeable(node._plan.kind)
        self._streams.append(node)

    def _add_output(self, output: Output) -> None:
        self._changeable(output.name)
        self._outputs.append(output)

    def _inputs(self) -> list[tuple[Node, Input]]:
        return [(node, node._plan) for node in self._streams if isinstance(node._plan, Input)]

    def _key(self, node: Node) -> str:
        """What a stream is called in the checkpoint."""
        if node._name:
            return node._name
        alike = [each for each in self._streams if each._plan.kind == node._plan.kind and not each._name]
        return f"{node._plan.kind} {alike.index(node) + 1}"

    def _saves(self) -> bool:
        return self._can_save

    def _nothing(self) -> AnyRDD:
        """An RDD without elements."""
        if self._empty is None:
            self._empty = self._sc.parallelize([], 1)
        return self._empty

    def _completed(self, batch: Batch, failed: bool) -> None:
        """A batch has run: write down what it saved, and forget what no later batch needs."""
        with self._lock:
            if self._journal:
                for node in self._streams:
                    if files := node._saved():
                        self._journal.save(batch.time, self._key(node), files)
                self._journal.finish(batch.time, done=not failed)
            for number, (node, source) in enumerate(self._inputs()):
                part = source.parts.get(batch.time)
                if part is not None and not failed:
                    source.completed(part, batch.records.get(number, 0), batch.processing, batch.scheduling, self._clock.now())
                source.forget(batch.time - node._remember)
            for node in self._streams:
                node._forget(batch.time)
            if self._journal:
                longest = max(node._remember for node in self._streams)
                self._journal.forget(batch.time, longest, _KEPT_FOR_FAILED * self._interval)

    def __repr__(self) -> str:
        return f"StreamingContext({self._state.value}, every {words(self._interval)}, {len(self._streams)} streams)"

    def __getattr__(self, name: str) -> Any:
        raise unknown_name("a StreamingContext", name, [each for each in dir(type(self)) if not each.startswith("_")], _HINTS)


def _spark_context(source: SparkContext | SparkSession | SparkConf) -> SparkContext:
    if isinstance(source, SparkConf):
        return SparkContext.getOrCreate(source)
    if isinstance(source, SparkSession):
        return source.sparkContext
    if not isinstance(source, SparkContext):
        raise DefinitionError(
            f"StreamingContext: {source!r} is no SparkContext",
            fix="give hr.session().sparkContext, or SparkContext(appName=…)",
            where=user_line(),
        )
    return source


def _made_by(setup: Callable[[], StreamingContext]) -> StreamingContext:
    made = setup() if callable(setup) else None
    if not isinstance(made, StreamingContext):
        raise DefinitionError(
            f"the setup function gave {made!r}" if callable(setup) else f"{setup!r} is no function",
            fix="give a function that makes a StreamingContext and returns it", where=user_line(),
        )  # fmt: skip
    return made
