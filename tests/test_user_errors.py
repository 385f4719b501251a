"""Every mistake is answered in words: what happened, the line of the program to mend, and what to write there. Nothing else is printed.

Each program is written to a file and run. Its last line is the wrong one, unless another is marked.
"""

from __future__ import annotations

import logging
import runpy
import traceback
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import DefinitionError, HeadraceError, JobError, ModeError, UnknownNameError

HEAD = """\
import threading
from dataclasses import dataclass
import pandas
import headrace as hr
from headrace.io.receiver import Receiver
from pyspark.sql import functions as F

spark, lock = hr.session(), threading.Lock()
orders = hr.read.memory("k string, n int, at timestamp", [("a", 0, None)])
table = spark.createDataFrame([("a", 1)], "k string, price int")
"""
HERE = "  # here"


@dataclass(frozen=True)
class Mistake:
    program: str
    what: str
    fix: str
    error: type[HeadraceError] = DefinitionError

    def __str__(self) -> str:
        return self.line.strip().removesuffix(HERE)[:70]

    @property
    def line(self) -> str:
        lines = self.program.splitlines()
        return next((line for line in lines if line.endswith(HERE)), lines[-1])

    def written(self, file: Path) -> str:
        """Write the program to a file; where its mistake is."""
        text = HEAD + self.program
        file.write_text(text)
        return f"{file}:{text.splitlines().index(self.line) + 1}"


def scan(**parts: str) -> str:
    """A program with a scan; what is not said is plain."""
    return f"orders.key_by('n').scan({', '.join(f'{name}={part}' for name, part in (_SCAN | parts).items())})"


_SCAN = {"state": "{'s': 0}", "update": "{}", "output": "['n']"}


def featured(x: str, more: str = "") -> str:
    return f"orders.key_by('n').with_features(x=hr.{x}{more})"


def unknown(program: str, what: str, fix: str) -> Mistake:
    return Mistake(program, what, fix, UnknownNameError)


def stops(program: str, what: str, fix: str) -> Mistake:
    return Mistake(program, what, fix, JobError)


DURATION = "such as '10 seconds'"
AGGREGATE = 'F.max("amount")'

JOBS = [
    Mistake("hr.Job('x', orders)", "job 'x': a MemoryStream is no output", 'stream.to.kafka("topic")'),
    Mistake("hr.Job('x', orders.to)", "job 'x': a To is no output", "give each stream an end"),
    Mistake("hr.Job('x', [orders.to.memory()])", "is no output", "one after the other"),
    Mistake("hr.Job('x', table)", "a pyspark DataFrame is no output", "give each stream an end"),
    Mistake("hr.Job(orders.to.memory())", "an Output cannot be the name of a job", 'Job("by-day", …)'),
    Mistake("hr.Job('x', orders.to.memory(), trigger='10 seconts')", "'10 seconts' is not a duration", DURATION),
    Mistake("hr.Job('x', orders.to.memory(), trigger=10)", "10 is no trigger", 'use "10 seconds", "once" or "finish"'),
    Mistake("hr.Job('x', orders.to.memory(), checkpoint=5)", "checkpoint: 5 is no path", "give the path"),
    Mistake("hr.Job('x', orders.to.memory()).run(trigger='10 seconts')", "'10 seconts' is not a duration", DURATION),
    Mistake("hr.Job('x', orders.to.memory()).start(trigger=10)", "10 is no trigger", 'use "10 seconds", "once" or "finish"'),
    Mistake("hr.Job('x', orders.to.memory()).run('realtime')", "there is no mode 'realtime'", "batch, micro-batch, real-time", ModeError),
    unknown("orders.to.memory().run()", "an output has no 'run'", 'Job("name", output).run()'),
    unknown("orders.to.memory().rows", "an output has no 'rows'", "output.sink.rows"),
    Mistake(
        "hr.Job('x', orders.then(lambda df: df.orderBy('k')).to.memory()).run()",
        "Sorting is not supported", 'output_mode="complete"; or run it as a batch', ModeError),
    Mistake(
        "hr.Job('x', orders.key_by('k').agg(F.count_distinct('n')).to.memory()).run()",
        "Distinct aggregations", "F.approx_count_distinct", ModeError),
]  # fmt: skip

