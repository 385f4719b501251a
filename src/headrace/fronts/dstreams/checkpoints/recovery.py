"""How a context begins: anew, from a checkpoint, or anew with the state of a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext

from headrace.errors import DefinitionError, JobError, user_line
from headrace.fronts.dstreams.batches.clocks import Clock
from headrace.fronts.dstreams.sources.inputs import Input
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node
from headrace.fronts.dstreams.streams.states import Keyed

if TYPE_CHECKING:
    from headrace.fronts.dstreams.checkpoints.journal import Journal
    from headrace.fronts.dstreams.context import StreamingContext

_OF_A_RUN = ("spark.app.id", "spark.app.startTime", "spark.app.submitTime", "spark.driver.host", "spark.driver.port", "spark.executor.id")


def check(ssc: StreamingContext) -> None:
    """Raise DefinitionError if it cannot start."""
    from headrace.fronts.dstreams.context import StreamingContext, StreamingContextState

    if ssc._state is StreamingContextState.STOPPED:
        raise _refused("the StreamingContext was stopped, and does not start again", "make a new one, or use StreamingContext.getOrCreate")
    if (active := StreamingContext._active) is not None:
        raise _refused(f"another StreamingContext is active: {active}", "stop it first: StreamingContext.getActive().stop(False)")
    if not ssc._outputs:
        raise _refused(
            "no output operation is registered, so there is nothing to do", "call pprint(), foreachRDD(…) or saveAsTextFiles(…) on a stream"
        )
    ssc._can_save = ssc._journal is not None or ssc._sc.getCheckpointDir() is not None
    names = [ssc._key(node) for node in ssc._streams]
    for node in ssc._streams:
        if names.count(ssc._key(node)) > 1:
            raise _refused(f"two streams are named {ssc._key(node)!r}", "give each a name of its own", node)
        if node._plan.saves:
            if not ssc._can_save:
                raise _refused(
                    f"{node._words()} needs a checkpoint directory, and none is set",
                    "call ssc.checkpoint(directory) before the start",
                    node,
                )
            node._interval = node._interval or node._plan.interval(ssc._interval)
        if node._interval and not ssc._can_save:
            raise _refused("checkpoint: no directory is set", "call ssc.checkpoint(directory) before the start", node)


def begin(ssc: StreamingContext) -> list[int]:
    """Everything before the first batch. Gives the batches of a checkpoint that are to be run again."""
    for node in reversed(ssc._streams):  # what comes later knows how long those before it must remember
        twice = 2 * node._interval if node._interval else 0
        node._remember = max(node._remember, node._slide, ssc._remembered, twice)
        for parent in node._plan.parents:
            parent._remember = max(parent._remember, node._remember + node._plan.window())
    if ssc._recovered:
        assert ssc._journal is not None
        ssc._journal.claim()
        entries = ssc._journal.entries
        for node, source in ssc._inputs():
            source.open(node, _last_part(entries, ssc._key(node)))
        return [time for time, entry in entries.items() if not entry.done]
    return _begin_anew(ssc)


def _last_part(entries: dict[int, Any], key: str) -> Any:
    return next((entry.parts[key] for _, entry in sorted(entries.items(), reverse=True) if entry.parts.get(key) is not None), None)


def _begin_anew(ssc: StreamingContext) -> list[int]:
    journal = ssc._journal
    content = journal.pickled(graph(ssc)) if journal else b""
    if journal:
        journal.claim()
    carried = ssc._carried
    parts = {}
    for node in ssc._streams:
        if isinstance(node._plan, Input):
            parts[ssc._key(node)] = node._plan.open(node, carried.get(ssc._key(node)))
        else:
            node._plan.begin(ssc._zero, node)
    if journal:
        saved = {ssc._key(node): _save(node, ssc._zero) for node in ssc._streams if ssc._zero in node._rdds}
        journal.begin(content, ssc._sc)
        journal.log(ssc._zero, parts)
        for key, file in saved.items():
            journal.save(ssc._zero, key, {ssc._zero: file})
        journal.finish(ssc._zero, done=True)
    return []


def _save(node: Node, time: int) -> str:
    """Save the RDD of a time now."""
    rdd = node._mark(time, _unmarked(node._rdds[time]))
    rdd.count()
    node._rdds[time] = rdd
    return node._saved()[time]


def _unmarked(rdd: AnyRDD) -> AnyRDD:
    """An RDD that Spark has not computed yet: only such a one can be saved."""
    return rdd.mapPartitions(lambda part: part, preservesPartitioning=True)


def save(ssc: StreamingContext) -> None:
    """At a stop in good order: the state as it is after the last batch, so that no recovery computes it again."""
    journal = ssc._journal
    if journal is None:
        return
    for node in ssc._streams:
        times = [time for time in node._rdds if time <= ssc._latest]
        if node._plan.saves and times and max(times) in journal.entries:
            newest = max(times)
            if not any(str(newest) in entry.saved.get(ssc._key(node), {}) for entry in journal.entries.values()):
                journal.save(newest, ssc._key(node), {newest: _save(node, newest)})
                journal.finish(newest, done=journal.entries[newest].done)


def graph(ssc: StreamingContext) -> dict[str, Any]:
    """The program, to be pickled."""
    conf = [(name, value) for name, value in ssc._sc.getConf().getAll() if name not in _OF_A_RUN]
    return {
        "interval": ssc._interval, "zero": ssc._zero, "remembered": ssc._remembered, "conf": conf,
        "streams": ssc._streams, "outputs": ssc._outputs,
    }  # fmt: skip


def recovered(
    kind: type[StreamingContext], journal: Journal, graph: dict[str, Any], clock: Clock | None, sc: SparkContext | None = None
) -> StreamingContext:
    """The context that was running, as it was after its last batch."""
    ssc = kind.__new__(kind)
    ssc._setup(sc or _spark(graph["conf"]), graph["interval"], clock)
    ssc._zero, ssc._remembered, ssc._recovered = graph["zero"], graph["remembered"], True
    ssc._streams, ssc._outputs = graph["streams"], graph["outputs"]
    journal.entries = {time: entry for time, entry in journal.entries.items() if time >= ssc._zero}
    if not journal.entries:
        raise JobError(f"the checkpoint {journal.directory} has a program and no batches", fix="delete the directory, and begin anew")
    ssc._latest = max(journal.entries)
    journal.prepare(ssc._sc)
    ssc._journal = journal
    serializer: Any = ssc._sc.serializer
    for node in ssc._streams:
        node._ssc = ssc
        key = ssc._key(node)
        if isinstance(node._plan, Input):
            node._plan.parts = {time: entry.parts.get(key) for time, entry in journal.entries.items() if time > ssc._zero}
        for entry in journal.entries.values():
            for time, file in entry.saved.get(key, {}).items():
                rdd: AnyRDD = ssc._sc._checkpointFile(file, serializer)
                node._rdds[int(time)] = node._plan.restored(rdd) if isinstance(node._plan, Keyed) else rdd
    return ssc


def _spark(conf: list[tuple[str, str]]) -> SparkContext:
    """The one that runs; else one with the settings of the checkpoint."""
    running = SparkContext._active_spark_context
    if running is not None:
        return running
    settings = dict(conf)
    if "headrace" in settings.get("spark.sql.extensions", ""):
        from headrace.spark.session import session

        return session(master=settings["spark.master"], conf={"spark.app.name": settings["spark.app.name"]}).sparkContext
    return SparkContext(conf=SparkConf().setAll(list(settings.items())))


def carry_over(ssc: StreamingContext, old: StreamingContext) -> None:
    """Give a new program the state and the positions that an older one had after its last batch that was done."""
    assert old._journal is not None
    undone = [time for time, entry in old._journal.entries.items() if not entry.done]
    last = max((time for time in old._journal.entries if not undone or time < min(undone)), default=old._zero)
    before = {key: node for node in old._streams if isinstance(node._plan, Input | Keyed) for key in [old._key(node)]}
    now = {key: node for node in ssc._streams if isinstance(node._plan, Input | Keyed) for key in [ssc._key(node)]}
    if lost := sorted(before.keys() - now.keys()):
        raise DefinitionError(
            f"the checkpoint {old._journal.directory} has {', '.join(map(repr, lost))}, and the new program has no such stream; "
            f"it has {', '.join(map(repr, sorted(now))) or 'none'}",
            fix="give the stream the name that it had, setName(…), or begin anew in another directory", where=user_line(),
        )  # fmt: skip
    for key, node in before.items():
        if isinstance(node._plan, Input):
            done = {time: entry for time, entry in old._journal.entries.items() if time <= last}
            ssc._carried[key] = _last_part(done, key)
        else:
            plan = now[key]._plan
            assert isinstance(node._plan, Keyed)
            if not isinstance(plan, Keyed):
                raise _refused(f"{key!r} was a stream with state, and is {plan.kind} now", "give it another name", now[key])
            rdd = _latest_rdd(node, last)
            if rdd is not None:
                plan.initial = node._plan.pairs(rdd)


def _latest_rdd(node: Node, time: int) -> AnyRDD | None:
    """The state at this time, or at the last one before it at which the stream was due."""
    zero, slide = node._ssc._zero, node._slide
    return node._rdd(zero + (time - zero) // slide * slide)


def _refused(what: str, fix: str, node: Node | None = None) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=(node._line if node else None) or user_line())
