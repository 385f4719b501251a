"""Listeners, and what they are told. As in PySpark, what they get has methods, not fields; times are milliseconds since 1970, -1 if not
yet."""

from __future__ import annotations

import logging
from typing import Any

from headrace.fronts.dstreams.times import Time

_log = logging.getLogger("headrace.dstreams")


class StreamingListener:
    """What happens in a StreamingContext: override what you want to hear, and give an object to `ssc.addStreamingListener`.

    It is called in the engine's own threads, so it must return soon. What it raises is logged, and changes nothing."""

    def onStreamingStarted(self, streamingStarted: Event) -> None:
        """The batches begin: `streamingStarted.time`."""

    def onReceiverStarted(self, receiverStarted: Event) -> None:
        """A receiver was started: `receiverStarted.receiverInfo()`."""

    def onReceiverError(self, receiverError: Event) -> None:
        """A receiver reported an error, or begins again."""

    def onReceiverStopped(self, receiverStopped: Event) -> None:
        """A receiver was stopped."""

    def onBatchSubmitted(self, batchSubmitted: Event) -> None:
        """A batch waits to be run: `batchSubmitted.batchInfo()`."""

    def onBatchStarted(self, batchStarted: Event) -> None:
        """A batch runs."""

    def onBatchCompleted(self, batchCompleted: Event) -> None:
        """A batch has ended, with or without a failure."""

    def onOutputOperationStarted(self, outputOperationStarted: Event) -> None:
        """An output of a batch begins: `outputOperationStarted.outputOperationInfo()`."""

    def onOutputOperationCompleted(self, outputOperationCompleted: Event) -> None:
        """An output of a batch has ended; `failureReason()` is None if it did well."""


class Info:
    """Values that are asked for by calling their names."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(name)
        value = self._values[name]
        return lambda: value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"


class ReceiverInfo(Info):
    """name(), streamId() (-1: it is known by its name), active(), lastErrorMessage(), lastError()."""


class StreamInputInfo(Info):
    """inputStreamId(), numRecords(), metadata(), metadataDescription()."""


class OutputOperationInfo(Info):
    """batchTime(), id(), name(), description(), startTime(), endTime(), failureReason()."""


class BatchInfo(Info):
    """batchTime(), streamIdToInputInfo(), submissionTime(), processingStartTime(), processingEndTime(), schedulingDelay(),
    processingDelay(), totalDelay(), numRecords(), outputOperationInfos(). Delays are milliseconds."""


class Event(Info):
    """What a listener gets: batchInfo(), outputOperationInfo() or receiverInfo(), whichever it is about; of the start, the field `time`."""

    time = -1


class Listeners:
    """Those of one context."""

    def __init__(self) -> None:
        self._all: list[StreamingListener] = []

    def add(self, listener: StreamingListener) -> None:
        self._all.append(listener)

    def remove(self, listener: StreamingListener) -> None:
        if listener in self._all:
            self._all.remove(listener)

    def tell(self, what: str, event: Event) -> None:
        for listener in list(self._all):
            try:
                getattr(listener, what)(event)
            except Exception:  # it is the user's, and the batches are not its business
                _log.exception("%s of %r failed", what, listener)

    def started(self, time: int) -> None:
        event = Event()
        event.time = time
        self.tell("onStreamingStarted", event)

    def receiver(self, what: str, name: str, message: str, error: BaseException | None) -> None:
        info = ReceiverInfo(
            name=name, streamId=-1, active=what != "onReceiverStopped", lastErrorMessage=message, lastError=repr(error) if error else ""
        )
        self.tell(what, Event(receiverInfo=info))

    def output(self, what: str, info: OutputOperationInfo) -> None:
        self.tell(what, Event(outputOperationInfo=info))

    def batch(self, what: str, info: BatchInfo) -> None:
        self.tell(what, Event(batchInfo=info))


def batch_time(milliseconds: int) -> Time:
    return Time(milliseconds)