DURATIONS = [
    Mistake("hr.tumbling('1 minit')", "tumbling: '1 minit' is not a duration", DURATION),
    Mistake("hr.tumbling(60)", "tumbling: 60 is not a duration", DURATION),
    Mistake("hr.sliding('10 minutes', '5 minit')", "sliding: slide: '5 minit' is not a duration", DURATION),
    Mistake("hr.sliding('5 minutes', '10 minutes')", "the slide (10 minutes) is longer than the window", "the length first"),
    Mistake("hr.sessions('1 minit')", "sessions: '1 minit' is not a duration", DURATION),
    Mistake("hr.every('1 minit')", "every: '1 minit' is not a duration", DURATION),
    Mistake("hr.every(None)", "every: None is not a duration", DURATION),
    Mistake("orders.event_time('at', delay='1 minit')", "event_time: delay: '1 minit' is not a duration", DURATION),
    Mistake("orders.event_time('at', '-1 minute')", "event_time: delay: '-1 minute' is not a duration", DURATION),
    Mistake(scan(event_time="'at'", delay="'soon'"), "scan: delay: 'soon' is not a duration", DURATION),
    Mistake(featured("running(F.max('n'))", ", event_time='at', delay='soon'"), "with_features: delay: 'soon' is not", DURATION),
]  # fmt: skip

