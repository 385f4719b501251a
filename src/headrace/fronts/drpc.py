"""Request in, answer out, as Storm's DRPC has it: a function that a stream computes, which any program may call.

    exclaim = drpc.Function("exclaim", "text string not null")
    answers = exclaim.answer(exclaim.requests.with_columns(result=F.concat("text", F.lit("!!!"))))
    with hr.Job("exclaim", answers).start("real-time"):
        exclaim.ask(text="aaa")                                 # {"text": "aaa", "result": "aaa!!!"}

Requests and answers are records of two Kafka topics, `exclaim-requests` and `exclaim-answers`, so whoever reaches the cluster can ask. Each
request has an `id`, which must stay with it; the first row that bears it is its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import functions as F

from headrace.definitions import arguments, schemas
from headrace.errors import DefinitionError, user_line
from headrace.fronts import read
from headrace.fronts.stream import Stream
from headrace.io.connectors import Option, texts
from headrace.io.kafka.administration import KafkaTopics
from headrace.io.kafka.calls import Caller, make_topics
from headrace.planning.recipe import Output
from headrace.spark.session import session

__all__ = ["Function", "ask"]


class Function:
    """A function by its name, with the fields of a request (`name type, …`). Both sides, who answers and who asks, make one.

    Delivery: a request is answered at least once, and who asks takes the first answer. What is computed must not mind being computed twice.
    """

    def __init__(self, name: str, request: str, *, servers: str | None = None, options: Mapping[str, Option] | None = None) -> None:
        self.name = arguments.text("drpc: a function's name", name)
        self._request, self._servers, self._options = request, servers, texts(options)
        self.requests_topic, self.answers_topic = f"{name}-requests", f"{name}-answers"

    @cached_property
    def requests(self) -> Stream:
        """The requests, from now on: `id` and the fields. Asking for them makes the two topics, if they are not there."""
        session()  # it is Spark that reads the schema's text
        fields = schemas.structure(f"drpc: {self.name}", self._request)
        if "id" in fields.names:
            raise DefinitionError(
                "drpc: 'id' is the request's own", fix="give the field another name; the id is there anyway", where=user_line()
            )
        make_topics(self._cluster, self.requests_topic, self.answers_topic)
        (there,) = self._cluster.describe([self.requests_topic], config=False)
        now = {self.requests_topic: {each.number: each.end for each in there.partitions}}
        return read.kafka(
            self.requests_topic, schema=f"id string not null, {self._request}", start=now, servers=self._servers,
            options={f"kafka.{key}": value for key, value in self._options.items()},
        )  # fmt: skip

    def answer(self, answers: Stream) -> Output:
        """The end of a stream whose rows are answers: `id`, and the columns of the answer."""
        self._require_id("answer", answers, "keep it beside the answer: select('id', …)")
        fields = F.struct(*(f"`{name}`" for name in answers.columns if name != "id"))
        return self._output(answers.select("id", F.to_json(F.struct(fields.alias("answer"))).alias("value")), "answers")

    def refuse(self, letters: Stream) -> Output:
        """The end of a stream of dead letters, those of a Python function with `errors="dead_letters"`: their reasons reach who asked."""
        if "record" not in letters.columns or "id" not in letters.schema["record"].dataType.names:  # type: ignore[attr-defined]
            raise DefinitionError(
                "refuse: these are no dead letters of requests",
                fix="give those of a Python function behind the requests: stream.map(…, errors='dead_letters').dead_letters",
                where=user_line(),
            )
        errors = letters.select("record.id", F.to_json(F.struct(F.col("reason").alias("error"))).alias("value"))
        return self._output(errors, "errors")

    def _output(self, rows: Stream, kind: str) -> Output:
        options = {f"kafka.{key}": value for key, value in self._options.items()}
        return rows.to.kafka(
            self.answers_topic, key="id", value="value", servers=self._servers, options=options, name=f"{self.name}-{kind}"
        )

    def ask(self, *, seconds: float = 10, **request: Any) -> dict[str, Any]:
        """The answer to one request; JobError with the reason if it was refused, or if none comes in time."""
        return self.ask_all([request], seconds=seconds)[0]

    def ask_all(self, requests: Sequence[Mapping[str, Any]], *, seconds: float = 10) -> list[dict[str, Any]]:
        """The answers to several requests that are asked at once, in their order."""
        return self._caller.ask(requests, seconds)

    @cached_property
    def _caller(self) -> Caller:
        return Caller(self._cluster, self.requests_topic, self.answers_topic)

    @cached_property
    def _cluster(self) -> KafkaTopics:
        return KafkaTopics(self._servers, self._options)

    def _require_id(self, what: str, stream: Stream, fix: str) -> None:
        if "id" not in stream.columns:
            raise DefinitionError(f"{what}: there is no column 'id', so nobody knows whose answer a row is", fix=fix, where=user_line())


def ask(name: str, *, seconds: float = 10, servers: str | None = None, **request: Any) -> dict[str, Any]:
    """The answer of a function, by its name alone: `drpc.ask("exclaim", text="aaa")`."""
    return Function(name, "", servers=servers).ask(seconds=seconds, **request)
