"""An extension of griffe: doc comments as they are written here, as Markdown.

Two things read well in a source file and badly on a page. A list in two columns becomes a table, and an example that begins with `>>>`
a block of code:

    start    where a job begins                        | `start` | where a job begins |
    servers  the cluster's address, or the one    ->   | `servers` | the cluster's address, or the one that headrace brings |
             that headrace brings
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

ITEM = re.compile(r"(?P<term>\S+(?: \S+)*) {2,}(?P<text>\S.*)")


class DocComments(griffe.Extension):
    """Rewrites the doc comment of every object that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """A doc comment with its lists in two columns and its examples as Markdown has them."""
    paragraphs = re.split(r"\n{2,}", text)
    return "\n\n".join(_example(paragraph) or _table(paragraph) or paragraph for paragraph in paragraphs)


def _example(paragraph: str) -> str | None:
    lines = textwrap.dedent(paragraph)
    return f"```pycon\n{lines}\n```" if lines.startswith(">>>") else None


def _table(paragraph: str) -> str | None:
    rows: list[list[str]] = []
    for line in paragraph.splitlines():
        item = ITEM.fullmatch(line.strip())
        if not line.startswith(" "):
            if item is None:
                return None
            rows.append([_term(item["term"]), item["text"]])
        elif not rows:
            return None
        else:  # the text goes on, perhaps with a list of its own
            rows[-1][1] += f"<br>{item['term']} {item['text']}" if item else f" {line.strip()}"
    return "\n".join(["| | |", "|---|---|", *(f"| {term} | {cell} |" for term, cell in rows)]) if rows else None


def _term(text: str) -> str:
    names = text.split(", ")
    return ", ".join(f"`{name}`" if re.fullmatch(r"[\w.()-]+", name) else name for name in names)