ARGUMENTS = [
    Mistake("orders.to.callback('x')", "to.callback: 'x' cannot be called", "(rows, batch)"),
    Mistake("orders.to.callback(lambda rows: None)", "cannot be called with (rows, batch)", "the parameters (rows, batch)"),
    Mistake("orders.to.memory(5)", "to.memory: name: 5 is no text", "'5'"),
    Mistake("orders.to.files(None)", "to.files: None is no path", "/data/orders"),
    Mistake("orders.to.files('d', partition_by=F.col('k'))", "is a column, and not the name of one", "name it"),
    Mistake("orders.to.files('d', format='text')", "one column of text, and there are k string, n int, at timestamp", "F.concat_ws"),
    Mistake("orders.to.files('d', options='x')", "options is of type str, and no dict", "give a dict"),
    Mistake("orders.to.kafka(['a'])", "to.kafka: the topic: ['a'] is no text", "give text"),
    Mistake("orders.to.kafka('t', key=5)", "to.kafka: key: 5 is neither a column nor the name of one", "F.lit(5)"),
    Mistake("orders.to.kafka('t', value=5)", "to.kafka: value: 5 is not the name of a column", "name it as text"),
    Mistake("orders.to.kafka('t', headers=['k'])", "to.kafka: headers: ['k'] is no dict", "give a dict"),
    Mistake("hr.read.kafka(5)", "read.kafka: a topic: 5 is no text", "'5'"),
    Mistake("hr.read.kafka('t', start=5)", "start=5 is no position", '{"orders": {0: 42}}'),
    Mistake("hr.read.kafka('t', servers=['a:1'])", "servers: ['a:1'] is no text", "give text"),
    Mistake("hr.read.kafka(pattern=5)", "pattern: 5 is no text", "'5'"),
    Mistake("hr.read.files(5, schema='a int')", "read.files: 5 is no path", "/data/orders"),
    Mistake("hr.read.files('d', schema='a int', format='csv', separator=5)", "separator: 5 is no text", "'5'"),
    Mistake("hr.read.socket('localhost', '99')", "there is no port '99'", "a number from 1 to 65535"),
    Mistake("hr.read.receiver(Receiver)", "the class Receiver is no receiver", "read.receiver(Readings())"),
    Mistake("hr.read.memory('a int', 5)", "the rows are 5, but the columns are a:int", "a list of rows"),
    Mistake("hr.read.memory('a int not null', [(None,)])", "no value for 'a', which cannot be null", "a list of rows"),
    Mistake("hr.read.memory('a integr')", 'Unsupported data type "INTEGR"', "with types such as string, boolean"),
    Mistake("hr.read.memory(['a'])", "['a'] is no schema", "'id string not null, amount double'"),
    Mistake("@dataclass\nclass A:\n    x: complex\nhr.read.memory(A)", "A.x is of the type complex", "use one of: str, bool, int"),
    Mistake("class A:\n    x: int\nhr.read.memory(A)", "neither a dataclass nor a pydantic model", "@dataclass"),
    Mistake("orders.key_by(['k'])", "key_by: ['k'] is not the name of a column", "one by one"),
    Mistake("orders.key_by(None)", "key_by: None is not the name of a column", "as text"),
    Mistake("orders.key_by('k').agg()", "agg: no aggregate is given", AGGREGATE),
    Mistake("orders.key_by('k').agg('n')", "agg: 'n' is no aggregate", AGGREGATE),
    Mistake("orders.window('1 hour', on='at')", "window: '1 hour' is no window", 'tumbling("1 hour")'),
    Mistake("orders.window(hr.tumbling('1 hour'), on='att')", "window: on: there is no column 'att'", "did you mean 'at'?"),
    Mistake("orders.window(hr.tumbling('1 hour'), on='k').agg(F.count('*'))", "the time 'k' is of type string", "F.to_timestamp('k')"),
    Mistake("orders.window(hr.tumbling('1 hour'), on='at', by=['kk'])", "window: by: there is no column 'kk'", "did you mean 'k'?"),
    Mistake("orders.window(hr.forever()).agg(hr.fold('n', zero=0, step=max))", "agg: a fold has no name of its own", "agg(total=hr.fold("),
    Mistake("orders.key_by('k').top(3, by=F.desc('n'))", "top: by Column<'n DESC NULLS LAST'> is an order", "the greatest are first"),
    Mistake("orders.key_by('k').table(deleted='n')", "table: deleted: Cannot resolve", "give a condition"),
    Mistake("orders.key_by('k').match(hr.step('a', 'n').next('b', 'n = 2'), time='at')", "is of type INT", "give a condition"),
    Mistake("orders.union(table)", "union: a pyspark DataFrame is no stream", "one.union(other)"),
    Mistake("orders.union(orders.drop('n'))", "union: the other stream has no column 'n'", "drop('n')"),
    Mistake("orders.join([('a', 1)], 'k')", "join: [('a', 1)] is no DataFrame", "createDataFrame"),
    Mistake("orders.join(pandas.DataFrame({'k': ['a']}), 'k')", "join: a pandas DataFrame is no DataFrame", "createDataFrame"),
    Mistake("orders.then(lambda df, other: df.join(other, 'k'), [1])", "then(<lambda>): [1] is no DataFrame", "createDataFrame"),
    Mistake("orders.then(5)", "then: 5 cannot be called", "a function of (df)"),
    Mistake("orders.then(lambda: 5)", "<lambda> cannot be called with (df)", "the parameters (df)"),
    Mistake("orders.select()", "select: no column is named", "k, n, at"),
    Mistake("orders.select(5)", "select: 5 is neither a column nor the name of one", "F.lit(5)"),
    Mistake("orders.where(None)", "where: None is neither a column nor an expression", '"amount > 3"'),
    Mistake("orders.with_columns(x=5)", "with_columns: x: 5 is neither a column nor the name of one", "F.lit(5)"),
    Mistake("orders.drop('k', 'n', 'at')", "drop: no column would be left", "keep at least one"),
    Mistake("orders.decode('k', schema='a int', refuse='a > 1')", "refuse: 'a > 1' is no dict", "give a dict"),
    Mistake("orders.decode('k', schema='a int', refuse={'x': 'b > 1'})", "check 'x': there is no column 'b'", "The columns here are a"),
    Mistake("orders.key_by('k').with_features()", "with_features: no feature is given", "running("),
    Mistake("hr.last_n(F.max('n'), 5)", "last_n: n is Column<'max(n)'>", "a whole number from 1 on"),
    Mistake("hr.scan(orders, keys='k', state={}, update={}, output=[])", "a MemoryStream is no DataFrame", "stream.key_by('key').scan("),
    Mistake(scan(wait="'no'"), "scan: wait: 'no' is neither True nor False", "True or False"),
    Mistake(scan(orderby="'n'"), "scan: the option: 'orderby' is not known", "when, ports, forget"),
    Mistake(scan(state="{'s': None}"), "scan: state.s: None has no type", '"double"'),
    Mistake(
        "orders.key_by('k').scan_python(state='s int', function=lambda s: s, output='n int')",
        "scan_python: function: <lambda> cannot be called with (state, record)", "the parameters (state, record)"),
]  # fmt: skip

