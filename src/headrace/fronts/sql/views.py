"""What Spark can do itself: a text in its own SQL over streams and tables as views, as one step of a recipe.

The step is judged by Spark's plan, as any function of the user's is. Where Spark refuses it, the error points at the word of the query.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import count

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.definitions import refusals
from headrace.errors import DefinitionError, QueryError
from headrace.fronts.sql.reading.tokens import Query, Token
from headrace.fronts.stream import Stream
from headrace.planning import recipe
from headrace.spark.session import session

_NUMBERS = count(1)
Open = Callable[[], DataFrame]


class View(Token):
    """The place of a relation in a text that Spark gets: it is replaced by the name of a view."""

    of: Stream | Open

    @staticmethod
    def at(place: Token, of: Stream | Open) -> View:
        view = View("view", "view", place.start, place.end)
        object.__setattr__(view, "of", of)
        return view


def step(tokens: Sequence[Token], query: Query, *, operator: str = "sql") -> Stream:
    """A stream of what Spark makes of this text, over the streams in it."""
    places = [token for token in tokens if isinstance(token, View)]
    streams = list(dict.fromkeys(place.of for place in places if isinstance(place.of, Stream)))

    def apply(*frames: DataFrame) -> DataFrame:
        return run(tokens, query, dict(zip(streams, frames, strict=True)))

    try:
        return Stream(recipe.grow(operator, apply, *(stream.step for stream in streams)))
    except QueryError:
        raise
    except DefinitionError as error:  # of the plan, which is looked at as a whole
        raise _found(error, query, tokens) from None


def table(tokens: Sequence[Token], query: Query) -> DataFrame:
    """The same over tables only."""
    return run(tokens, query, {})


def run(tokens: Sequence[Token], query: Query, frames: dict[Stream, DataFrame]) -> DataFrame:
    made: dict[int, str] = {}
    spark = next((frame.sparkSession for frame in frames.values()), None) or session()
    opened: list[DataFrame] = list(frames.values())
    text, starts, sources = "", [], []
    try:
        for token in tokens:
            written = token.text
            if isinstance(token, View):
                if id(token.of) not in made:
                    name = made[id(token.of)] = f"_headrace_view_{next(_NUMBERS)}"
                    frame = frames[token.of] if isinstance(token.of, Stream) else F.broadcast(token.of())
                    opened.append(frame)
                    frame.createOrReplaceTempView(name)
                written = made[id(token.of)]
            text += " " * bool(text)
            starts.append(len(text))
            sources.append(token)
            text += written
        return spark.sql(text)
    except PySparkException as failure:
        raise _pointed(failure, query, starts, sources, opened) from None
    finally:
        for name in made.values():
            spark.catalog.dropTempView(name)


def _pointed(failure: PySparkException, query: Query, starts: list[int], sources: list[Token], frames: Sequence[DataFrame]) -> QueryError:
    what, fix = refusals.words(failure, refusals.types(frames))
    what = re.sub(r"\. \(line \d+, pos \d+\)$", "", what.rstrip("."))
    condition = failure.getCondition() or ""
    place = _place(failure, starts, sources)
    if condition == "PARSE_SYNTAX_ERROR" and (misspelt := _misspelt(sources, place[0])) is not None:
        return query.error(misspelt[0], f"{misspelt[0].text} is no word of SQL", f"did you mean {misspelt[1]}?")
    fix = _FIXES.get(condition) or _FIXES.get(condition.partition(".")[0], fix)
    where = next((token for token in sources if token.word == "WHERE"), None) if condition.endswith("FILTER_NOT_BOOLEAN") else None
    return query.error(where or place, what, fix)


_CLAUSES = ("FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "BETWEEN", "DISTINCT", "INTERVAL")


def _misspelt(sources: Sequence[Token], place: Token) -> tuple[Token, str] | None:
    """A word that is nearly one that begins a clause: where the text could not be read, or right before, where it was taken for a name."""
    at = next(i for i, token in enumerate(sources) if token is place)
    for token in (place, *sources[max(0, at - 1) : at]):
        near = get_close_matches(token.word, _CLAUSES, 1, cutoff=0.75) if token.kind == "word" and token.word not in _CLAUSES else []
        if near:
            return token, near[0]
    return None


def _found(error: DefinitionError, query: Query, tokens: Sequence[Token]) -> QueryError:
    """The same at the column that it names, with a fix in SQL."""
    what = error.what.removeprefix("sql: ")
    named = re.search(r"reads the text (\w+) as (\w+)", what)
    place = next((token for token in tokens if named and token.name.lower() == named[1].lower()), tokens[0])
    fix = f"cast it: try_cast({named[1]} AS {named[2]}), which gives null where it is not one, or cast(…)" if named else error.fix
    return query.error(place, what, fix)


_FIXES = {
    "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN": "write a condition that is true or false, such as amount > 3",
    "TABLE_OR_VIEW_NOT_FOUND": "give it to the query by its name: hr.sql(…, clicks=stream); or a table: hr.table(…)",
    "PARSE_SYNTAX_ERROR": "mend the query here; expressions are Spark's SQL",
    "MISSING_AGGREGATION": "say which of the group's values is wanted: max(…), last(…); or name it in GROUP BY",
    "MISSING_GROUP_BY": "add GROUP BY, or OVER (PARTITION BY … ORDER BY …) for the value so far beside each record",
}


def _place(failure: PySparkException, starts: list[int], sources: list[Token]) -> list[Token]:
    """The words of the query that Spark means."""
    begin = end = None
    contexts = failure.getQueryContext() if hasattr(failure, "getQueryContext") else []
    for context in contexts or []:
        try:
            begin, end = context.startIndex(), context.stopIndex()
            break
        except Exception:
            continue
    if begin is None or begin < 0:
        position = re.search(r"\(line (\d+), pos (\d+)\)", str(failure))
        begin = end = int(position[2]) if position else None
    if begin is None or end is None:
        return sources[:1]
    first, last = (max(0, bisect_right(starts, place) - 1) for place in (begin, end))
    return sources[first : last + 1]
