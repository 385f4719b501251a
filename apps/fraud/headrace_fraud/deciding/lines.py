"""A file of records, decided as it stands: line by line, in any mode, with the same result to the last digit.

A batch reads the file itself. The two streaming modes read a topic of one partition, into which the file is sent first, so that the order
of arrival is the file's; the topics of a run are gone when it has ended. Either way a record's offset is the number of its line, from 0.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

import headrace as hr
from headrace_fraud.deciding import records, rules, topics
from headrace_fraud.deciding.settings import Rules

Mode = Literal["batch", "micro-batch", "real-time"]

_DUPLICATE, _REFUSED = b"\x01", b"\x02"  # they begin a line; within JSON there are no such characters
_FLAGGED = b'"flagged":true'  # a quote within a text is escaped, so this is the field
_TOGETHER = 100_000  # lines that are sorted together


@dataclass(frozen=True)
class Summary:
    """What became of the lines: each is decided, a duplicate, a dead letter or a phone's place."""

    lines: int
    decided: int
    flagged: int
    duplicates: int
    dead_letters: int
    locations: int


def decide(file: Path, mode: Mode, out: Path, dead: Path | None, settings: Rules, say: Callable[[str], None] = lambda _: None) -> Summary:
    """Decide every line of a file; decisions go to `out`, one a line, in the order of the file, and dead letters to `dead`."""
    if not file.is_file():
        raise hr.HeadraceError(f"there is no file {file}", fix="give the path of a file with a JSON object a line")
    for place in filter(None, (out, dead)):
        if not place.resolve().parent.is_dir():
            raise hr.HeadraceError(f"there is no directory for {place}", fix="create it first")
    # Spark saves state in the background, and may do so while this is deleted.
    with tempfile.TemporaryDirectory(prefix="headrace-fraud-", ignore_cleanup_errors=True) as directory:
        writer = _Writer(Path(directory), out, dead)
        if mode == "batch":
            say("deciding")
            with ThreadPoolExecutor(1) as counting:  # while Spark starts and the job is planned
                count = counting.submit(_count, file)
                lines = hr.read.files(file, format="text", line_separator="\n").then(numbered)
                return writer.write(_outcomes(lines, settings), count.result())
        return _streaming(file, mode, settings, writer, say)


def _streaming(file: Path, mode: Mode, settings: Rules, writer: _Writer, say: Callable[[str], None]) -> Summary:
    servers, checkpoint = hr.topics.servers(), writer.work / "checkpoint"
    with topics.passing(servers, "lines", "decided") as (source, sink):
        lines = topics.send(file, servers, source, say)
        say(f"deciding {lines:,} lines")
        outcomes = _outcomes(hr.read.kafka(source, servers=servers), settings)
        if mode == "micro-batch":
            hr.Job("fraud-lines", outcomes.to.files(writer.work / "outcomes"), checkpoint=checkpoint).run("micro-batch", trigger=hr.once)
            return writer.write(hr.read.files(writer.work / "outcomes", schema=outcomes.schema), lines)
        job = hr.Job("fraud-lines", outcomes.to.kafka(sink, servers=servers), checkpoint=checkpoint)
        with job.start("real-time", trigger=hr.every("5 seconds")) as running:
            read = 0
            while read < lines:
                running.wait(0.1)
                read += sum(batch.rows_in for batch in running.news())  # what a batch has read it has written, too, when it is reported
        # What was written again after a fault counts once.
        return writer.write(hr.read.kafka(sink, schema=outcomes.schema, servers=servers).then(DataFrame.dropDuplicates, ["offset"]), lines)


