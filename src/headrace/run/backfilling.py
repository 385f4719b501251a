"""History that is elsewhere: a job first reads it instead of its own source, and then goes on from there with the state that it has.

Both parts have one checkpoint. When the history is worked off, what the checkpoint says of positions is taken out; state, watermark and the
numbers of batches stay, and the job begins at its source's own `start`. `<checkpoint>/history` says how far that is, and each step can be
done again, so a backfill that was interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.errors import DefinitionError, JobError, ModeError, user_line
from headrace.planning import groups, recipe
from headrace.planning.recipe import Output, Step
from headrace.planning.table import Mode
from headrace.run.checkpoints.places import Checkpoint, Place

_BEGUN, _DONE, _HANDED_OVER = "the history is being worked off", "the history is worked off", "the job goes on from its history"
_NO_POSITION = "-"  # as Spark writes it of a source that has none yet


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


def work_off(place: Place, names: Sequence[str], run: Callable[[], None]) -> None:
    """Run the job over the history, if that is not done, and let its checkpoints be those of the job itself. `names` are those of its
    queries."""
    files, file = place.files, f"{place.files.root}/history"
    checkpoints = [place.of(name) for name in names]
    reached = files.read(file)
    if reached is None and any(checkpoint.begun for checkpoint in checkpoints):
        raise JobError(
            f"job {place.job!r} has read its own source already, and not its history before it",
            fix="give the job another name, to begin with the history", where=user_line(),
        )  # fmt: skip
    if reached in (None, _BEGUN):
        files.write(file, _BEGUN)
        run()
        files.write(file, _DONE)
    if reached != _HANDED_OVER:
        for checkpoint in checkpoints:
            _hand_over(checkpoint)
        files.write(file, _HANDED_OVER)


def _hand_over(checkpoint: Checkpoint) -> None:
    files, offsets = checkpoint.files, f"{checkpoint.location}/offsets"
    for batch in filter(str.isdigit, files.names(offsets)):
        version, metadata, *positions = (files.read(f"{offsets}/{batch}") or "").rstrip("\n").split("\n")
        if version != "v1":
            raise JobError(f"{offsets}/{batch} is of the version {version}, not v1", fix="leave Spark's version of this log at its default")
        files.write(f"{offsets}/{batch}", "\n".join([version, metadata, *(_NO_POSITION for _ in positions)]))
    files.delete(f"{checkpoint.location}/sources")
    checkpoint.disown()


def _refused(what: str, fix: str, output: Output | None = None) -> DefinitionError:
    return DefinitionError(f"backfill: {what}", fix=fix, where=(output.where if output else None) or user_line())
