"""What to do about a file that is damaged, of a checkpoint or of the log beside a directory of files: what it is for says what can be done.

Those of a checkpoint are known by their place: `checkpoint/offsets/12`, `checkpoint/state/0/3/14_….changelog`. They are written once: any
copy of one is as good as the file was.

>>> named("File file:/data/decide/checkpoint/state/0/1/7_a.changelog does not exist")
'/data/decide/checkpoint/state/0/1/7_a.changelog'
>>> way_on("/data/decide/checkpoint/commits/7")
'put it back from a backup; or remove it and .7.crc beside it: batch 7 is carried out again, and an at-least-once output has its rows twice'
"""

from __future__ import annotations

import re

ANEW = (
    "start anew, under another name: the job makes its state again from what its sources still have, and puts out again what it put out;"
    " give it other outputs, or empty ones"
)

_BACK = "put it back from a backup"
_STATE = r"/checkpoint/(?:metadata|(?:offsets|commits)/\d+|(?:sources|state)/\d+/[^\s,;'\"\])]*[^\s,;:.'\"\])])"
_NAMED = re.compile(rf"(?:\w+:)?(?://[^/\s]*)?((?:/[^\s:'\"(\[]+)*{_STATE})(?=\W|$)")
_KINDS = {
    r"/metadata$": '{back}; or write {{"id": "00000000-0000-0000-0000-000000000000"}} into it and remove {sums}: nothing is lost',
    r"/commits/(\d+)$": (
        "{back}; or remove it and {sums}: batch {batch} is carried out again, and an at-least-once output has its rows twice"
    ),
    r"/state/.*\.crc$": "{back}; or remove it and {sums}: nothing is lost, but the file that it has the sum of is not compared with it",
    r"/_spark_metadata/(\d+)\.compact$": (
        "{back}; or write v1 into it and remove {sums}: readers then no longer see the rows of batch {batch} and of all before it"
    ),
    r"/_spark_metadata/(\d+)$": "{back}; or write v1 into it and remove {sums}: readers then no longer see the rows of batch {batch}",
}


def way_on(file: str) -> str:
    """What to put back, what to remove, and what is lost with it."""
    name = file.rpartition("/")[2]
    for place, words in _KINDS.items():
        if (kind := re.search(place, file)) is not None:
            return words.format(back=_BACK, sums=f".{name}.crc beside it", batch=kind[1] if kind.groups() else "")
    return f"{_BACK}; or {ANEW}"


def again(file: str) -> str:
    """The same for one that is gone, but for its sums, and is to be written next: with the sums there it cannot be."""
    return f"{_BACK}; or remove .{file.rpartition('/')[2]}.crc beside it: what the file was for is done again"


def named(text: str) -> str | None:
    """The file of a checkpoint that a message of Spark's names, if it names one."""
    place = _NAMED.search(text)
    return place and place[1]