def _outcomes(lines: hr.Stream, settings: Rules) -> hr.Stream:
    """What is written of each line, but for phones' places: a decision, of a duplicate only the mark, or a dead letter."""
    valid, refused = records.read(lines, settings)
    again, raw = F.col("duplicate"), F.make_valid_utf8(F.col("raw").cast("string")).alias("raw")
    decision = F.when(again, _DUPLICATE.decode()).otherwise(rules.as_json(*rules.DECISION))
    letter = F.concat(F.lit(_REFUSED.decode()), rules.as_json((F.col("offset") + 1).alias("line"), "reason", raw))
    # A line is known by its number alone.
    placed = valid.drop("topic", "partition", "timestamp")
    decided = rules.decide(placed, settings, ["offset"]).select(
        "offset", F.when(again, 1).otherwise(0).alias("outcome"), decision.alias("value")
    )
    return decided.union(refused.select("offset", F.lit(2).alias("outcome"), letter.alias("value")))


def _count(file: Path) -> int:
    """How many lines a file has; the last need not end."""
    with file.open("rb") as opened:
        lines, last = 0, b"\n"
        while block := opened.read(1 << 20):
            lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


@dataclass(frozen=True)
class _Writer:
    """Writes the results, each as one file in the order of the lines."""

    work: Path
    out: Path
    dead: Path | None

    def write(self, outcomes: hr.Stream, lines: int) -> Summary:
        hr.Job("fraud-files", outcomes.then(_in_order, lines).to.files(self.work / "files", format="text")).run("batch")
        decisions = flagged = duplicates = refused = 0
        with _whole(self.out) as out, _whole(self.dead or self.work / "letters") as dead:
            for part in sorted((self.work / "files").glob("part-*")):
                text = part.read_bytes()
                letters = _place(text, _REFUSED, len(text))
                end = _place(text, _DUPLICATE, letters)
                out.write(memoryview(text)[:end])
                dead.write(text[letters:].replace(_REFUSED, b""))
                decisions, flagged = decisions + text.count(b"\n", 0, end), flagged + text.count(_FLAGGED, 0, end)
                duplicates, refused = duplicates + text.count(b"\n", end, letters), refused + text.count(b"\n", letters)
        return Summary(lines, decisions, flagged, duplicates, refused, lines - decisions - duplicates - refused)


def _place(text: bytes, mark: bytes, otherwise: int) -> int:
    """Where the first such mark is."""
    place = text.find(mark)
    return otherwise if place < 0 else place


@contextmanager
def _whole(file: Path) -> Iterator[IO[bytes]]:
    """A file to write, which is there whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=file.resolve().parent, prefix=".headrace-", delete=False) as draft:
        yield draft
    Path(draft.name).replace(file)


def _in_order(outcomes: DataFrame, lines: int) -> DataFrame:
    """The rows in parts that each have the lines between two numbers: in order without a look at the rows first. In a part come the
    decisions, then the duplicates, then the refused lines; one number sorts them."""
    parts = 1 + lines // _TOGETHER
    part = F.floor(F.col("offset") * parts / max(lines, 1)).cast("int")
    place = F.col("outcome").cast("bigint") * (1 << 60) + F.col("offset")
    placed = outcomes.select("offset", place.alias("place"), "value")
    return placed.repartitionById(parts, part).sortWithinPartitions("place").select("value")


def numbered(lines: DataFrame) -> DataFrame:
    """Lines of one file with their numbers, from 0, as `offset`; and the other columns that a log has."""
    # Spark numbers the rows of a task; a task's first number is how many rows the tasks before it have, for tasks are in the file's order.
    row = F.monotonically_increasing_id()
    rows = lines.select("value", F.spark_partition_id().alias("partition"), row.bitwiseAND(F.lit((1 << 33) - 1)).alias("row"))
    counts = rows.groupBy("partition").agg(F.count("*").alias("rows"))
    before = F.coalesce(F.sum("rows").over(Window.orderBy("partition").rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    starts = counts.select("partition", before.alias("before"))
    return rows.join(F.broadcast(starts), "partition").select(
        "value",
        F.lit(None).cast("string").alias("topic"),
        F.lit(0).alias("partition"),
        (F.col("before") + F.col("row")).alias("offset"),
        F.current_timestamp().alias("timestamp"),
    )
