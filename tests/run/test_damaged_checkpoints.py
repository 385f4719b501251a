"""A file of a checkpoint, or of a sink's log, that is cut, emptied, changed in one bit or gone: the right answer, or an error that names
the file and the way on."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError
from headrace.io import files_log
from headrace.io.files import FilesSource

KEYS, BATCHES = "abcdefg", 12


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def gone(file: Path) -> None:
    file.unlink()


Way = Callable[[Path], None]
WAYS: tuple[Way, ...] = (cut, emptied, flipped, gone)


@dataclass(frozen=True)
class World:
    """A job that has come some way: a keyed count of files, into files."""

    spark: SparkSession
    home: Path

    @classmethod
    def make(cls, spark: SparkSession, home: Path) -> World:
        world = cls(spark, home)
        (home / "in").mkdir()
        for start in (0, BATCHES // 2):  # between the two the state is saved as a whole
            for number in range(start, start + BATCHES // 2):
                world.add(number)
            world.run()
        shutil.copytree(home / "place", home / "copy")
        world.add(BATCHES)
        return world

    def add(self, number: int) -> None:
        file = self.home / "in" / f"{number}.json"
        file.write_text("".join(f'{{"k": "{k}", "n": {number}}}\n' for k in KEYS))
        os.utime(file, (10**9 + number, 10**9 + number))  # the order in which they are read

    def run(self) -> None:
        numbers = hr.read.files(self.home / "in", format="json", schema="k string, n int")
        for source in numbers.step.sources():
            assert isinstance(source, FilesSource)
            object.__setattr__(source, "per_batch", 1)
        counted = numbers.key_by("k").with_features(count=hr.running(F.count("*"), inclusive=True))
        output = counted.to.files(self.home / "place" / "rows", format="json", name="out")
        hr.Job("counted", output, checkpoint=self.home / "place", trigger=hr.once).run()

    def refused(self) -> JobError | None:
        try:
            self.run()
        except JobError as error:
            return error
        return None

    def put_back(self) -> None:
        jvm = self.spark._jvm
        assert jvm is not None
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()  # else what is in memory is gone on with
        shutil.rmtree(self.home / "place")
        shutil.copytree(self.home / "copy", self.home / "place")

    def file(self, pattern: str) -> Path:
        return next(iter(sorted((self.home / "place").glob(pattern))))

    def right(self, without: int | None = None) -> bool:
        """Whether all rows are there, once; or all but those of a batch."""
        rows = self.spark.read.schema("k string, n int, count int").json(str(self.home / "place" / "rows")).collect()
        return Counter(map(tuple, rows)) == Counter((k, n, n + 1) for k in KEYS for n in range(BATCHES + 1) if n != without)


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World.make(spark, tmp_path_factory.mktemp("damaged"))


LAST = BATCHES - 1
CHECKPOINT, LOG = "out/checkpoint", "rows/_spark_metadata"
STATE = f"{CHECKPOINT}/state/0/0"
BACK = "put it back from a backup"
RIGHT = "right"

# the file, what is done to it, and what comes of it: the right answer, or what the error says of the way on
DAMAGES: list[tuple[str, Way, str]] = [
    ("out/job.json", flipped, "write {} into it to go on"),
    ("out/job.json", gone, "start anew, under another name"),
    (f"{CHECKPOINT}/metadata", emptied, "nothing is lost"),
    (f"{CHECKPOINT}/offsets/{LAST}", gone, BACK),
    (f"{CHECKPOINT}/offsets/{LAST}", flipped, BACK),
    (f"{CHECKPOINT}/offsets/{LAST - 1}", gone, BACK),
    (f"{CHECKPOINT}/offsets/3", gone, RIGHT),
    (f"{CHECKPOINT}/commits/{LAST}", cut, f"remove it and .{LAST}.crc beside it: batch {LAST} is carried out again"),
    (f"{CHECKPOINT}/commits/{LAST}", gone, f"or remove .{LAST}.crc beside it: what the file was for is done again"),
    (f"{CHECKPOINT}/sources/0/{LAST}", gone, BACK),
    (f"{CHECKPOINT}/sources/0/9.compact", cut, BACK),
    (f"{STATE}/9_*.changelog", flipped, BACK),
    (f"{STATE}/{LAST + 1}_*.changelog.crc", emptied, "nothing is lost"),
    (f"{STATE}/{LAST + 1}_*.changelog", gone, "start anew, under another name"),
    (f"{CHECKPOINT}/state/0/_stateSchema/default/0_*", flipped, BACK),
    (f"{STATE}/*.zip", gone, "start anew, under another name"),
    (f"{LOG}/{LAST}", gone, f"readers then no longer see the rows of batch {LAST}"),
    (f"{LOG}/10", cut, "readers then no longer see the rows of batch 10"),
    (f"{LOG}/9.compact", gone, "the rows of batch 9 and of all before it"),
]


@pytest.mark.parametrize(("pattern", "way", "outcome"), DAMAGES, ids=[f"{file}-{way.__name__}" for file, way, _ in DAMAGES])
def test_a_damaged_file_gives_the_right_answer_or_an_error_with_the_file_and_the_way_on(
    pattern: str, way: Way, outcome: str, world: World
) -> None:
    world.put_back()
    way(file := world.file(pattern))
    refused = world.refused()
    if outcome == RIGHT:
        assert (refused, world.right()) == (None, True)
    else:
        assert str(file) in str(refused)
        assert outcome in str(refused)


def test_without_the_look_at_the_log_of_a_sink_a_job_goes_on_beside_rows_that_no_reader_sees(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.put_back()
    cut(world.file(f"{LOG}/10"))
    monkeypatch.setattr(files_log, "check", lambda *_: None)
    assert world.refused() is None


# the file, what is written into it on the way on (nothing: it is removed), and the batch whose rows are lost with it
WAYS_ON: list[tuple[str, str | None, int | None]] = [
    (f"{CHECKPOINT}/metadata", '{"id": "00000000-0000-0000-0000-000000000000"}', None),
    (f"{CHECKPOINT}/commits/{LAST}", None, None),
    (f"{STATE}/{LAST + 1}_*.changelog.crc", None, None),
    (f"{LOG}/10", "v1", 10),
]


@pytest.mark.parametrize(("pattern", "written", "lost"), WAYS_ON, ids=[file for file, *_ in WAYS_ON])
def test_who_goes_the_way_on_loses_what_it_says_and_no_more(pattern: str, written: str | None, lost: int | None, world: World) -> None:
    world.put_back()
    emptied(file := world.file(pattern))
    refused = world.refused()
    assert refused is not None
    assert (written or "remove it") in refused.fix
    file.unlink() if written is None else file.write_text(written)
    file.with_name(f".{file.name}.crc").unlink()
    assert world.refused() is None
    assert world.right(without=lost)


ALL = [
    *("out/job.json", "out/.job.json.crc", f"{CHECKPOINT}/metadata", f"{CHECKPOINT}/.metadata.crc"),
    *(f"{CHECKPOINT}/offsets/{name}" for name in (LAST, LAST - 1, 4, f".{LAST}.crc")),
    *(f"{CHECKPOINT}/commits/{name}" for name in (LAST, LAST - 1, f".{LAST}.crc")),
    *(f"{CHECKPOINT}/sources/0/{name}" for name in (LAST, 10, "9.compact", ".10.crc", 3)),
    *(f"{STATE}/{name}" for name in ("*.zip", "*.zip.crc", ".*.zip.crc", "SSTs/*.sst")),
    *(f"{STATE}/{name}" for name in ("9_*.changelog", "9_*.changelog.crc", ".9_*.changelog.crc.crc")),
    *(f"{STATE}/{LAST + 1}_*.changelog{end}" for end in ("", ".crc")),
    *(f"{CHECKPOINT}/state/0/{name}" for name in ("_metadata/v2/0", f"_metadata/v2/{BATCHES // 2}", "_stateSchema/default/0_*")),
    *(f"{LOG}/{name}" for name in (LAST, 10, "9.compact", ".9.compact.crc", 3)),
]


@pytest.mark.soak
@pytest.mark.parametrize("done", [True, False], ids=["between two batches", "before a batch was done"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pattern", ALL)
def test_so_does_every_kind_of_file_with_every_kind_of_damage(pattern: str, way: Way, done: bool, world: World) -> None:
    world.put_back()
    way(file := world.file(pattern))
    if not done:
        for commit in (world.home / "place" / CHECKPOINT / "commits").glob(f"*{LAST}*"):
            commit.unlink()
    if (refused := world.refused()) is None:
        assert world.right()
    else:
        assert re.sub(r"^\.|\.crc$", "", file.name) in str(refused)  # or the file that it is the sum of
        assert BACK in refused.fix
