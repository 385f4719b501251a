"""What differs between the plan that a checkpoint was written by and the one that is to go on from it, in the words of the program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.planning import plans
from headrace.planning.recipe import Step
from headrace.run.checkpoints.layouts import GROWING, Changes, Grown, grown

_AS_IT_WAS = "write it as it was"


@dataclass(frozen=True)
class Difference:
    """One, what to do about it, and the line of the program that it is about."""

    what: str
    fix: str = _AS_IT_WAS
    where: str | None = None


@dataclass(frozen=True)
class Operator:
    """An operator with state, as the program calls it."""

    name: str
    where: str | None = None


def operators(last: Step, states: Sequence[Mapping[str, Any]]) -> list[Operator]:
    """Whose states these are, from the last operator to the first, as `plans.state` has them."""
    stateful = list(_stateful(last))
    if len(stateful) == len(states):
        return stateful
    return [Operator(_KINDS.get(state["operator"], state["operator"])) for state in states]  # Spark made another plan of the steps


def _stateful(step: Step) -> Iterator[Operator]:
    if step.source is None:
        yield from (Operator(step.operator, step.where) for kind in step.own_kinds if kind in plans.STATEFUL)
    for parent in step.parents:
        yield from _stateful(parent)


_KINDS = {"Aggregate": "agg", "SessionWindow": "window", plans.SCAN: "a scan"}


def of_sources(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[Difference]:
    if len(before) != len(now):
        return [Difference(f"it reads {len(now)} sources, and read {len(before)}")]
    return [Difference(what) for pair in zip(before, now, strict=True) for what in _of_source(*pair)]


def _of_source(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if before.get("kind") != now["kind"]:
        yield f"it reads {now['kind']}, and read {before.get('kind')}"
        return
    for name in now:
        if name != "topics" and before.get(name) != now[name]:
            yield f"it reads the {now['kind']} source whose {name} is {now[name]}, and read that of {before.get(name)}"
    known, topics = before.get("topics", {}), now.get("topics", {})
    if "pattern" not in now and known.keys() != topics.keys():
        yield f"it reads the topic {', '.join(sorted(topics))}, and read {', '.join(sorted(known))}"
    for name in sorted(topics.keys() & known.keys()):
        if topics[name] != known[name]:
            yield f"the topic {name!r} is not the one that it read: it was deleted and made again, or is on another cluster"


def sources(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is noted of sources that go on: a topic that a pattern found once is known for good, though it may be gone."""
    pairs = zip(before, now, strict=True) if len(before) == len(now) else ((each, each) for each in now)
    return [{**new, "topics": {**old["topics"], **new["topics"]}} if "pattern" in new else dict(new) for old, new in pairs]


def of_steps(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    """What operators say themselves that they depend on."""
    if [step["operator"] for step in before] != [step["operator"] for step in now]:
        yield Difference(f"it has the steps {_named(now)}, and had {_named(before)}")
        return
    for old, new in zip(before, now, strict=True):
        for name in new:
            if old.get(name) != new[name]:
                yield Difference(f"{new['operator']}: {name} is {_shown(new[name])}, and was {_shown(old.get(name))}")


def of_states(
    before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]], named: Sequence[Operator], changes: Changes
) -> tuple[list[Difference], list[Grown | None]]:
    """What is in the way; and for each scan, in this order, where its fields were, None if they are the same."""
    if [state["operator"] for state in before] != [state["operator"] for state in now]:
        return [Difference(f"its operators with state are {_kinds(now)}, and were {_kinds(before)}")], []
    differences: list[Difference] = []
    growths: list[Grown | None] = []
    for number, (old, new) in enumerate(zip(before, now, strict=True)):
        operator = named[number] if named else Operator(new["operator"])  # not asked for where nothing differs
        here = [Difference(f"{operator.name} {what}", where=operator.where) for what in _of_state(old, new)]
        if new["operator"] == plans.SCAN:
            growth = _growth(old, new, operator, changes)
            here += [Difference(f"{operator.name}: {what}", fix, operator.where) for what, fix in growth.missing]
            growths.append(None if growth.same and len(old["fields"]) == len(new["fields"]) else growth)
        differences += here
    return differences, growths


def _growth(old: Mapping[str, Any], new: Mapping[str, Any], operator: Operator, changes: Changes) -> Grown:
    if old["fields"] == new["fields"] or operator.name in GROWING:
        return grown(operator.name, old["fields"], new["fields"], changes)
    return Grown([], [(_of_columns("it keeps other fields for each key", old["fields"], new["fields"]), _AS_IT_WAS)])


def _of_state(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if old.get("keys") != new.get("keys"):
        yield f"is keyed by {', '.join(new['keys'])}, and was by {', '.join(old['keys'])}"
    if old.get("values") != new.get("values"):
        yield f"computes {', '.join(new['values'])}, and computed {', '.join(old['values'])}"
    if new["operator"] != plans.SCAN:
        return
    if old["event_time"] != new["event_time"]:
        yield f"goes by {_time(new)}, and went by {_time(old)}"
    elif (old["waiting"] is None) != (new["waiting"] is None):
        waits, waited = ("waits", "did not (wait=False)") if old["waiting"] is None else ("does not wait (wait=False)", "did")
        yield f"{waits} for the records before a record, and {waited}"
    elif old["waiting"] != new["waiting"]:
        yield _of_columns("keeps records until it is their time, and they have other columns", old["waiting"], new["waiting"])
    for name, title in _PARTS.items():
        if old[name] != new[name]:
            yield f"has {title} now, and had none" if new[name] else f"has no {title.partition(' ')[2]} any more"
    for bag in dict.fromkeys([*dict(old["bags"]), *dict(new["bags"])]):
        if dict(old["bags"]).get(bag) != dict(new["bags"]).get(bag):
            yield f"keeps other rows in the bag {bag!r}: {dict(new['bags']).get(bag)}, and kept {dict(old['bags']).get(bag)}"
    if old["maps"] != new["maps"]:
        yield f"keeps the maps {new['maps']}, and kept {old['maps']}"


_PARTS = {"timer": "a timer=", "clock": "an alarm by the clock (clock=)", "idle": "an idle=", "leaving": "an expire= of a bag"}


def _time(state: Mapping[str, Any]) -> str:
    return "the order of arrival (no event_time=)" if state["event_time"] is None else f"event_time={state['event_time']!r}"


def _of_columns(what: str, old: Sequence[Sequence[str]], new: Sequence[Sequence[str]]) -> str:
    before, now = ({name: kind for name, kind in columns} for columns in (old, new))  # noqa: C416
    parts = [f"{name} is gone" for name in before if name not in now] + [f"{name} is new" for name in now if name not in before]
    parts += [f"{name} is {now[name]} and was {before[name]}" for name in now if name in before and now[name] != before[name]]
    return f"{what}: {', '.join(parts) or 'in another order'}"


def _kinds(states: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(_KINDS.get(state["operator"], state["operator"]) for state in states) or "none"


def _named(steps: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(step["operator"] for step in steps) or "none"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "…"