COLUMNS = [
    Mistake("orders.select('kk')", "select: there is no column 'kk'", "did you mean 'k'? The columns here are k, n, at"),
    Mistake("orders.where('nope > 1')", "where: there is no column 'nope'", "The columns here are k, n, at"),
    Mistake("orders.select('k, n')", "there is no column 'k, n'", "one by one"),
    Mistake("orders.with_columns(x='n + 1')", "there is no column 'n + 1'", "F.expr('n + 1')"),
    Mistake("orders.where('n >')", "where: Syntax error", "mend the expression"),
    Mistake("orders.select(table.price)", 'select: "price" is a column of another DataFrame', "F.col('name')"),
    Mistake("orders.select(F.expr('uper(k)'))", "there is no function uper", "did you mean 'upper'?"),
    Mistake("orders.select('k', F.max('n'))", "an aggregate of many records stands", "key_by('key').agg(…)"),
    Mistake("orders.where(F.max('n') > 1)", "where: ", "with_features("),
    Mistake("orders.select(F.row_number())", "looks at other records", "previous("),
    Mistake("orders.select('n.x')", "Can't extract a value", "The columns here are k string, n int, at timestamp"),
    Mistake("orders.select(F.explode('n'))", "explode(n)", "The columns here are k string, n int, at timestamp"),
    Mistake("orders.select('n', F.lit(1).alias('n')).where('n = 1')", "Reference `n` is ambiguous", ".alias("),
    Mistake("orders.select(F.element_at('n', 1))", "element_at(n, 1)", "cast what does not fit"),
    Mistake("orders.select(F.explode(F.array('n')) + 1)", "The generator is not supported", "explode in a select of its own"),
    Mistake("orders.select(F.grouping('n'))", "select: ", "look up UNSUPPORTED_GROUPING_EXPRESSION"),
    Mistake("orders.join('nope', 'k')", "there is no table 'nope' in Spark's catalog", ""),
    Mistake("orders.join(table, 'n')", "join: there is no column 'n' there", "The columns there are k, price"),
    Mistake("orders.union(orders.with_columns(at=F.lit(1)))", 'is "INT" in one of the two and "TIMESTAMP" in the other', ".cast("),
    Mistake("orders.event_time('k', '1 minute')", 'k is of type "STRING", but a timestamp is needed', "k=F.to_timestamp('k')"),
    Mistake("orders.key_by('k').agg(F.col('n'))", '"n" is neither an aggregate nor a key', "F.max(…)"),
    Mistake("orders.window(hr.forever()).agg(F.col('n'))", '"n" is neither an aggregate nor a key', "F.max(…)"),
    Mistake("orders.then(lambda df: df.selct('k'))", "a DataFrame has no 'selct'", "did you mean 'select'?"),
    Mistake("orders.then(lambda df: df.limit(df.count()))", "it asks for the rows of a stream", "stream.show()"),
    Mistake("orders.then(lambda df: None)", "gave None, not a DataFrame", "return the DataFrame"),
    Mistake(featured("running(F.upper('k'))"), "upper(k): is no aggregate", "F.max(…)"),
    Mistake(featured("running(F.max('nn'))"), "max(nn): there is no column 'nn'", "did you mean 'n'?"),
    Mistake(featured("running(F.collect_list('n'))"), "can be carried along record by record", "F.count, sum, min"),
    Mistake(featured("running(F.count_distinct('n'))"), "would grow without bound", "F.approx_count_distinct"),
    Mistake(featured("running(F.max('n')).only('n')"), "only: the condition of 'x' is of type int", "amount > 3"),
    Mistake(featured("within('1 day', F.count('*'))", ", time='k'"), "within: the time 'k' is of type string", "F.to_timestamp('k')"),
    Mistake(featured("since('k')"), "since: it measures how a number or a time grows", ".cast("),
    Mistake(scan(update="{'s': F.col('s') + 1}"), "update.s: there is no column 's'", "did you mean 'state.s'?"),
    Mistake(scan(update="{'t': 1}"), "update.t: is not a field of the state", "state={'total': 0}"),
    Mistake(scan(update="{'s': F.sum('n')}"), "update.s: 'sum(n)' looks at more than one record", "keep what it needs in the state"),
    Mistake(scan(update="{'s': F.rand()}"), "gives another value each time", "F.hash('id')"),
    Mistake(scan(output="['k', 'k']"), "output: has two columns named 'k'", ".alias("),
]  # fmt: skip

