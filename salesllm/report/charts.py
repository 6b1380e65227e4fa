"""SVG charts, drawn here: intervals on a common scale, and lines.

Colours come from the CSS classes of `style.css` (`s-base`, `line-1`), so that charts follow the
theme; stages also differ by the shape of their mark, lines by their dashes. Widths are in percent
and heights in pixels: a chart fits a phone or a desk, and its text keeps its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from salesllm.report.data import Curve
from salesllm.report.figures import Estimate

_TOP, _FLOOR_LABEL, _LABEL, _LANE, _GAP, _AXIS = 8, 20, 22, 15, 14, 26  # of an interval plot
_HEAD, _PLOT, _FOOT = 8, 150, 42  # of a line chart
_DASHES = ("", "7 4", "2 4", "9 3 2 3")


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
    shape = element("g", _shape(series), transform="translate(7 7)")
    return element("svg", shape, class_=f"glyph s-{series}", aria_hidden="true",
                   width=14, height=14, viewBox="0 0 14 14")  # fmt: skip


def interval_plot(
    rows: Sequence[Row],
    *,
    label: str,
    tick: Callable[[float], str],
    top: float | None = None,
    floor: Mark | None = None,
) -> Drawing:
    """Marks with their intervals on one scale from 0.

    Args:
        label: What the plot is, for those who cannot see it; the figures are added.
        tick: Puts a number of the scale into words.
        top: Where the scale ends; the largest figure, rounded up, if None.
        floor: Drawn behind all rows as a line, with its interval as a band.
    """
    marks = [mark for row in rows for mark in row.marks]
    largest = max((m.estimate.high or m.estimate.value for m in marks), default=0.0)
    scale = ticks(0, top or largest or 1.0)
    start = _FLOOR_LABEL if floor else _TOP
    bottom = start + sum(_LABEL + _LANE * len(row.marks) + _GAP for row in rows)

    def x(value: float) -> str:
        return f"{100 * min(max(value / scale[-1], 0.0), 1.0):.2f}%"

    parts = [
        element("line", class_="grid", x1=x(t), x2=x(t), y1=start - 4, y2=bottom) for t in scale
    ]
    if floor:
        parts += _floor(floor, x, start, bottom)
    y = float(start)
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
    # A nested svg puts pixel shapes at a place given in percent.
    parts.append(
        element("svg", _shape(mark.series), x=x(estimate.value), y=y, style="overflow:visible")
    )
    return element("g", *parts, class_=f"s-{mark.series}")


def _shape(series: str) -> Markup:
    if series == "base":
        return element("rect", class_="mark", x=-5, y=-5, width=10, height=10)
    if series == "sft":
        return element("circle", class_="mark", r=5.5)
    if series == "dpo":
        return element("path", class_="mark", d="M0-6.8 6.8 0 0 6.8-6.8 0Z")
    return element("path", class_="mark", d="M0-6.2 6.4 5-6.4 5Z")


def line_chart(curve: Curve) -> Markup:
    """The lines of a curve on common axes. `line_sample` draws what its legend needs."""
    lines = {
        name: sorted(p for p in points if math.isfinite(p[0]) and math.isfinite(p[1]))
        for name, points in curve.series.items()
    }
    every = [point for line in lines.values() for point in line]
    if every:
        x_scale = ticks(min(p[0] for p in every), max(p[0] for p in every))
        y_scale = ticks(min(p[1] for p in every), max(p[1] for p in every), 4)
        parts = _axes(curve, x_scale, y_scale)
        for index, (name, line) in enumerate(lines.items()):
            if line:
                parts.append(_line(name, index, line, x_scale, y_scale))
    else:
        parts = [element("text", "no points", x="50%", y=_PLOT / 2, text_anchor="middle")]
    ends = "; ".join(f"{n}: from {p[0][1]:.4g} to {p[-1][1]:.4g}" for n, p in lines.items() if p)
    return element(
        "svg", *parts, class_="lines", role="img", width="100%", height=_HEAD + _PLOT + _FOOT,
        aria_label=f"{curve.title}: {curve.y} by {curve.x}. {ends or 'No points'}.",
    )  # fmt: skip


def line_sample(index: int) -> Markup:
    """A piece of the line of a curve's series number `index`."""
    line = element("line", class_="line", x2=24, y1=5, y2=5, stroke_dasharray=_dash(index))
    return element("svg", line, class_=f"glyph {_line_class(index)}", aria_hidden="true",
                   width=24, height=10)  # fmt: skip


def _axes(curve: Curve, x_scale: Sequence[float], y_scale: Sequence[float]) -> list[Markup]:
    """Axes around a plot that fills the width: their labels stand in the margins of `.lines`."""
    parts, bottom = [], _HEAD + _PLOT
    for t in y_scale:
        y = _HEAD + _PLOT * (1 - _share(t, y_scale))
        parts.append(element("line", class_="grid", x2="100%", y1=y, y2=y))
        parts.append(element("text", _tick(t), class_="tick", x=-7, y=y + 4, text_anchor="end"))
    for t in x_scale:
        x = f"{100 * _share(t, x_scale):.2f}%"
        parts.append(element("line", class_="axis", x1=x, x2=x, y1=bottom, y2=bottom + 4))
        parts.append(element("text", _tick(t), class_="tick", x=x, y=bottom + 18,
                             text_anchor="middle"))  # fmt: skip
    middle = _HEAD + _PLOT / 2
    return [
        *parts,
        element("line", class_="axis", x2="100%", y1=bottom, y2=bottom),
        element("text", curve.x, class_="tick", x="50%", y=bottom + 36, text_anchor="middle"),
        element("text", curve.y, class_="tick", x=-42, y=middle, text_anchor="middle",
                transform=f"rotate(-90 -42 {_plain(middle)})"),
    ]  # fmt: skip


def _line(
    name: str,
    index: int,
    line: Sequence[tuple[float, float]],
    x_scale: Sequence[float],
    y_scale: Sequence[float],
) -> Markup:
    places = [(1000 * _share(x, x_scale), _PLOT * (1 - _share(y, y_scale))) for x, y in line]
    stroke = element("polyline", class_="line", stroke_dasharray=_dash(index),
                     points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places))  # fmt: skip
    return element(
        "g",
        element("title", f"{name}: {line[-1][1]:.4g} at {line[-1][0]:,g}"),
        # Stretched to the width there is; the stroke is not (`vector-effect` in the style sheet).
        element("svg", stroke, y=_HEAD, width="100%", height=_PLOT, overflow="visible",
                viewBox=f"0 0 1000 {_PLOT}", preserveAspectRatio="none"),
        element("circle", class_="mark", cx=f"{places[-1][0] / 10:.2f}%",
                cy=_HEAD + places[-1][1], r=3),
        class_=_line_class(index),
    )  # fmt: skip


def _share(value: float, scale: Sequence[float]) -> float:
    return (value - scale[0]) / (scale[-1] - scale[0])


def _tick(value: float) -> str:
    return f"{value:,g}".replace("-", "\N{MINUS SIGN}")


def _line_class(index: int) -> str:
    return f"line-{index % len(_DASHES)}"


def _dash(index: int) -> str:
    return _DASHES[index % len(_DASHES)]


def _plain(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
