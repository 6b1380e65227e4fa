"""SVG charts, drawn here: intervals on a common scale. `salesllm.report.lines` has those on axes.

Colours come from the CSS classes of `style.css` (`s-base`, `line-1`), so that charts follow the
theme; stages also differ by the shape of their mark, lines by their dashes. Widths are in percent
and heights in pixels: a chart fits a phone or a desk, and its text keeps its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from salesllm.report.figures import Estimate

_TOP, _FLOOR_LABEL, _LABEL, _LANE, _GAP, _AXIS = 8, 20, 22, 15, 14, 26  # of an interval plot


@dataclass(frozen=True)
class Mark:
    """One estimate in a row of an interval plot; `series` gives it its colour and shape."""

    series: str
    estimate: Estimate
    text: str


@dataclass(frozen=True)
class Row:
    """A row of an interval plot: its label, a text at the right end, marks below one another."""

    label: str
    marks: Sequence[Mark]
    text: str = ""


@dataclass(frozen=True)
class Drawing:
    """SVG elements without the `<svg>` around them: `height` pixels high, as wide as that is."""

    body: Markup
    height: int
    label: str

    def svg(self) -> Markup:
        """As wide as the page gives it."""
        return element(
            "svg", self.body, class_="intervals", role="img", aria_label=self.label,
            width="100%", height=self.height,
        )  # fmt: skip


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """An SVG element. Text and attribute values are escaped; `stroke_width` is `stroke-width`."""
    named = (
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _plain(value))
        for name, value in attributes.items()
        if value != ""
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(tag, Markup("").join(named), inner)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Some `most` round numbers, evenly spaced, from at most `low` to at least `high`."""
    span, size = high - low, max(abs(low), abs(high))
    if span <= 1e-9 * size or size < 1e-18:  # one value, but for rounding
        span = size if size >= 1e-18 else 1.0
    unit = 10 ** math.floor(math.log10(span / most))
    step = next(m * unit for m in (1, 2, 2.5, 5, 10) if span <= most * m * unit * 1.000001)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, max(last, first + 1) + 1)]


def glyph(series: str) -> Markup:
    """The mark of a series, for legends and table heads."""
    drawn = element("g", shape(series), transform="translate(7 7)")
    return element("svg", drawn, class_=f"glyph s-{series}", aria_hidden="true",
                   width=14, height=14, viewBox="0 0 14 14")  # fmt: skip


def interval_plot(
    rows: Sequence[Row],
    *,
    label: str,
    tick: Callable[[float], str],
    start: float = 0.0,
    top: float | None = None,
    floor: Mark | None = None,
) -> Drawing:
    """Marks with their intervals on one scale.

    Args:
        label: What the plot is, for those who cannot see it; the figures are added.
        tick: Puts a number of the scale into words.
        start: Where the scale begins.
        start: Where the scale begins.
        top: Where the scale ends; the largest figure, rounded up, if None.
        floor: Drawn behind all rows as a line, with its interval as a band.
    """
    marks = [mark for row in rows for mark in row.marks]
    largest = max((m.estimate.high or m.estimate.value for m in marks), default=0.0)
    scale = ticks(start, top or largest or 1.0)
    head = _FLOOR_LABEL if floor else _TOP
    bottom = head + sum(_LABEL + _LANE * len(row.marks) + _GAP for row in rows)

    def x(value: float) -> str:
        return f"{100 * min(max(share(value, scale), 0.0), 1.0):.2f}%"

    parts = [
        element("line", class_="grid", x1=x(t), x2=x(t), y1=head - 4, y2=bottom) for t in scale
    ]
    if floor:
        parts += _floor(floor, x, head, bottom)
    y = float(head)
    for row in rows:
        parts.append(element("text", row.label, class_="name", x=0, y=y + 14))
        parts.append(element("text", row.text, x="100%", y=y + 14, text_anchor="end"))
        for index, mark in enumerate(row.marks):
            parts.append(_interval(mark, x, y + _LABEL + _LANE * (index + 0.5)))
        y += _LABEL + _LANE * len(row.marks) + _GAP
    for index, t in enumerate(scale):
        anchor = "start" if index == 0 else "end" if t == scale[-1] else "middle"
        parts.append(element("text", tick(t), class_="tick", x=x(t), y=bottom + 18,
                             text_anchor=anchor))  # fmt: skip
    spoken = "; ".join(f"{row.label}: {', '.join(m.text for m in row.marks)}" for row in rows)
    return Drawing(Markup("").join(parts), bottom + _AXIS, f"{label}. {spoken}.")


def _floor(mark: Mark, x: Callable[[float], str], start: float, bottom: float) -> list[Markup]:
    estimate, centre = mark.estimate, x(mark.estimate.value)
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    width = f"{float(x(high)[:-1]) - float(x(low)[:-1]):.2f}%"
    share = float(centre[:-1])
    anchor = "start" if share < 25 else "end" if share > 75 else "middle"
    return [
        element(
            "rect", class_="band", x=x(low), y=start - 4, width=width, height=bottom - start + 4
        ),
        element("line", class_="floor", x1=centre, x2=centre, y1=start - 4, y2=bottom),
        element("text", mark.text, class_="tick", x=centre, y=start - 9, text_anchor=anchor),
    ]


def _interval(mark: Mark, x: Callable[[float], str], y: float) -> Markup:
    estimate = mark.estimate
    parts = [element("title", mark.text)]
    if estimate.low is not None and estimate.high is not None:
        ends = x(estimate.low), x(estimate.high)
        parts.append(element("line", class_="whisker", x1=ends[0], x2=ends[1], y1=y, y2=y))
        parts += [
            element("line", class_="whisker", x1=end, x2=end, y1=y - 4, y2=y + 4) for end in ends
        ]
    parts.append(at(x(estimate.value), y, shape(mark.series)))
    return element("g", *parts, class_=f"s-{mark.series}")


def shortened(name: str, most: int) -> str:
    """A name that fits, its end replaced by an ellipsis where it must be."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def at(x: str, y: float, *children: Markup) -> Markup:
    """Shapes drawn in pixels around a place whose distance from the left is given in percent."""
    return element("svg", *children, x=x, y=y, style="overflow:visible")


def share(value: float, scale: Sequence[float]) -> float:
    """How far along a scale a value stands, 0-1; the scale may fall."""
    return (value - scale[0]) / (scale[-1] - scale[0])


def shape(series: str) -> Markup:
    """The mark of a series around the origin."""
    if series in ("base", "en"):
        return element("rect", class_="mark", x=-5, y=-5, width=10, height=10)
    if series in ("sft", "zh"):
        return element("circle", class_="mark", r=5.5)
    if series in ("dpo", "overall"):
        return element("path", class_="mark", d="M0-6.8 6.8 0 0 6.8-6.8 0Z")
    return element("path", class_="mark", d="M0-6.2 6.4 5-6.4 5Z")


def _plain(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
