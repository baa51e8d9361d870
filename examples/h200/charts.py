"""Small charts as SVG, coloured by the page's style sheet so that they work in the dark."""

from __future__ import annotations

import math
from html import escape
from typing import List, Sequence, Tuple

WIDTH, HEIGHT = 340, 170
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 22, 24
#: More points than this cannot be seen in so small a chart.
POINTS_MAX = 240


class Chart:
    """Two axes from 0 or a least value, and what is drawn on them."""

    def __init__(self, title: str, x_label: str, x: Tuple[float, float], y: Tuple[float, float]) -> None:
        self._title = title
        self._x, self._y = x, (y[0], y[1] if y[1] > y[0] else y[0] + 1)
        self._parts: List[str] = []
        self._axes(x_label)

    def line(self, values: Sequence[Tuple[float, float]], style: str) -> None:
        """A line in one of the style sheet's classes."""
        shown = thin([value for value in values if all(math.isfinite(number) for number in value)])
        if len(shown) == 1:
            x, y = self._place(*shown[0])
            self._parts.append(f'<circle class="dot {style}" cx="{x:.1f}" cy="{y:.1f}" r="1.5"/>')
        elif shown:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self._place(*value) for value in shown))
            self._parts.append(f'<polyline class="{style}" points="{path}"/>')

    def mark(self, x: float, style: str = "mark") -> None:
        """A vertical line."""
        at, _ = self._place(x, self._y[0])
        self._parts.append(f'<line class="{style}" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')

    def svg(self) -> str:
        """The whole chart."""
        head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self._title)}">'
        title = f'<text class="title" x="{LEFT}" y="13">{escape(self._title)}</text>'
        return head + title + "".join(self._parts) + "</svg>"

    def _place(self, x: float, y: float) -> Tuple[float, float]:
        across = (x - self._x[0]) / ((self._x[1] - self._x[0]) or 1)
        up = (y - self._y[0]) / (self._y[1] - self._y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def _axes(self, x_label: str) -> None:
        for part in (0.0, 0.5, 1.0):
            value = self._y[0] + part * (self._y[1] - self._y[0])
            _, y = self._place(self._x[0], value)
            self._parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            self._parts.append(f'<text class="y" x="{LEFT - 4}" y="{y + 3:.1f}">{number(value)}</text>')
        for value, anchor in ((self._x[0], "start"), (self._x[1], "end")):
            x, _ = self._place(value, self._y[0])
            self._parts.append(
                f'<text class="x" style="text-anchor:{anchor}" x="{x:.1f}" y="{HEIGHT - 10}">{number(value)}</text>'
            )
        middle = (LEFT + WIDTH - RIGHT) / 2
        self._parts.append(
            f'<text class="x" style="text-anchor:middle" x="{middle:.1f}" y="{HEIGHT - 10}">{escape(x_label)}</text>'
        )


def thin(values: Sequence[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """As many as can be seen, the first and the last among them."""
    if len(values) <= POINTS_MAX:
        return list(values)
    step = (len(values) - 1) / (POINTS_MAX - 1)
    return [values[round(index * step)] for index in range(POINTS_MAX)]


def number(value: float) -> str:
    """Short, with three digits that count; thousands with a k."""
    if not math.isfinite(value):
        return "·"
    return f"{value / 1000:.3g}k" if abs(value) >= 10_000 else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
