"""Pipelines of Beam's, unchanged, on Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import pytest
from apache_beam.testing import test_stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms import trigger, userstate, window
from apache_beam.transforms.combiners import CountCombineFn
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.window import FixedWindows, GlobalWindows, TimestampedValue
from apache_beam.utils.windowed_value import PaneInfoTiming

import headrace as hr
from headrace.beam import HeadraceRunner, ReadFromStream, WriteToStream
from headrace.errors import DefinitionError, JobError

pytestmark = [pytest.mark.beam, pytest.mark.usefixtures("spark")]
both = pytest.mark.parametrize("mode", ["batch", "micro-batch"])


@both
def test_the_word_count_of_the_talk(mode: Any) -> None:
    """The table of the seeds' talk: each word, and how often it is there."""
    text = "NE Scala 2016 Apache Apache Spark Storm Apache Trident Flink Streaming Samza Scala 2016 Streaming"
    out: list[Any] = []
    with beam.Pipeline(runner=HeadraceRunner(mode, name=f"words-{mode}")) as p:
        counts = p | beam.Create([text]) | beam.FlatMap(str.split) | beam.combiners.Count.PerElement()
        counts | WriteToStream("word string, n long", lambda rows: out.append(rows.to.memory("counts")) or out[-1])
    twice = {"Scala": 2, "2016": 2, "Streaming": 2}
    once = dict.fromkeys(["NE", "Spark", "Storm", "Trident", "Flink", "Samza"], 1)
    assert {row.word: row.n for row in out[0].sink.rows} == {"Apache": 3, **twice, **once}
    assert len(out[0].sink.rows) == 10


class Parity(beam.DoFn):
    """Odd numbers go aside, doubled if the side input says so."""

    def process(self, element: int, factor: int) -> Iterable[Any]:
        yield beam.pvalue.TaggedOutput("odd", element * factor) if element % 2 else element


def test_tags_side_inputs_flatten_and_cogroup_compose() -> None:
    with beam.Pipeline(runner=HeadraceRunner(name="compose")) as p:
        factor = p | "factor" >> beam.Create([10])
        parts = (
            p | "numbers" >> beam.Create([1, 2, 3]) | beam.ParDo(Parity(), beam.pvalue.AsSingleton(factor)).with_outputs("odd", main="even")
        )
        merged = (parts.odd, parts.even, p | "none" >> beam.Create([])) | beam.Flatten()
        pairs = {"n": merged | beam.Map(lambda n: (n % 4, n)), "name": p | "names" >> beam.Create([(2, "two")])} | beam.CoGroupByKey()
        met = pairs | beam.MapTuple(lambda key, of: (key, sorted(of["n"]), of["name"]))
        assert_that(met, equal_to([(2, [2, 10, 30], ["two"])]))


class Panes(beam.DoFn):
    """The values of a pane, its timing and its number."""

    def process(self, pair: Any, pane: Any = beam.DoFn.PaneInfoParam) -> Iterable[str]:
        timing = PaneInfoTiming.to_string(pane.timing)[0].lower()
        yield "".join(map(str, sorted(pair[1]))) + timing + str(pane.index)


def test_a_test_stream_gives_early_on_time_and_late_panes() -> None:
    """windows.md section 7: a window of ten seconds, a lateness of fifteen, early after two, late for each; 6 comes too late."""
    at = [TimestampedValue(("k", n), n) for n in range(1, 7)]
    events = test_stream.TestStream().add_elements([at[0]]).add_elements([at[1]]).add_elements([at[2]]).advance_watermark_to(10)
    events = events.add_elements([at[3]]).add_elements([at[4]]).advance_watermark_to(30).add_elements([at[5]])
    out: list[Any] = []
    with beam.Pipeline(runner=HeadraceRunner("micro-batch", name="panes")) as p:
        windows = beam.WindowInto(
            FixedWindows(10), trigger=trigger.AfterWatermark(early=trigger.AfterCount(2), late=trigger.AfterCount(1)),
            accumulation_mode=trigger.AccumulationMode.ACCUMULATING, allowed_lateness=15,
        )  # fmt: skip
        panes = p | events | windows | beam.GroupByKey() | beam.ParDo(Panes())
        panes | WriteToStream("pane string", lambda rows: out.append(rows.to.memory("panes")) or out[-1])
    assert [row.pane for row in out[0].sink.rows] == ["12e0", "123o1", "1234l2", "12345l3"]


class Waiting(beam.DoFn):
    """How many there were of a key when its time came."""

    SEEN = userstate.CombiningValueStateSpec("seen", CountCombineFn())
    LAST = userstate.ReadModifyWriteStateSpec("last", beam.coders.VarIntCoder())
    DUE = userstate.TimerSpec("due", TimeDomain.WATERMARK)

    SEEN_, LAST_, DUE_ = beam.DoFn.StateParam(SEEN), beam.DoFn.StateParam(LAST), beam.DoFn.TimerParam(DUE)

    def process(self, pair: Any, seen: Any = SEEN_, last: Any = LAST_, due: Any = DUE_) -> None:
        seen.add(1)
        last.write(max(last.read() or 0, pair[1]))
        due.set(last.read() + 5)

    @userstate.on_timer(DUE)
    def come(self, key: Any = beam.DoFn.KeyParam, seen: Any = SEEN_, last: Any = LAST_) -> Any:
        yield key, seen.read(), last.read()
        seen.clear()
        last.clear()


