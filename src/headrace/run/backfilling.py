"""History that is elsewhere: a job first reads it instead of its own source, and then goes on from there with the state that it has.

The history is worked off under a checkpoint of its own, `<checkpoint>/history`. When all of it is done, that becomes the job's: state,
watermark and numbers of batches stay, and what is said of positions is taken out, so that the job begins at its source's own `start`.
Each step can be done again, so a backfill that was interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from headrace.errors import DefinitionError, JobError, ModeError, user_line
from headrace.planning import groups, recipe
from headrace.planning.recipe import Output, Step
from headrace.planning.table import Mode
from headrace.run.checkpoints import Checkpoint, Place

_DONE = "done"
_NO_POSITION = "-"  # as Spark writes it of a source that has none yet


class HasStep(Protocol):
    """A stream, of which only the recipe counts here."""

    step: Step


def check_queries(outputs: Sequence[Output], live: Mode) -> None:
    """ModeError if the outputs would share queries otherwise when the job is live: a checkpoint could not be handed over."""
    now = {group.name: group.label for group in groups.shared(outputs)}
    then = now if live != "real-time" else {group.name: group.label for group in groups.by_state(outputs)}
    if now != then:
        raise ModeError(
            f"backfill: the outputs have the queries {', '.join(now.values())} as micro-batch, and {', '.join(then.values())} in real time",
            fix="make a job of each, or let the outputs come from one stateful operator", where=user_line(),
        )  # fmt: skip


def from_history(outputs: Sequence[Output], history: Mapping[Any, Any]) -> list[Output]:
    """The same outputs, of other streams in place of some: those must be all that they read. DefinitionError if that cannot be."""
    others: dict[Step, Step] = {}
    pairs = list(history.items()) if isinstance(history, Mapping) else [(None, None)]
    for stream, past in pairs:
        if not hasattr(stream, "step") or not hasattr(past, "step"):
            raise _refused("history is no dict of streams", "give history={payments: hr.read.files(…)}")
        others[stream.step] = _fitted(stream.step, past.step)
    made: dict[Step, Step] = {}

    def past_of(step: Step) -> Step:
        if step in others:
            return others[step]
        if step not in made:
            parents = tuple(map(past_of, step.parents))
            made[step] = step if parents == step.parents else replace(step, parents=parents, beside={})
        return made[step]

    changed = [replace(output, step=past_of(output.step)) for output in outputs]
    for before, after in zip(outputs, changed, strict=True):
        if len(set(before.step.sources())) != 1 or len(set(after.step.sources())) != 1:
            raise _refused(
                f"{before.name} reads several sources: where each of them would go on is not known", "give it one of each", before
            )
        if before.step is after.step or set(before.step.sources()) & set(after.step.sources()):
            raise _refused(f"{before.name} does not read a stream whose history is given", "give history={payments: …} for it, too", before)
    return changed


def _fitted(stream: Step, past: Step) -> Step:
    """The history with the columns as the stream has them."""
    wanted, there = ({field.name: field.dataType for field in step.preview.schema} for step in (stream, past))
    if wanted != there:
        name = next(name for name in (*wanted, *there) if wanted.get(name) != there.get(name))
        kinds = [kind.simpleString() if kind is not None else "not there" for kind in (wanted.get(name), there.get(name))]
        raise _refused(f"the column {name!r} is {kinds[0]} in the stream and {kinds[1]} in its history", "give both the same columns")
    names = [f"`{name}`" for name in wanted]
    return recipe.grow("history", lambda df: df.select(*names), past)


def work_off(place: Place, names: Sequence[str], run: Callable[[str], None]) -> None:
    """Run the job over the history, if that is not done, under a checkpoint that is then the job's. `names` are those of its queries,
    `run(root)` runs it with its checkpoints there."""
    live = {name: place.of(name) for name in names}
    if all(checkpoint.begun for checkpoint in live.values()):
        return
    history = Place(place.job, f"{place.files.root}/history")
    done = f"{history.files.root}/{_DONE}"
    if place.files.read(done) is None:
        if begun := [name for name, checkpoint in live.items() if checkpoint.begun]:
            raise JobError(
                f"job {place.job!r} has read its own source already: {begun[0]} has a checkpoint without a history",
                fix="give the job another name, to begin with the history", where=user_line(),
            )  # fmt: skip
        run(history.files.root)
        place.files.write(done, "all of the history has been worked off\n")
    for name, checkpoint in live.items():
        _hand_over(history.of(name), checkpoint)


def _hand_over(history: Checkpoint, live: Checkpoint) -> None:
    if live.begun or not history.begun:  # it was handed over, or there was nothing
        return
    files = history.files
    for batch in files.names(f"{history.location}/offsets"):
        file = f"{history.location}/offsets/{batch}"
        if batch.isdigit():
            version, metadata, *positions = (files.read(file) or "").rstrip("\n").split("\n")
            if version != "v1":
                raise JobError(
                    f"{file} is of the version {version}, and v1 is known", fix="leave spark.sql.streaming.offsetLog… at its default"
                )
            files.write(file, "\n".join([version, metadata, *(_NO_POSITION for _ in positions)]))
    files.delete(f"{history.location}/sources")
    files.move(history.location, live.location)


def _refused(what: str, fix: str, output: Output | None = None) -> DefinitionError:
    return DefinitionError(f"backfill: {what}", fix=fix, where=(output.where if output else None) or user_line())