BIGINT = "F.col('k').cast('bigint'), or F.col('k').try_cast('bigint')"

TEXT_AS_SOMETHING_ELSE = [
    Mistake("orders.where(F.col('k') > 5)", "where: (k > 5) reads the text k as BIGINT", BIGINT),
    Mistake("orders.where('k in (1, 2)')", "reads the text k as BIGINT", BIGINT),
    Mistake("orders.where('k > at')", "reads the text k as TIMESTAMP", "F.col('k').cast('timestamp')"),
    Mistake("orders.where(F.col('n') > 'five')", "reads the text 'five' as BIGINT, which it is not", "such as 5"),
    Mistake("orders.where('at > \"yesterday noon\"')", "reads the text 'yesterday noon' as TIMESTAMP", "'2026-01-31 12:00:00'"),
    Mistake("orders.select(F.col('k') + 1)", "select: (k + 1) reads the text k as BIGINT", BIGINT),
    Mistake("orders.with_columns(x=F.coalesce('k', 'n'))", "coalesce(k, n) reads the text k as BIGINT", BIGINT),
    Mistake("orders.select(F.hour('k'))", "hour(k) reads the text k as TIMESTAMP", "F.col('k').cast('timestamp')"),
    Mistake("orders.select(F.transform(F.array('k'), lambda k: k + 1))", "reads the text", "cast it"),
    Mistake("orders.then(lambda df: df.where('k > 5'))", "then(<lambda>): (k > 5) reads the text k", BIGINT),
    Mistake("orders.where('n > 0').key_by('n').agg(F.sum('k'))", "agg: sum(k) reads the text k as DOUBLE", ".cast('double')"),
    Mistake("orders.union(orders.with_columns(n='k'))", "union: the column n reads the text n as BIGINT", "F.col('n').cast('bigint')"),
    Mistake("orders.join(table.withColumn('k', F.lit(1)), 'k')", "join: (k = k) reads the text k as BIGINT", ".cast("),
    Mistake("orders.to.kafka('t', key=F.col('k') + 1)", "to.kafka: (k + 1) reads the text k", BIGINT),
    Mistake("orders.decode('k', schema='a string', refuse={'x': 'a > 1'})", "(a > 1) reads the text a", "F.col('a').cast"),
    Mistake(featured("running(F.sum('k'))"), "feature: sum(k) reads the text k as DOUBLE", ".try_cast('double')"),
    Mistake(featured("running(F.max('n')).only('k > 1')"), "only: the condition of 'x': (k > 1) reads the text k", BIGINT),
    Mistake(scan(when="'k > 1'"), "scan: when: (k > 1) reads the text k as BIGINT", BIGINT),
    Mistake(featured("zscore('k')"), "zscore: it measures how far values are apart, and this is text", "zscore(F.col("),
    Mistake(featured("zscore('k', last=3)"), "zscore: it measures how far values are apart", ".cast('double')"),
    Mistake(featured("median_deviation('k', last=3)"), "median_deviation: it measures how far values are apart", ".cast('double')"),
    Mistake("orders.window(hr.until(delta=('k', 3))).agg(F.count('*'))", "delta: it measures how far values are apart", ".cast('double')"),
    Mistake("orders.window(hr.keeping(delta=('k', 3))).agg(F.count('*'))", "delta: it measures how far", ".cast('double')"),
    Mistake(
        scan(state="{'s': 'string'}", update="{'s': F.col('k')}", output="[(F.col('state.s') * 2).alias('x')]"),
        "scan: output: (s * 2) reads the text s as BIGINT", "cast it"),
]  # fmt: skip

