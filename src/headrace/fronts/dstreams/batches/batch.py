"""One batch: when it was due, what it had, how long it waited and took."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.fronts.dstreams.batches.listeners import BatchInfo, OutputOperationInfo, StreamInputInfo
from headrace.fronts.dstreams.streams.outputs import Output
from headrace.fronts.dstreams.times import Time


@dataclass
class Done:
    """One output of a batch."""

    number: int
    output: Output
    start: int = -1
    end: int = -1
    failure: str | None = None

    def info(self, time: int) -> OutputOperationInfo:
        return OutputOperationInfo(
            batchTime=Time(time), id=self.number, name=self.output.name, description=f"{self.output.name} at {self.output.line}",
            startTime=self.start, endTime=self.end, failureReason=self.failure,
        )  # fmt: skip


@dataclass
class Batch:
    time: int
    submitted: int
    records: dict[int, int] = field(default_factory=dict)
    """Of the inputs that know, how many records there are, by the number of the stream."""
    outputs: list[Done] = field(default_factory=list)
    start: int = -1
    end: int = -1

    @property
    def scheduling(self) -> int:
        return -1 if self.start < 0 else max(0, self.start - self.submitted)

    @property
    def processing(self) -> int:
        return -1 if self.end < 0 else max(0, self.end - self.start)

    def info(self) -> BatchInfo:
        inputs = {
            number: StreamInputInfo(inputStreamId=number, numRecords=records, metadata={}, metadataDescription="")
            for number, records in self.records.items()
        }
        return BatchInfo(
            batchTime=Time(self.time), streamIdToInputInfo=inputs, submissionTime=self.submitted, processingStartTime=self.start,
            processingEndTime=self.end, schedulingDelay=self.scheduling, processingDelay=self.processing,
            totalDelay=-1 if self.end < 0 else self.scheduling + self.processing, numRecords=sum(self.records.values()),
            outputOperationInfos={done.number: done.info(self.time) for done in self.outputs},
        )  # fmt: skip