class Pair(NamedTuple):
    """A key of a class that is the program's own."""

    name: str
    number: int


def test_beams_own_files_are_read_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Beam's sinks do once, such as to make a directory, is done once, though three steps ask for it."""
    monkeypatch.setattr(Pair, "__module__", "__main__")  # as of a script
    monkeypatch.setattr(sys.modules["__main__"], "Pair", Pair, raising=False)
    (tmp_path / "in.txt").write_text("to be\nor not to be\n")
    with beam.Pipeline(runner=HeadraceRunner(name="files")) as p:
        words = p | beam.io.ReadFromText(str(tmp_path / "in.txt")) | beam.FlatMap(str.split)
        counts = words | beam.Map(lambda word: (Pair(word, len(word)), 1)) | beam.CombinePerKey(sum)
        counts | beam.MapTuple(lambda pair, n: f"{pair.name} {n}") | beam.io.WriteToText(str(tmp_path / "out"))
    (written,) = tmp_path.glob("out*")
    assert sorted(written.read_text().splitlines()) == ["be 2", "not 1", "or 1", "to 2"]


def test_groups_go_into_batches() -> None:
    with beam.Pipeline(runner=HeadraceRunner(name="batches")) as p:
        batches = p | beam.Create([("k", n) for n in range(5)]) | beam.GroupIntoBatches(2)
        assert_that(batches | beam.MapTuple(lambda _, batch: len(batch)), equal_to([2, 2, 1]))


@both
def test_a_function_with_state_is_called_again_when_its_timer_is_due(mode: Any) -> None:
    values = [("a", 3), ("b", 4), ("a", 6)]
    with beam.Pipeline(runner=HeadraceRunner(mode, name=f"state-{mode}")) as p:
        timed = p | beam.Create(values) | beam.Map(lambda pair: TimestampedValue(pair, pair[1]))
        assert_that(timed | beam.ParDo(Waiting()), equal_to([("a", 2, 6), ("b", 1, 4)]))


def test_a_stream_of_headraces_is_read_with_its_time() -> None:
    bids = hr.read.memory("who string, at timestamp, price int", [("ann", _at(1), 5), ("ann", _at(2), 7)], [("ann", _at(14), 1)])
    out: list[Any] = []
    with beam.Pipeline(runner=HeadraceRunner("micro-batch", name="bids")) as p:
        sums = (
            p | ReadFromStream(bids, time="at") | beam.Map(lambda bid: (bid["who"], bid["price"]))
            | beam.WindowInto(FixedWindows(10)) | beam.CombinePerKey(sum)
        )  # fmt: skip
        sums | WriteToStream("who string, total int", lambda rows: out.append(rows.to.memory("sums")) or out[-1])
    assert [tuple(row) for row in out[0].sink.rows] == [("ann", 12), ("ann", 1)]


def _at(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def test_what_fails_in_a_function_names_the_step() -> None:
    with pytest.raises(JobError) as failed, beam.Pipeline(runner=HeadraceRunner(name="fails")) as p:
        p | beam.Create([0]) | "divide" >> beam.Map(lambda n: 1 / n)
    assert "division by zero" in failed.value.what
    assert "divide" in failed.value.what


def _clock(p: Any) -> Any:
    windows = beam.WindowInto(
        GlobalWindows(), trigger=trigger.Repeatedly(trigger.AfterProcessingTime(5)), accumulation_mode=trigger.AccumulationMode.DISCARDING
    )
    return p | beam.Create([("a", 1)]) | windows | "group" >> beam.GroupByKey()


def _windowed_side(p: Any) -> Any:
    side = p | "side" >> beam.Create([1]) | beam.WindowInto(FixedWindows(1))
    return p | beam.Create([1]) | "with side" >> beam.Map(lambda n, _: n, beam.pvalue.AsList(side))


REFUSED = [
    (_clock, "group: GroupByKey has a trigger by the clock", "use AfterCount or AfterWatermark"),
    (_windowed_side, "with side: ParDo has a side input with windows", "give it one value for all: beam.WindowInto(GlobalWindows())"),
]


@pytest.mark.parametrize(("build", "what", "fix"), REFUSED, ids=[what for _, what, _ in REFUSED])
def test_what_is_not_there_is_refused_by_name(build: Any, what: str, fix: str) -> None:
    pipeline = beam.Pipeline(runner=HeadraceRunner())
    build(pipeline)
    with pytest.raises(DefinitionError) as refused:
        pipeline.run()
    assert refused.value.what.endswith(what)
    assert refused.value.fix == fix
    assert __file__ in str(refused.value.where)


def test_a_session_of_windows_goes_into_another_group() -> None:
    with beam.Pipeline(runner=HeadraceRunner("micro-batch", name="twice")) as p:
        timed = p | beam.Create([1, 2, 11, 30]) | beam.Map(lambda n: TimestampedValue(("k", n), n))
        sizes = (
            timed
            | "sessions" >> beam.WindowInto(window.Sessions(5))
            | beam.GroupByKey()
            | beam.MapTuple(lambda _, all: (len(list(all)), 1))
        )
        assert_that(sizes | "all" >> beam.WindowInto(GlobalWindows()) | beam.CombinePerKey(sum), equal_to([(2, 1), (1, 2)]))
