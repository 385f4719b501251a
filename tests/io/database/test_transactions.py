"""What holds in every database: repeats, order, fences, all or nothing. Without Spark: rows come as its tasks would have made them."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import pytest
from tests.io.database.places import Place, Row, rows_table, run

from headrace.errors import FencedError, HeadraceError, JobError
from headrace.io.database import transactions


def kept(place: Place, name: str = "rows") -> list[Row]:
    return sorted(place.ask(f"SELECT id, version, name FROM {place.database.name(name)}"))


A, B, C = (1, 1, "a"), (2, 1, "b"), (3, 1, "c")


def test_rows_are_added(place: Place) -> None:
    output = place.output(rows_table())
    output.commit(0, place.batches([A, B], [A]))
    output.commit(1, place.batches([C]))
    assert kept(place) == [A, A, B, C]


def test_a_batch_that_is_there_is_not_written_again(place: Place) -> None:
    output = place.output(rows_table())
    for batch in (0, 0, 1, 0, 1):
        output.commit(batch, place.batches([(batch, 1, "x")]))
    assert kept(place) == [(0, 1, "x"), (1, 1, "x")]


def test_a_run_that_begins_knows_the_last_batch(place: Place) -> None:
    place.output(rows_table()).commit(7, place.batches([A]))
    again = transactions.Output(place.database, rows_table(), run(epoch=2))
    assert again.open() == 7
    again.close()


# rows of two batches, by key and the mark `gone` -> what is there
UPSERTS: list[tuple[str, list[Row], list[Row], list[Row]]] = [
    ("another takes its place", [A, B], [(1, 2, "A")], [(1, 2, "A"), B]),
    ("the last of a batch holds", [A, (1, 2, "x"), (1, 0, "y")], [], [(1, 0, "y")]),
    ("the same changes nothing", [A, B], [A, B], [A, B]),
]


@pytest.mark.parametrize(("first", "second", "held"), [case[1:] for case in UPSERTS], ids=[case[0] for case in UPSERTS])
def test_a_key_is_there_once(place: Place, first: list[Row], second: list[Row], held: list[Row]) -> None:
    output = place.output(rows_table(key=["id"]))
    output.commit(0, place.batches(first))
    output.commit(1, place.batches(*([second] if second else [])))
    assert kept(place) == held


# (version, name) as they came -> the one that holds
NEWEST = [
    ([(1, "a"), (2, "b")], (2, "b")),
    ([(2, "b"), (1, "a")], (2, "b")),
    ([(2, "b"), (2, "c")], (2, "c")),
    ([(2, "c"), (2, "b")], (2, "c")),
    ([(3, "a"), (2, "z"), (3, "b")], (3, "b")),
]


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "a batch each"])
@pytest.mark.parametrize(("came", "held"), NEWEST)
def test_the_newest_holds(place: Place, came: list[tuple[int, str]], held: tuple[int, str], together: bool) -> None:
    output = place.output(rows_table(key=["id"], newest=["version", "name"]))
    rows = [(1, *each) for each in came]
    for number, part in enumerate([rows] if together else [[row] for row in rows]):
        output.commit(number, place.batches(part))
    assert kept(place) == [(1, *held)]


def test_a_marked_row_removes_the_row_of_its_key(place: Place) -> None:
    output = place.output(rows_table(key=["id"], delete="gone"))
    gone, here = (1, 0) if place.kind != "postgresql" else ("true", "false")
    output.commit(0, place.batches([(*A, here), (*B, here), (*C, here), (*C, gone)]))
    assert kept(place) == [A, B]
    output.commit(1, place.batches([(*A, gone), (*B, gone), (2, 2, "again", here), (9, 1, "nobody", gone)]))
    assert kept(place) == [(2, 2, "again")]


def test_a_removal_that_is_older_removes_nothing(place: Place) -> None:
    output = place.output(rows_table(key=["id"], delete="gone", newest=["version"]))
    gone, here = (1, 0) if place.kind != "postgresql" else ("true", "false")
    output.commit(0, place.batches([(1, 5, "a", here), (2, 5, "b", here)]))
    output.commit(1, place.batches([(1, 4, "a", gone), (2, 5, "b", gone)]))
    assert kept(place) == [(1, 5, "a")]


def test_a_complete_result_takes_the_place_of_all(place: Place) -> None:
    output = place.output(rows_table(), output_mode="complete")
    output.commit(0, place.batches([A, B]))
    output.commit(1, place.batches([C]))
    output.commit(1, place.batches([A]))
    assert kept(place) == [C]


def test_a_zombie_is_fenced(place: Place) -> None:
    zombie = place.output(rows_table())
    zombie.commit(0, place.batches([A]))
    successor = place.output(rows_table(), epoch=1)  # the same epoch: two drivers that read the same number are told apart all the same
    for batch in (1, 2):
        with pytest.raises(FencedError) as fenced:
            zombie.commit(batch, place.batches([B]))
        assert fenced.value.what.startswith("FENCED: another run of job 'j' has taken over o at ")
    successor.commit(1, place.batches([C]))
    assert kept(place) == [A, C]


def test_without_the_fence_the_zombie_writes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    zombie = place.output(rows_table())
    successor = place.output(rows_table(), epoch=2)
    monkeypatch.setattr(transactions, "is_fenced", lambda epoch, own: False)  # noqa: ARG005
    zombie.commit(0, place.batches([B]))
    successor.commit(0, place.batches([A]))  # the same batch, computed by the one who may
    assert kept(place) != [A]


def test_another_checkpoint_of_the_job_is_refused(place: Place) -> None:
    place.output(rows_table()).commit(0, place.batches([A]))
    with pytest.raises(JobError) as refused:
        place.output(rows_table(), checkpoint="another")
    assert "was written by job 'j' from another checkpoint" in refused.value.what
    assert "headrace_progress" in refused.value.fix


def test_outputs_and_jobs_share_a_table(place: Place) -> None:
    for job, output in (("j", "o"), ("j", "p"), ("k", "o")):
        place.output(rows_table(), job=job, output=output, checkpoint=job + output).commit(0, place.batches([A]))
    assert kept(place) == [A, A, A]


def test_a_batch_that_the_database_refuses_in_the_middle_leaves_nothing(place: Place) -> None:
    output = place.output(rows_table())
    place.ask(f"CREATE UNIQUE INDEX each_once ON {place.database.name('rows')} (id)")
    with pytest.raises(HeadraceError):
        output.commit(0, place.batches([A, B], [A]))
    assert kept(place) == []
    output.commit(0, place.batches([A, B]))
    assert kept(place) == [A, B]


def test_a_batch_that_breaks_off_leaves_nothing(place: Place) -> None:
    output = place.output(rows_table())

    def broken() -> Any:
        yield from place.batches([A])()
        raise OSError("a task failed")

    with pytest.raises(OSError, match="a task failed"):
        output.commit(0, broken)
    assert kept(place) == []
    output.commit(0, place.batches([A]))
    assert kept(place) == [A]


def test_names_are_quoted(place: Place) -> None:
    from pyspark.sql.types import IntegerType, StringType, StructType

    from headrace.io.database.tables import table

    strange = [("select", IntegerType()), ('"; DROP TABLE x; --', StringType()), ("`%s?", StringType())]
    schema = StructType()
    for name, kind in strange:
        schema = schema.add(name, kind)
    target = table('or"der`s', schema, key=["select"], delete=None, newest=[])
    output = place.output(target)
    output.commit(0, place.batches([(1, "a", "b")]))
    output.commit(1, place.batches([(1, "c", "'; DROP TABLE headrace_progress; --")]))
    assert place.ask(f"SELECT * FROM {place.database.name(target.name)}") == [(1, "c", "'; DROP TABLE headrace_progress; --")]


# the table that is there -> what is said of it
DIFFERENCES = [
    ("id INTEGER", ["version  int in the rows, and not in the table", "name     string in the rows, and not in the table"]),
    ("id INTEGER, version INTEGER, name TEXT, city VARCHAR(9) NOT NULL", ["city", "which wants a value, and not in the rows"]),
]
TYPES = [("id INTEGER, version DATE, name TEXT", ["version  int in the rows, date in the table"])]


@pytest.mark.parametrize(("columns", "words"), DIFFERENCES)
def test_a_table_that_does_not_fit_is_told_with_all_differences(place: Place, columns: str, words: list[str]) -> None:
    place.ask(f"CREATE TABLE {place.database.name('rows')} ({columns})")
    with pytest.raises(JobError) as refused:
        transactions.prepare(place.database, rows_table(), make=False)
    assert refused.value.what.startswith(f"the table rows at {place.database.address} is not one for these rows:\n")
    assert all(word in refused.value.what for word in words)


def test_a_type_that_does_not_fit_is_told(place: Place) -> None:
    (columns, (word,)) = TYPES[0]
    place.ask(f"CREATE TABLE {place.database.name('rows')} ({columns})")
    if place.kind == "sqlite":  # there a declared type is a hint
        return transactions.prepare(place.database, rows_table(), make=False)
    with pytest.raises(JobError) as refused:
        transactions.prepare(place.database, rows_table(), make=False)
    assert word in refused.value.what
    return None


def test_a_key_that_is_not_unique_is_told(place: Place) -> None:
    place.ask(f"CREATE TABLE {place.database.name('rows')} (id INTEGER, version INTEGER, name TEXT)")
    with pytest.raises(JobError) as refused:
        transactions.prepare(place.database, rows_table(key=["id"]), make=True)
    assert "id  the key of the rows, and in the table neither primary key nor unique" in refused.value.what
    place.ask(f"CREATE UNIQUE INDEX by_id ON {place.database.name('rows')} (id)")
    place.output(rows_table(key=["id"])).commit(0, place.batches([A, (1, 2, "b")]))
    assert kept(place) == [(1, 2, "b")]


@pytest.mark.usefixtures("impatient")
def test_a_lock_is_waited_for(place: Place) -> None:
    output = place.output(rows_table())
    table, progress = (place.database.name(name) for name in ("rows", "headrace_progress"))
    lock = {
        "sqlite": ["BEGIN IMMEDIATE"],
        "postgresql": ["BEGIN", f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"],
        "mysql": ["START TRANSACTION", f"SELECT * FROM {progress} FOR UPDATE"],
    }[place.kind]
    with closing(place.database.connect()) as other:
        cursor = other.cursor()
        for statement in lock:
            cursor.execute(statement)
        writing = threading.Thread(target=output.commit, args=[0, place.batches([A])])
        writing.start()
        writing.join(1.5)
        assert writing.is_alive()
        cursor.execute("COMMIT")
        writing.join(30)
    assert kept(place) == [A]


@pytest.mark.usefixtures("impatient")
def test_a_run_that_ends_waits_no_longer(place: Place) -> None:
    over = threading.Event()
    output = place.output(rows_table(), over=over)
    with closing(place.database.connect()) as other:
        cursor = other.cursor()
        cursor.execute(place.database.begin)
        cursor.execute(f"UPDATE {place.database.name('headrace_progress')} SET epoch = epoch")
        over.set()
        with pytest.raises(JobError) as ended:
            output.commit(0, place.batches([A]))
    assert "the run ended while" in ended.value.what


@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_down_is_waited_for(place: Place) -> None:
    if place.server is None:
        return
    output = place.output(rows_table())
    output.commit(0, place.batches([A]))
    place.server.stop()
    writing = threading.Thread(target=output.commit, args=[1, place.batches([B])])
    writing.start()
    writing.join(1)
    assert writing.is_alive()
    place.server.start()
    writing.join(60)
    assert kept(place) == [A, B]


# whether it is looked at what is there -> what is there then
@pytest.mark.parametrize(("looks", "there"), [(True, [A]), (False, [A, A])], ids=["as it is", "without the batch's number"])
def test_an_answer_that_is_lost_is_no_second_batch(
    place: Place, monkeypatch: pytest.MonkeyPatch, looks: bool, there: list[Row]
) -> None:  # fmt: skip
    """The commit was carried out, and the connection broke before that was told."""
    output = place.output(rows_table())
    if not looks:
        monkeypatch.setattr(transactions, "is_there", lambda last, batch: False)  # noqa: ARG005
    transaction, broken = transactions.Output._transaction, iter([True])

    def breaking(self: transactions.Output, work: Any) -> Any:
        result = transaction(self, work)
        if next(broken, False):
            self.close()
            raise lost(place)
        return result

    monkeypatch.setattr(transactions.Output, "_transaction", breaking)
    output.commit(0, place.batches([A]))
    assert kept(place) == there


def lost(place: Place) -> Exception:
    import sqlite3

    if place.kind == "sqlite":
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        return error
    if place.kind == "postgresql":
        import psycopg

        return psycopg.OperationalError("server closed the connection unexpectedly")
    import pymysql

    return pymysql.err.OperationalError(2013, "Lost connection to server during query")
