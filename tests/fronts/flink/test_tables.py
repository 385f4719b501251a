"""Tables and SQL in PyFlink's words: from streams and back, declared tables, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fronts.flink.running import BATCH, IN_ORDER, PAIR, STREAMING, environment, pairs

import headrace as hr
from headrace.errors import DefinitionError, QueryError
from headrace.flink import (
    DataStream,
    EnvironmentSettings,
    Row,
    RuntimeExecutionMode,
    Schema,
    StreamTableEnvironment,
    Types,
)

TEXT = "NE Scala 2016 Apache Apache Spark Storm Apache Trident Flink Streaming Samza Scala 2016 Streaming"
TIMED = Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").watermark("rowtime", "SOURCE_WATERMARK()").build()
BOTH = pytest.mark.parametrize("mode", [BATCH, STREAMING])

pytestmark = pytest.mark.usefixtures("spark")


def tables(mode: RuntimeExecutionMode = STREAMING) -> StreamTableEnvironment:
    return StreamTableEnvironment.create(environment(mode))


def words(t_env: StreamTableEnvironment) -> DataStream:
    """The words of the talk, as PyFlink's own example has them: a stream of rows."""
    text = t_env._env.from_elements(TEXT, type_info=Types.STRING())
    return text.flat_map(str.split).map(Row, output_type=Types.ROW_NAMED(["word"], [Types.STRING()]))


@BOTH
def test_the_word_count_in_sql_over_a_stream(mode: RuntimeExecutionMode) -> None:
    t_env = tables(mode)
    t_env.create_temporary_view("words", words(t_env))
    counts = t_env.sql_query("SELECT word, COUNT(*) AS n FROM words GROUP BY word")
    rows = list(counts.execute().collect())
    assert {row.word: row.n for row in rows} == {word: TEXT.split().count(word) for word in TEXT.split()}
    assert [row for row in rows if row["word"] == "Apache"] == [Row("Apache", 3)]


@BOTH
def test_windows_go_by_the_time_of_the_stream_and_lead_back_to_one(mode: RuntimeExecutionMode) -> None:
    t_env = tables(mode)
    clicks = pairs(t_env._env, [("a", 1_000), ("a", 4_000)], [("b", 11_000)], [("a", 60_000)])
    t_env.create_temporary_view("clicks", clicks, TIMED)
    sums = t_env.sql_query(
        """SELECT f0, window_end, SUM(f1) AS total FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
           GROUP BY f0, window_start, window_end EMIT FINAL"""
    )
    back = t_env.to_data_stream(sums).map(lambda row: (row.f0, row.total), output_type=PAIR)
    assert sorted(back.execute_and_collect()) == [("a", 5_000), ("a", 60_000), ("b", 11_000)]


def test_a_schema_casts_computes_and_says_the_time() -> None:
    t_env = tables()
    schema = (
        Schema.new_builder().column("f0", "STRING").column("f1", "BIGINT").column_by_expression("at", "timestamp_millis(f1)")
        .watermark("at", "at - INTERVAL '5' SECOND").primary_key("f0").build()
    )  # fmt: skip
    table = t_env.from_data_stream(t_env._env.from_collection([("a", 3)], PAIR), schema)
    assert repr(table) == "Table[f0: string, f1: bigint, at: timestamp]"
    assert table.get_column_names() == ["f0", "f1", "at"]
    assert t_env.from_data_stream(t_env._env.from_elements("x", type_info=Types.STRING())).get_column_names() == ["f0"]


