"""EXPLAIN: the steps of a stream, the modes that have them, and what is kept."""

from __future__ import annotations

from headrace.errors import ModeError
from headrace.fronts.stream import Stream
from headrace.planning import modes, output_modes, plans
from headrace.planning.table import MODES, TWO_STATES, Mode, No


def explain(stream: Stream) -> str:
    """A few lines of text.

    >>> import headrace as hr
    >>> words = hr.read.memory("word string")
    >>> print(explain(hr.sql("SELECT word, count(*) AS n FROM words GROUP BY word", words=words)))
    steps        read.memory → sql
    columns      word: string, n: bigint
    state        Aggregate by words.word string; for ever
    batch        yes
    micro-batch  yes
    real-time    no: read.memory: not in real-time mode, because only Kafka gives records one at a time
    """
    steps = " → ".join(step.operator for step in stream.step.ancestry())
    columns = ", ".join(f"{field.name}: {field.dataType.simpleString()}" for field in stream.schema)
    lines = [("steps", steps), ("columns", columns), *(("state", each) for each in _states(stream) or ["nothing is kept"])]
    return "\n".join(f"{name:<12} {words}" for name, words in [*lines, *((mode, _answer(stream, mode)) for mode in MODES)])


def _states(stream: Stream) -> list[str]:
    return [
        f"{each['operator']} by {', '.join(each['keys']) if each.get('keys') else 'nothing'}"
        + (f", {each['values']}" if isinstance(each.get("values"), str) else "; for ever" if each["operator"] == "Aggregate" else "")
        for each in plans.state(stream.step.preview)
    ]


def _answer(stream: Stream, mode: Mode) -> str:
    try:
        modes.check([stream.to.console()], mode)
        output_mode = "append" if mode == "batch" else output_modes.choose([stream.to.console()], None, real_time=mode == "real-time")
    except ModeError as error:
        return f"no: {error.what}"
    stateful = [step.operator for step in stream.step.ancestry() if step.stateful]
    if mode == "real-time" and len(stateful) > 1:
        assert isinstance(TWO_STATES.real_time, No)
        return f"no: {' and '.join(stateful)}: {TWO_STATES.real_time.reason}"
    if mode == "batch":
        return "yes"
    reason = plans.refusal(stream.step.preview, output_mode)
    return "yes" if reason is None else f"no: {reason}"
