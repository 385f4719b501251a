"""`python -m headrace_fraud.world`: sends until it is told to stop, and prints a line of JSON a second; the last has `"done":true`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path

from headrace.errors import HeadraceError
from headrace_fraud.world import send


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m headrace_fraud.world", description=__doc__)
    parser.add_argument("bootstrap", help="the broker, host:port")
    parser.add_argument("--rate", type=float, default=100.0, help="transactions a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="stop after so many")
    parser.add_argument("--truth", type=Path, help="write the frauds there, as JSON lines")
    parser.add_argument("--labels", action="store_true", help="tell the topic `labels` of each transaction whether it is fraud")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input is closed")
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if options.with_parent:
        threading.Thread(target=_until_the_parent_ends, args=(stop,), daemon=True).start()
    try:
        send.run(
            options.bootstrap, rate=options.rate, seed=options.seed, seconds=options.seconds, truth_path=options.truth, stop=stop,
            labels=options.labels,
            report=lambda counts: print(json.dumps(counts.as_dict(), separators=(",", ":")), flush=True),
        )  # fmt: skip
    except HeadraceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _until_the_parent_ends(stop: threading.Event) -> None:
    """The parent holds the other end of a pipe, which closes when it is gone."""
    while os.read(0, 1024):  # not by sys.stdin, whose lock an interpreter that ends would wait for
        pass
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