def test_a_declared_table_is_read_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    rows = [{"item": "a", "price": 3, "at": "2026-01-01T00:00:01"}, {"item": "b", "price": 9, "at": "2026-01-01T00:00:12"}]
    (tmp_path / "in" / "bids.json").write_text("\n".join(map(json.dumps, rows)))
    t_env = StreamTableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql(f"""
        CREATE TABLE bids (item STRING, price INT, at TIMESTAMP(3), dear AS price > 5, WATERMARK FOR at AS at - INTERVAL '1' SECOND)
        WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/in', 'format' = 'json')""")
    t_env.execute_sql(f"""CREATE TABLE sums (until TIMESTAMP(3), total BIGINT)
        WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/out', 'format' = 'json')""")
    t_env.execute_sql("CREATE TABLE shown (item STRING) WITH ('connector' = 'print')")
    t_env.execute_sql("CREATE TEMPORARY VIEW large AS SELECT item FROM bids WHERE dear")
    both = t_env.create_statement_set()
    both.add_insert_sql("INSERT INTO sums SELECT window_end, SUM(price) FROM TUMBLE(bids, '10 seconds') GROUP BY window_start, window_end")
    both.add_insert("shown", t_env.from_path("large"))
    both.execute().wait()
    written = [json.loads(line) for file in (tmp_path / "out").glob("part-*") for line in file.read_text().splitlines()]
    assert sorted(row["total"] for row in written) == [3, 9]
    assert capsys.readouterr().out == "+I[b]\n"
    t_env.execute_sql("SELECT item, price FROM bids WHERE price < 5").print()
    assert capsys.readouterr().out.splitlines()[1:] == [
        "| item | price |",
        "+------+-------+",
        "|    a |     3 |",
        "+------+-------+",
        "1 row in set",
    ]
    assert t_env.list_tables() == ["bids", "large", "shown", "sums"]
    assert [row[0] for row in t_env.execute_sql("DESCRIBE bids").collect()] == ["item", "price", "at", "dear"]
    assert "batch        yes" in t_env.explain_sql("SELECT * FROM large")
    t_env.execute_sql("DROP VIEW large")
    assert [row[0] for row in t_env.execute_sql("SHOW TABLES").collect()] == ["bids", "shown", "sums"]


def test_a_topic_is_a_table_until_where_it_ends_now(kafka: str, topic: Callable[..., str]) -> None:
    given, out = topic(), topic()
    hr.topics.send(given, [json.dumps({"page": page}) for page in "aab"])
    t_env = tables()
    t_env.execute_sql(f"""CREATE TABLE clicks (page STRING) WITH ('connector' = 'kafka', 'topic' = '{given}', 'format' = 'json',
        'properties.bootstrap.servers' = '{kafka}', 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')""")
    t_env.execute_sql(f"CREATE TABLE `out` (page STRING) WITH ('connector' = 'kafka', 'topic' = '{out}')")
    inserting = t_env.from_path("clicks").execute_insert("out")
    inserting.wait()
    client = inserting.get_job_client()
    assert client is not None
    assert client.get_job_status() == "FINISHED"
    assert [json.loads(record.value) for record in hr.topics.read(out)] == [{"page": page} for page in "aab"]


def test_rows_and_tables_of_headrace_are_tables() -> None:
    t_env = tables()
    t_env.create_temporary_view("orders", t_env.from_elements([(1, "NO"), (2, "XX")], "id INT, code STRING"))
    t_env.create_temporary_view("clicks", hr.read.memory("code string", [("NO",)]))
    assert [row.id for row in t_env.sql_query("SELECT id FROM orders WHERE code = 'NO'").execute().collect()] == [1]
    assert t_env.execute_sql("SELECT count(*) AS n FROM clicks").collect().__next__() == Row(1)


def declared(t_env: StreamTableEnvironment, kafka: str, name: str, columns: str, topic: str, **more: str) -> None:
    options = {"connector": "kafka", "topic": topic, "properties.bootstrap.servers": kafka, **more}
    written = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({written})")


