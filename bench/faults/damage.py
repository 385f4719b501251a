"""Files of a checkpoint, or of the log beside a directory of files, that are cut, emptied, changed or gone. The job that is started then
gives the right answer, or it names the file and does nothing."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench.faults.injections import Injection
from bench.faults.oracle import Difference
from bench.faults.records import Sending
from bench.faults.world import World, seconds_since

PAYMENTS, LATE_AFTER = 2500, 1200
BATCHES = 6  # before the job is killed


def cut(file: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content))] if content else b"")


def emptied(file: Path, chance: random.Random) -> None:  # noqa: ARG001
    file.write_bytes(b"")


def flipped(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes() or b"\0")
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def gone(file: Path, chance: random.Random) -> None:  # noqa: ARG001
    file.unlink()


NAMELESS = "refused by an error that does not name the file"
WAYLESS = "refused by an error that does not say what to put back"
WAYS: tuple[Callable[[Path, random.Random], None], ...] = (cut, emptied, flipped, gone)


class Damages:
    """A job that was killed on its way, and put back to that moment for each damage."""

    def __init__(self, world: World) -> None:
        self._world, self._copy = world, world.home / "copy"
        world.sending.end()
        # all that will ever be sent, so that each run has the same answer
        sending = Sending(world.servers, "payments", world.payments, world.acknowledged, 5000)
        sending.start()
        for number, change in ((LATE_AFTER, True), (PAYMENTS, False)):
            while sending.acknowledged < number:
                time.sleep(0.01)
            world.payments.late = change
        sending.end()
        world.sending = sending
        driver = world.start()
        driver.until(lambda: world.done >= BATCHES, "some batches")
        driver.kill()
        shutil.copytree(world.place, self._copy)

    def files(self) -> list[Path]:
        """All that could be damaged, without what a run makes anew."""
        place = self._world.place
        checkpoint = [file for file in (place / "checkpoint").rglob("*") if file.is_file() and file.name != "job.lock"]
        return sorted([*checkpoint, *(place / "decisions" / "_spark_metadata").iterdir()])

    def do(self, chance: random.Random) -> tuple[Injection, dict[str, Difference]]:
        """One damage: what became of it, and what is wrong with the rows."""
        file = self._choose(chance)
        way = chance.choice(WAYS)
        way(file, chance)
        where = str(file.relative_to(self._world.place))
        began = time.monotonic()
        driver = self._world.start("--trigger", "finish")
        try:
            status = driver.wait(180)
        finally:
            driver.kill()
        what = Injection("damages", "damaged checkpoint", f"{where} {way.__name__}", seconds_since(began))
        if status == 0:
            differences, _ = self._world.compare()
            wrong = {f"{where} {way.__name__}, {name}": difference for name, difference in differences.items() if not difference.none}
            outcome = "the right answer" if not wrong else "WRONG"
        else:
            wrong, log = {}, driver.log.read_text(errors="replace")
            named = f"{file.parent.name}/{file.name.removeprefix('.').removesuffix('.crc')}" in log  # sums go with what they are of
            lacking = NAMELESS if not named else WAYLESS if "put it back" not in log else None
            outcome = f"{lacking}: {driver.words()}" if lacking else "refused"
        shutil.rmtree(self._world.place)
        shutil.copytree(self._copy, self._world.place)
        return replace(what, where=f"{what.where}: {outcome}"), wrong

    def _choose(self, chance: random.Random) -> Path:
        """Kinds of files are as likely as each other: there are many more of states than of others."""
        kinds: dict[str, list[Path]] = {}
        for file in self.files():
            kinds.setdefault(file.parent.name if not file.parent.name.isdigit() else f"state{file.suffix}", []).append(file)
        return chance.choice(kinds[chance.choice(sorted(kinds))])
