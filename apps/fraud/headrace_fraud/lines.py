"""A file of records, decided as it stands: line by line, in any mode, with the same result to the last digit.

A batch reads the file itself. The two streaming modes read a topic of one partition, into which the file is sent first, so that the order
of arrival is the file's; the topics of a run are gone when it has ended. Either way a record's offset is the number of its line, from 0.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

import headrace as hr
from headrace.embedded import kafka
from headrace_fraud import records, rules, topics
from headrace_fraud.settings import Rules

Mode = Literal["batch", "micro-batch", "real-time"]


@dataclass(frozen=True)
class Summary:
    """What became of the lines: each is decided, a duplicate, a dead letter or a phone's place."""

    lines: int
    decided: int
    flagged: int
    duplicates: int
    dead_letters: int
    locations: int


def decide(given: Path, mode: Mode, out: Path, dead: Path | None, settings: Rules, say: Callable[[str], None] = lambda _: None) -> Summary:
    """Decide every line of a file; decisions go to `out`, one a line, in the order of the file, and dead letters to `dead`."""
    if not given.is_file():
        raise hr.HeadraceError(f"there is no file {given}", fix="give the path of a file with a JSON object a line")
    for place in filter(None, (out, dead)):
        if not place.resolve().parent.is_dir():
            raise hr.HeadraceError(f"there is no directory for {place}", fix="create it first")
    # Spark saves state in the background, and may do so while this is deleted.
    with tempfile.TemporaryDirectory(prefix="headrace-fraud-", ignore_cleanup_errors=True) as directory:
        work = Path(directory)
        lines = _batch(given, work, settings, say) if mode == "batch" else _streaming(given, mode, work, settings, say)
        say("writing the result")
        return _finish(work, lines, out, dead)


def _batch(given: Path, work: Path, settings: Rules, say: Callable[[str], None]) -> int:
    say("deciding")
    lines = hr.read.files(given, format="text", line_separator="\n")
    hr.Job("fraud-lines", _decided(lines.then(numbered), settings).to.files(work / "decided")).run("batch")
    return hr.session().read.text(str(given), lineSep="\n").count()


def _streaming(given: Path, mode: Mode, work: Path, settings: Rules, say: Callable[[str], None]) -> int:
    servers = kafka.ensure()
    with topics.passing(servers, "lines", "decided") as (source, sink):
        lines = topics.send(given, servers, source, say)
        say(f"deciding {lines:,} lines")
        decided = _decided(hr.read.kafka(source, servers=servers), settings)
        if mode == "micro-batch":
            job = hr.Job("fraud-lines", decided.to.files(work / "decided"), checkpoint=work / "checkpoint")
            job.run("micro-batch", trigger=hr.once)
            return lines
        job = hr.Job("fraud-lines", decided.to.kafka(sink, servers=servers), checkpoint=work / "checkpoint")
        with job.start("real-time", trigger=hr.every("5 seconds")) as running:
            read = 0
            while read < lines:
                running.wait(0.1)
                read += sum(batch.rows_in for batch in running.news())  # what a batch has read it has written, too, when it is reported
        hr.Job("fraud-copy", hr.read.kafka(sink, schema=decided.schema, servers=servers).to.files(work / "decided")).run("batch")
        return lines


def _decided(lines: hr.Stream, settings: Rules) -> hr.Stream:
    decided = records.read(lines, settings).then(rules.decide, settings).then(rules.text)
    return decided.select("offset", "duplicate", "flagged", "value", "reason", "raw")


def _finish(work: Path, lines: int, out: Path, dead: Path | None) -> Summary:
    """Both results in the order of the file. A record that was written again after a fault counts once."""
    rows = hr.session().read.parquet(str(work / "decided")).dropDuplicates(["offset"])
    letters, good = rows.where("reason IS NOT NULL"), rows.where("reason IS NULL")
    outcomes = ("reason IS NULL AND NOT duplicate", "flagged AND NOT duplicate", "reason IS NULL AND duplicate", "reason IS NOT NULL")
    counted = rows.agg(*(F.count_if(F.expr(outcome)) for outcome in outcomes)).first()
    assert counted is not None
    decided, flagged, duplicates, refused = counted
    _write(good.where("NOT duplicate").orderBy("offset").select("value"), work / "out", out)
    if dead is not None:
        line = F.to_json(
            F.struct((F.col("offset") + 1).alias("line"), "reason", F.make_valid_utf8(F.col("raw").cast("string")).alias("raw"))
        )
        _write(letters.orderBy("offset").select(line), work / "letters", dead)
    return Summary(lines, decided, flagged, duplicates, refused, lines - decided - duplicates - refused)


def _write(rows: DataFrame, work: Path, file: Path) -> None:
    """Rows of text as one file, in their order: Spark writes a file for each part, and the parts are in order."""
    rows.write.text(str(work))
    with tempfile.NamedTemporaryFile(dir=file.resolve().parent, prefix=f".{file.name}-", delete=False) as whole:
        for part in sorted(work.glob("part-*")):
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, whole)
    Path(whole.name).replace(file)  # whole or not at all


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
