"""Time-lines as SVG: records as dots along a line, and below them what an operator made of them, as bars.

    svg([Lane("ann", [Dot(0, "5"), Dot(3, "9")], [Bar(0, 3, "5 9", dots=(0, 3))])], ticks={0: "10:00", 3: "10:03"})

It draws in the colour of the text around it, so it reads on a light and on a dark page. The same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, LINE, BAR, GAP = 760, 90, 30, 46, 24, 14
COLOURS = {"result": "#2a9d8f", "late": "#e76f51", "muted": "#8d99ae"}


@dataclass(frozen=True)
class Dot:
    """A record at a time, with a label above it. A `kind` other than plain is one of the colours."""

    at: float
    label: str
    kind: str = ""


@dataclass(frozen=True)
class Bar:
    """Something that lasts from one time to another, with a label behind it; `dots` are the records that are in it."""

    start: float
    end: float
    label: str
    kind: str = "result"
    dots: tuple[float, ...] = ()


@dataclass(frozen=True)
class Lane:
    """The records of one key or stream, and what became of them."""

    name: str
    dots: Sequence[Dot]
    bars: Sequence[Bar] = ()

    @property
    def height(self) -> int:
        return LINE + BAR * len(self.bars) + GAP


def svg(lanes: Sequence[Lane], *, ticks: Mapping[float, str], title: str = "") -> str:
    """The lanes one below the other, over one axis that has these ticks."""
    times = [
        *ticks,
        *(dot.at for lane in lanes for dot in lane.dots),
        *(end for lane in lanes for bar in lane.bars for end in (bar.start, bar.end)),
    ]
    scale = _Scale(min(times), max(times))
    height = sum(lane.height for lane in lanes) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" aria-label="{escape(title)}" '
        'font-family="sans-serif" font-size="12" fill="#777" stroke="none">',
        f"<title>{escape(title)}</title>",
    ]
    for at, label in ticks.items():
        x = scale(at)
        parts.append(f'<line x1="{x}" y1="12" x2="{x}" y2="{height - 22}" stroke="#999" stroke-opacity="0.3"/>')
        parts.append(_text(x, height - 8, label, anchor="middle"))
    top = 0
    for lane in lanes:
        parts += _lane(lane, top, scale)
        top += lane.height
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True)
class _Scale:
    first: float
    last: float

    def __call__(self, at: float) -> float:
        return round(LEFT + (at - self.first) / ((self.last - self.first) or 1) * (WIDTH - LEFT - RIGHT), 1)


def _lane(lane: Lane, top: int, scale: _Scale) -> list[str]:
    y = top + 32
    parts = [
        _text(8, y + 4, lane.name, weight="bold"),
        f'<line x1="{LEFT - 14}" y1="{y}" x2="{WIDTH - RIGHT + 14}" y2="{y}" stroke="#999"/>',
    ]
    for dot in lane.dots:
        colour = COLOURS.get(dot.kind, "#457b9d")
        parts.append(f'<circle cx="{scale(dot.at)}" cy="{y}" r="5" fill="{colour}"/>')
        parts.append(_text(scale(dot.at), y - 10, dot.label, anchor="middle"))
    for number, bar in enumerate(lane.bars, start=1):
        parts += _bar(bar, y + number * BAR, scale)
    return parts


def _bar(bar: Bar, y: int, scale: _Scale) -> list[str]:
    start, end, colour = scale(bar.start), scale(bar.end), COLOURS[bar.kind]
    wide = max(round(end - start, 1), 3)
    parts = [f'<rect x="{start}" y="{y - 4}" width="{wide}" height="8" rx="4" fill="{colour}" fill-opacity="0.45"/>']
    parts += [f'<circle cx="{scale(at)}" cy="{y}" r="4" fill="{colour}"/>' for at in bar.dots]
    room = WIDTH - RIGHT - end > 7 * len(bar.label)
    return [*parts, _text(end + 10, y + 4, bar.label) if room else _text(start - 10, y + 4, bar.label, anchor="end")]


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