def test_a_query_begins_anew_each_time(kafka: str, topic: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = topic()
    hr.topics.send(given, [json.dumps({"page": page}) for page in "ab"])
    t_env = tables()
    t_env._env.set_checkpoint_directory(tmp_path)
    declared(t_env, kafka, "bounded", "page STRING", given, **{"scan.bounded.mode": "latest-offset"})
    for _ in range(2):
        assert len(list(t_env.execute_sql("SELECT page FROM bounded").collect())) == 2
    t_env._env._trigger = hr.once  # else it goes on for ever
    declared(t_env, kafka, "clicks", "page STRING", given)
    for query in ("SELECT page FROM clicks", "SELECT page FROM clicks", "SELECT page, COUNT(*) AS n FROM clicks GROUP BY page"):
        t_env.execute_sql(query).print()
    assert sorted(capsys.readouterr().out.split("\n")[:-1]) == ["+I[a, 1]", "+I[a]", "+I[a]", "+I[b, 1]", "+I[b]", "+I[b]"]


def test_an_insert_goes_on_whatever_the_program_looks_at_before(kafka: str, topic: Callable[..., str], tmp_path: Path) -> None:
    given, out, other = topic(), topic(), topic()

    def run(page: str, *before: str) -> list[Any]:
        hr.topics.send(given, [json.dumps({"page": page})])
        t_env = tables()
        t_env._env.set_checkpoint_directory(tmp_path)
        t_env._env._trigger = hr.once  # else it goes on for ever
        for name, its in {"clicks": given, "pages": out, "others": other}.items():
            declared(t_env, kafka, name, "page STRING", its)
        for statement in before:
            t_env.execute_sql(statement).wait()
        t_env.execute_sql("INSERT INTO pages SELECT page FROM clicks").wait()
        return [json.loads(record.value)["page"] for record in hr.topics.read(out)]

    assert run("a") == ["a"]
    assert run("b", "EXPLAIN INSERT INTO pages SELECT page FROM clicks", "INSERT INTO others SELECT page FROM clicks") == ["a", "b"]


def test_rows_are_inserted_by_their_places_and_as_the_types_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    t_env = StreamTableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.create_temporary_view("given", t_env.from_elements([(1, 2, 2.5)], "a INT, b INT, c DOUBLE"))
    t_env.execute_sql("CREATE TABLE shown (b BIGINT, a DOUBLE, c DOUBLE) WITH ('connector' = 'print')")
    t_env.execute_sql("INSERT INTO shown SELECT a, b, c FROM given").wait()
    assert capsys.readouterr().out == "+I[1, 2.0, 2.5]\n"


def test_what_is_there_and_what_is_not_may_be_named_with_if() -> None:
    t_env = tables()
    t_env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'print')")
    t_env.execute_sql("CREATE TABLE IF NOT EXISTS t (b INT) WITH ('connector' = 'print')")
    assert t_env._tables["t"].columns == ["`a` int"]  # type: ignore[union-attr]
    t_env.execute_sql("DROP TABLE IF EXISTS t")
    t_env.execute_sql("DROP TABLE IF EXISTS t")
    assert t_env.list_tables() == []


CREATE = "CREATE TABLE t (a INT) WITH "
KAFKA = CREATE + "('connector' = 'kafka', 'topic' = 'x'"