NAMES = [
    unknown("orders.groupBy('k')", "a Stream has no 'groupBy'", 'key_by("key").agg('),
    Mistake("orders.filter('n > 1')", "filter: 'n > 1' is a condition, and no Python function", "where("),
    unknown("orders.withColumn('x', F.lit(1))", "a Stream has no 'withColumn'", "with_columns("),
    unknown("orders.collect()", "a Stream has no 'collect'", "output.sink.rows"),
    unknown("orders.count()", "a Stream has no 'count'", 'F.count("*")'),
    unknown("orders.dropDuplicates(['k'])", "a Stream has no 'dropDuplicates'", 'use key_by("id").distinct(within="1 hour")'),
    unknown("orders.with_features(x=hr.running(F.max('n')))", "a Stream has no 'with_features'", 'key_by("key").with_features('),
    unknown("orders.run()", "a Stream has no 'run'", 'Job("name", stream.to.memory()).run()'),
    unknown("orders.selct('k')", "a Stream has no 'selct'", "did you mean 'select'?"),
    unknown("orders.where(orders.n > 1)", "a Stream has no 'n'", 'F.col("n")'),
    Mistake("orders.select(orders['n'])", "a Stream has columns by name", "F.col('n')"),
    unknown("orders.key_by('k').count()", "a stream by key has no 'count'", 'agg(F.count("*"))'),
    unknown("orders.key_by('k').where('n > 1')", "a stream by key has no 'where'", "before key_by"),
    unknown("orders.window(hr.tumbling('1 day'), on='at').sum('n')", "a stream in windows has no 'sum'", "agg(F.sum("),
    unknown("orders.to.Kafka('t')", "`.to` has no 'Kafka'", "did you mean 'kafka'?"),
    unknown("orders.to.csv('d')", "`.to` has no 'csv'", '.to.files(path, format="csv")'),
    unknown("hr.read.csv('d')", "`hr.read` has no 'csv'", 'hr.read.files(path, format="csv"'),
    unknown("hr.kafka('t')", "`headrace` has no 'kafka'", "hr.read.kafka("),
    unknown("hr.tumble('1 minute')", "`headrace` has no 'tumble'", "hr.tumbling("),
    unknown("hr.session_window('1 minute')", "`headrace` has no 'session_window'", "hr.sessions("),
    unknown("hr.Jobs('x')", "`headrace` has no 'Jobs'", "did you mean 'Job'?"),
]  # fmt: skip

LOCKED = "def f(state, record):\n    with lock:\n        return state, []\n"
RECEIVER = """\
class R(Receiver):
    schema = 'a int'
    def end(self):
        return 1
    def read(self, start, end):
        with lock:
            return []
"""
PYTHON = "orders.key_by('k').scan_python(state='s int', function=f, output='s int')"
WORKERS = "which cannot be sent to Spark's workers"
MEND = "mend the function"


def batch(stream: str, before: str = "") -> str:
    """A program that runs a stream as a batch."""
    return f"{before}hr.Job('x', {stream}.to.memory()).run('batch')"


def returning(result: str) -> str:
    """A program with a Python function that returns this."""
    return batch(PYTHON, f"def f(state, record):{HERE}\n    return {result}\n")


def calling(action: str, how: str) -> str:
    """A program with a callback that does this."""
    return f"def f(rows, batch):\n    {action}{HERE}\nhr.Job('x', orders.to.callback(f)).run({how})"


def udf(body: str) -> str:
    return batch("orders.select(f('k'))", f"import json\n@F.udf('int')\ndef f(k):\n    return {body}{HERE}\n")


FUNCTIONS = [
    Mistake(LOCKED + PYTHON, f"scan_python: the function uses 'lock', {WORKERS}", "inside the function"),
    Mistake(RECEIVER + "hr.read.receiver(R())", f"read.receiver: R uses 'lock', {WORKERS}", "inside the function"),
    stops(calling("raise ValueError('no room')", "'batch'"), "stopped at callback-f: ValueError: no room", MEND),
    stops(calling("raise ValueError('no room')", "trigger='once'"), "stopped at callback-f: ValueError: no room", MEND),
    stops(calling("rows.select('kk')", "trigger='once'"), "stopped at callback-f: there is no column 'kk'", "did you mean 'k'?"),
    stops(udf("k.foo"), "AttributeError: 'str' object has no attribute 'foo'", MEND),
    stops(udf("json.loads(k)"), "json.decoder.JSONDecodeError", MEND),
    stops(returning("None"), "scan_python: the function gave None", "return two things"),
    stops(returning("{'s': 1}, [(1,)]"), "is (1,) (tuple), but a dict is needed; a row has s", "name them as the schema does"),
    stops(returning("{'t': 1}, []"), "names 't'; a state has s", "name them as the schema does"),
]  # fmt: skip

NO_INT = 'The value \'a\' of the type "STRING" cannot be cast to "INT"'

