"""Topologies in this process, each with a thread of its own: for tests, lectures and small work. No Spark is started."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from headrace.errors import DefinitionError, HeadraceError, JobError, user_line
from headrace.fronts.stream import Stream as HeadraceStream
from headrace.fronts.trident.nodes import Source
from headrace.fronts.trident.running import drpc, replays
from headrace.fronts.trident.running.batches import Batches
from headrace.fronts.trident.running.coordinator import Coordinator
from headrace.fronts.trident.running.journal import Journal
from headrace.fronts.trident.running.places import Place
from headrace.fronts.trident.topology import TridentTopology

PENDING, INTERVAL = "topology.max.spout.pending", "topology.trident.batch.emit.interval.millis"
_IDLE = 0.005  # seconds between two looks at spouts that had nothing


def check_conf(conf: Mapping[str, Any]) -> None:
    """DefinitionError for a setting that asks for what there is not."""
    if int(conf.get(PENDING, 1)) > 1:
        raise DefinitionError(
            f"{PENDING} is {conf[PENDING]}: several batches in flight",
            fix="leave it at 1: here a batch begins when the one before it is committed, so give batches more tuples instead",
            where=user_line(),
        )


class LocalCluster:
    """Runs topologies: `with LocalCluster() as cluster: running = cluster.submitTopology("words", {}, topology.build())`.

    home   a directory that remembers txids and the positions of spouts, so that a topology of the same name goes on after a crash; without
           it they end with the process
    clock  the processing time in seconds, for windows: a clock of your own in tests
    """

    def __init__(self, *, home: str | Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._home, self._clock = home, clock
        self._running: dict[str, RunningTopology] = {}

    def submitTopology(self, name: str, conf: Mapping[str, Any], topology: TridentTopology) -> RunningTopology:
        """Start it. Settings: `topology.trident.batch.emit.interval.millis`, at least so long from batch to batch (none if not given)."""
        check_conf(conf)
        if name in self._running:
            raise DefinitionError(f"a topology {name!r} runs here already", fix="kill it first, or give another name", where=user_line())
        for node in topology.build().graph.nodes:
            if isinstance(node, Source) and isinstance(node.origin, HeadraceStream):
                raise DefinitionError(
                    f"{node.label} is a headrace stream, which Spark reads", fix="StormSubmitter.submitTopology(name, conf, topology)",
                    where=user_line(),
                )  # fmt: skip
        journal = Journal(self._home, name)
        try:
            self._running[name] = RunningTopology(name, dict(conf), topology, journal, clock=self._clock)
        except BaseException:
            journal.close()
            raise
        return self._running[name]

    def killTopology(self, name: str) -> None:
        """Stop it."""
        self._running.pop(name).stop()

    def shutdown(self) -> None:
        """Stop all."""
        for name in list(self._running):
            self.killTopology(name)

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        running = list(self._running.values())
        self.shutdown()
        if error is None:
            for each in running:
                each.check()

    submit_topology, kill_topology = submitTopology, killTopology


class RunningTopology:
    """A topology whose batches this process makes, in a thread of its own: it asks the spouts, and computes here or on Spark."""

    def __init__(
        self, name: str, conf: dict[str, Any], topology: TridentTopology, journal: Journal, *,
        clock: Callable[[], float] = time.time, place: Place | None = None, partitions: int = 1,
    ) -> None:  # fmt: skip
        self.name, self._journal = name, journal
        self._interval = float(conf.get(INTERVAL, 0)) / 1000
        self._batches = Batches(topology.graph, conf, default=partitions, clock=clock)
        self._batches.open()
        self._coordinator = Coordinator(topology.graph, self._batches, journal, conf, place)
        self._coordinator.open()
        self._error: HeadraceError | None = None
        self._looks, self._over = 0, False
        self._changed = threading.Condition()
        self._end_requests = drpc.serve(topology.graph, self._batches)
        self._thread = threading.Thread(target=self._run, name=f"trident-{name}", daemon=True)
        self._thread.start()

    @property
    def failures(self) -> int:
        """How many attempts have failed and were replayed."""
        return self._coordinator.failures

    def _run(self) -> None:
        try:
            while not self._over:
                worked = self._coordinator.step()
                pause = self._pause(worked)
                with self._changed:
                    if not worked:
                        self._looks += 1
                        self._changed.notify_all()
                    self._changed.wait_for(lambda: self._over, pause)
        except HeadraceError as error:
            self._error = error
        except Exception as error:  # nothing that a thread raises must be lost
            self._error = JobError(
                f"topology {self.name!r} stopped: {type(error).__name__}: {error}", fix="see the cause above this message"
            )
            self._error.__cause__ = error
        finally:
            self._end_requests()
            self._coordinator.close()
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _pause(self, worked: bool) -> float:
        """Seconds until the next step."""
        if failures := self._coordinator.in_a_row:
            return max(self._interval, replays.pause(self.name, self._coordinator.txid, failures, self._coordinator.reason))
        return self._interval if worked else max(self._interval, _IDLE)

    def process_all(self) -> None:
        """Block until the spouts have nothing more to give, and all that they gave is committed. A spout that cycles has no end."""
        with self._changed:
            looks = self._looks + 2  # the look under way may have been before the call
            self._changed.wait_for(lambda: self._looks >= looks or self._over)
        self.check()

    def check(self) -> None:
        """Raise what ended it, if something did."""
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End it when the batch under way is done."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._thread.join()
        self._batches.close()
        self._journal.close()

    def __enter__(self) -> RunningTopology:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is None:
            self.check()