@pytest.mark.parametrize(
    ("wrong", "what", "fix"),
    [
        (lambda t: t.sql_query("SELECT pge FROM clicks"), "there is no column 'pge'", "page"),
        (lambda t: t.sql_query("SELECT * FROM click"), "there is no table or view", "by its name"),
        (lambda t: t.execute_sql("CREATE TABLE t (a INT)"), "what the table is connected to", "add WITH"),
        (lambda t: t.execute_sql("CREATE TABLE t WITH ('connector' = 'print')"), "this declares no table", "CREATE TABLE"),
        (lambda t: t.execute_sql("CREATE TABLE t (a INTT) WITH ('connector' = 'print')"), "INTT is no type", "BIGINT"),
        (lambda t: t.execute_sql("CREATE TABLE t (a INT INT) WITH ('connector' = 'print')"), "means nothing behind a type", "comma"),
        (lambda t: t.execute_sql(CREATE + "('connector' = 'jdbc')"), "there is no connector 'jdbc'", "kafka, filesystem, print"),
        (lambda t: t.execute_sql(CREATE + "('connector' = 'kafka')"), "needs 'topic'", "'topic' = '…'"),
        (lambda t: t.execute_sql(KAFKA + ", 'sink.parallelism' = '2')"), "has no option 'sink.parallelism'", "scan.startup.mode"),
        (lambda t: t.execute_sql(KAFKA + ", 'scan.startup.mode' = 'timestamp')"), "cannot begin at timestamp", "earliest-offset"),
        (lambda t: t.execute_sql(KAFKA + ", 'json.ignore-parse-errors' = 'false')"), "goes to the dead letters", "leave it out"),
        (lambda t: t.execute_sql(KAFKA + ", 'scan.startup.mode' = 'group-offsets')"), "cannot begin at group-offsets", "earliest-offset"),
        (lambda t: t.execute_sql("CREATE VIEW v (a, b) AS SELECT 1"), "this is no name", "name"),
        (lambda t: [t.execute_sql(CREATE + "('connector' = 'print')"), t.execute_sql("INSERT INTO t SELECT page FROM clicks")],
         "page is string, and the column a of t int", "CAST"),
        (lambda t: t.execute_sql("CREATE TABLE t (p AS PROCTIME()) WITH ('connector' = 'print')"), "the time of the clock", "proctime()"),
        (lambda t: t.execute_sql("CREATE TABLE t (at TIMESTAMP(3), WATERMARK FOR at AS b) WITH ()"), "a watermark trails", "INTERVAL"),
        (lambda t: t.execute_sql("CREATE FUNCTION f AS 'x'"), "CREATE FUNCTION is not known", "CREATE TABLE"),
        (lambda t: t.execute_sql("DROP TABLE nothing"), "there is no table nothing", "clicks"),
        (lambda t: t.execute_sql("INSERT INTO clicks SELECT 1"), "no table clicks to write to", "CREATE TABLE"),
        (lambda t: t.sql_query("INSERT INTO clicks SELECT page FROM clicks"), "", ""),
        (lambda t: t.from_path("clicks").select("page"), "has no 'select'", "sql_query"),
        (lambda t: t.from_path("clicks").execute_insert("nowhere"), "there is no table 'nowhere'", "CREATE TABLE"),
        (lambda t: t.create_temporary_view("x", 3), "3 is no table", "DataStream"),
        (lambda t: t.create_temporary_function("f", str), "has no 'create_temporary_function'", "spark.udf.register"),
        (lambda t: t.from_data_stream(t._env.from_elements(object())), "does not know the fields", "output_type"),
        (lambda t: t.from_data_stream(t._env.from_collection([("a", 1)], PAIR), TIMED), "has no time for 'rowtime'", "assign_timestamps"),
        (lambda t: Schema.new_builder().watermark("at", "SOURCE_WATERMARK()").build(), "'at' is not it", "column_by_metadata"),
        (lambda t: Schema.new_builder().column_by_metadata("offset", "BIGINT"), "'offset' is not known", "rowtime"),
        (lambda t: t.to_data_stream("x"), "'x' is no Table", "sql_query"),
        (lambda t: StreamTableEnvironment.create("x"), "'x' is no environment", "EnvironmentSettings"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_these_words(wrong: Callable[[StreamTableEnvironment], Any], what: str, fix: str) -> None:
    t_env = tables()
    t_env.create_temporary_view("clicks", hr.read.memory("page string"))
    with pytest.raises((DefinitionError, QueryError, AttributeError)) as caught:
        wrong(t_env)
    assert what in str(caught.value)
    assert fix in str(caught.value)
    assert "test_tables.py" in str(caught.value) or isinstance(caught.value, AttributeError)


def test_an_endless_query_cannot_be_collected(kafka: str, topic: Callable[..., str]) -> None:
    t_env = tables()
    t_env.execute_sql(f"CREATE TABLE clicks (page STRING) WITH ('connector' = 'kafka', 'topic' = '{topic()}', "
                      f"'properties.bootstrap.servers' = '{kafka}')")  # fmt: skip
    with pytest.raises(DefinitionError, match="a source of the program has no end"):
        t_env.sql_query("SELECT * FROM clicks").execute().collect()


def test_the_time_of_a_stream_is_no_column_unless_a_schema_says_so() -> None:
    t_env = tables()
    clicks = t_env._env.from_collection([("a", 1)], PAIR).assign_timestamps_and_watermarks(IN_ORDER)
    assert t_env.from_data_stream(clicks).get_column_names() == ["f0", "f1"]
    assert t_env.from_data_stream(clicks, TIMED).get_column_names() == ["f0", "f1", "rowtime"]