AT_WORK = [
    stops(batch("orders.where(F.col('k').cast('int') > 5)"), NO_INT, ".try_cast('int')"),
    stops(batch("orders.where('cast(k as int) > 5')"), NO_INT, ".try_cast('int')"),
    stops(batch("x", "x = " + scan(update="{'s': F.col('k').cast('int')}") + HERE + "\n"), NO_INT, ".try_cast('int')"),
    stops(batch("orders.select(1 / F.col('n'))"), "Division by zero", "F.try_divide"),
    stops(batch("orders.select(F.element_at(F.array('n'), 5))"), "The index 5 is out of bounds", "F.try_element_at"),
    stops(batch("x", f"x = hr.read.files('/nowhere', schema='a int'){HERE}\n"), "there is no /nowhere", "create the directory"),
    stops("hr.read.files('/nowhere')", "there is no /nowhere", "create the directory"),
]  # fmt: skip


@pytest.mark.parametrize(
    "mistake",
    [*JOBS, *DURATIONS, *ARGUMENTS, *COLUMNS, *TEXT_AS_SOMETHING_ELSE, *NAMES, *FUNCTIONS, *AT_WORK],
    ids=str,
)
def test_a_mistake_is_answered_in_words(
    mistake: Mistake, spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    where = mistake.written(file := tmp_path / "program.py")
    with pytest.raises(HeadraceError) as caught:
        runpy.run_path(str(file))
    error = caught.value
    assert (type(error), error.where) == (mistake.error, where)
    assert mistake.what in error.what
    assert mistake.fix in error.fix
    assert "\n" not in error.what
    whole = "".join(traceback.format_exception(error))
    assert not [word for word in ("py4j", "JVM stacktrace", "org.apache.spark", "SQLSTATE", "message says") if word in whole]
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    assert not spark.streams.active


ALLOWED = [
    "orders.where(F.col('k').cast('int') > 5)",
    "orders.where(F.col('k').try_cast('int') > 5)",
    "orders.where('cast(k as int) > 5 or int(k) > 5 or k::int > 5 or date(k) > current_date()')",
    "orders.where(F.to_timestamp('k') > F.col('at'))",
    "orders.where(F.to_date('k') > '2026-01-31')",
    'orders.where(\'n > "5" and at > "2026-01-31"\')',
    "orders.where(F.col('n').isin('1', '2'))",
    "orders.select(F.concat('k', 'n'), F.substring('n', 1, 1))",
    "orders.key_by('n').with_features(x=hr.running(F.sum(F.col('k').cast('int'))))",
    "orders.key_by('n').scan(state={'s': 0}, update={'s': F.col('k').cast('int')}, output=['n'])",
    "orders.join(table.where(F.col('k') > 5), 'k')",
    "orders.window(hr.tumbling('1.5 minutes'), on='at').agg(F.count('*'))",
    "orders.event_time('at', '0 seconds')",
    "hr.Job('x', orders.to.memory(), trigger='once').run()",
    "hr.Job('x', orders.to.memory()).run(trigger='once')",
    "hr.Job('x', orders.to.memory()).start(trigger='10 seconds').stop()",
    "import copy\nassert copy.copy(orders).columns == orders.columns",
    "assert not hasattr(orders, 'groupBy') and not hasattr(hr, '_nothing')",
]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("program", ALLOWED)
def test_what_is_said_outright_is_not_refused(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + program)
    runpy.run_path(str(tmp_path / "program.py"))


def test_a_topic_that_is_not_there_is_told_at_the_line_that_reads_it(kafka: str, tmp_path: Path) -> None:
    program = Mistake(f"x = hr.read.kafka('nope', servers='{kafka}')  # here\n{batch('x')}", "'nope' does not exist", "create it")
    where = program.written(tmp_path / "program.py")
    with pytest.raises(JobError) as caught:
        runpy.run_path(str(tmp_path / "program.py"))
    assert caught.value.where == where
    assert program.what in caught.value.what
    assert program.fix in caught.value.fix


def test_in_a_session_that_was_made_elsewhere_a_wrong_column_prints_nothing_but_our_error(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.NOTSET)  # as PySpark has them
    with pytest.raises(DefinitionError):
        hr.read.memory("n int").where("m > 1")
    assert capfd.readouterr() == ("", "")


def test_errors_are_reached_through_the_package() -> None:
    assert issubclass(hr.errors.JobError, hr.HeadraceError)
