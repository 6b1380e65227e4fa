"""SVG charts on two axes: curves of a training, ranks against a setting, points with intervals.

They fill the width there is, and the labels of the axes stand in the margins of the class `lines`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salesllm.report.charts import at, element, shape, share, shortened, ticks
from salesllm.report.data import Curve
from salesllm.report.figures import Estimate

_HEAD, _FOOT, _STEP, _NAME = 8, 42, 22, 20  # pixels; pixels a rank; characters of a name
_DASHES = ("", "7 4", "2 4", "9 3 2 3")


@dataclass(frozen=True)
class Axes:
    """Two axes, by what stands at them and the values of their ticks in order.

    Attributes:
        up: From the bottom to the top; it may fall.
        height: Of the plot in pixels, without the axes.
    """

    x: str
    y: str
    across: Sequence[float]
    up: Sequence[float]
    height: int = 150

    @property
    def bottom(self) -> int:
        return _HEAD + self.height

    def x_of(self, value: float) -> str:
        return f"{100 * share(value, self.across):.2f}%"

    def y_of(self, value: float) -> float:
        return self.bottom - self.height * share(value, self.up)

    def drawn(self) -> list[Markup]:
        parts = []
        for t in self.up:
            y = self.y_of(t)
            parts.append(element("line", class_="grid", x2="100%", y1=y, y2=y))
            parts.append(element("text", _tick(t), class_="tick", x=-7, y=y + 4, text_anchor="end"))
        for t in self.across:
            x, bottom = self.x_of(t), self.bottom
            parts.append(element("line", class_="axis", x1=x, x2=x, y1=bottom, y2=bottom + 4))
            parts.append(element("text", _tick(t), class_="tick", x=x, y=bottom + 18,
                                 text_anchor="middle"))  # fmt: skip
        middle, bottom = _HEAD + self.height // 2, self.bottom
        return [
            *parts,
            element("line", class_="axis", x2="100%", y1=bottom, y2=bottom),
            element("text", self.x, class_="tick", x="50%", y=bottom + 36, text_anchor="middle"),
            element("text", self.y, class_="tick", x=-42, y=middle, text_anchor="middle",
                    transform=f"rotate(-90 -42 {middle})"),
        ]  # fmt: skip

    def line(self, points: Sequence[tuple[float, float]], dashes: str = "") -> Markup:
        """A line through these points, stretched to the width there is; its stroke is not."""
        places = " ".join(
            f"{1000 * share(x, self.across):.1f},{self.y_of(y) - _HEAD:.1f}" for x, y in points
        )
        stroke = element("polyline", class_="line", stroke_dasharray=dashes, points=places)
        return element("svg", stroke, y=_HEAD, width="100%", height=self.height,
                       overflow="visible", viewBox=f"0 0 1000 {self.height}",
                       preserveAspectRatio="none")  # fmt: skip

    def svg(self, parts: Sequence[Markup], label: str, kind: str = "lines") -> Markup:
        return element("svg", *parts, class_=kind, role="img", width="100%",
                       height=self.bottom + _FOOT, aria_label=label)  # fmt: skip


def line_chart(curve: Curve) -> Markup:
    """The lines of a curve on common axes. `line_sample` draws what its legend needs."""
    lines = {
        name: sorted(p for p in points if math.isfinite(p[0]) and math.isfinite(p[1]))
        for name, points in curve.series.items()
    }
    every = [point for line in lines.values() for point in line]
    across = ticks(min(p[0] for p in every), max(p[0] for p in every)) if every else []
    up = ticks(min(p[1] for p in every), max(p[1] for p in every), 4) if every else []
    axes = Axes(curve.x, curve.y, across, up)
    parts = axes.drawn() if every else [_nothing(axes)]
    for index, (name, line) in enumerate(lines.items()):
        if line:
            x, y = line[-1]
            parts.append(
                element(
                    "g",
                    element("title", f"{name}: {y:.4g} at {x:,g}"),
                    axes.line(line, _dash(index)),
                    element("circle", class_="mark", cx=axes.x_of(x), cy=axes.y_of(y), r=3),
                    class_=_line_class(index),
                )
            )
    ends = "; ".join(f"{n}: from {p[0][1]:.4g} to {p[-1][1]:.4g}" for n, p in lines.items() if p)
    return axes.svg(parts, f"{curve.title}: {curve.y} by {curve.x}. {ends or 'No points'}.")


def line_sample(index: int) -> Markup:
    """A piece of the line of a curve's series number `index`."""
    line = element("line", class_="line", x2=24, y1=5, y2=5, stroke_dasharray=_dash(index))
    return element("svg", line, class_=f"glyph {_line_class(index)}", aria_hidden="true",
                   width=24, height=10)  # fmt: skip


def rank_chart(
    ranks: Mapping[str, Sequence[float]], settings: Sequence[float], *, x: str, chosen: float
) -> Markup:
    """How ranks move with a setting: a line a name, which stands at the line's end.

    Args:
        ranks: Name to its rank at each of `settings`; 1 is the best and stands at the top.
        chosen: The setting in use, marked by an upright line.
    """
    last = max(2, len(ranks))
    axes = Axes(x, "rank", ticks(settings[0], settings[-1]), range(last, 0, -1), _STEP * (last - 1))
    here = axes.x_of(chosen)
    parts = [
        *axes.drawn(),
        element("line", class_="floor", x1=here, x2=here, y1=_HEAD, y2=axes.bottom),
    ]
    ends = sorted(ranks, key=lambda name: ranks[name][-1])  # equals stand below one another
    for index, (name, line) in enumerate(ranks.items()):
        moves = f"{name}: from {line[0]:g} to {line[-1]:g}"
        y = axes.y_of(1 + ends.index(name))
        parts.append(
            element(
                "g",
                element("title", moves),
                axes.line(list(zip(settings, line, strict=True)), _dash(index // len(_DASHES))),
                at("100%", axes.y_of(line[-1]), element("circle", class_="mark", r=3)),
                at("100%", y, element("text", shortened(name, _NAME), class_="end", x=9, y=4)),
                class_=_line_class(index),
            )
        )
    spoken = "; ".join(f"{name}, {ranks[name][-1]:g}" for name in ends)
    return axes.svg(parts, f"Rank by {x}. Ranks at {settings[-1]:g}: {spoken}.", "lines ranks")


def point_chart(
    series: Mapping[str, Sequence[tuple[float, Estimate]]],
    axes: Axes,
    *,
    label: str,
    joined: bool = False,
    diagonal: bool = False,
) -> Markup:
    """Points (x, estimate) with upright intervals; `series` gives colour and shape.

    Args:
        label: What the chart is, for those who cannot see it; the figures are added.
        joined: Whether a line joins the points of a series.
        diagonal: Whether a line shows where both axes are equal.
    """
    parts = axes.drawn()
    if diagonal:
        low, high = axes.across[0], axes.across[-1]
        parts.append(element("line", class_="floor", x1="0%", x2="100%",
                             y1=axes.y_of(low), y2=axes.y_of(high)))  # fmt: skip
    spoken = []
    for index, (name, points) in enumerate(series.items()):
        aside = 7 * (index - (len(series) - 1) / 2)  # or else intervals hide each other
        drawn = [axes.line([(x, y.value) for x, y in points])] if joined else []
        for x, y in points:
            texts = f"{name}, {x:g}: {y.value:.2f}"
            if y.low is not None and y.high is not None:
                texts += f" ({y.low:.2f}\N{EN DASH}{y.high:.2f})"
            drawn.append(at(axes.x_of(x), 0, *_point(name, y, axes, aside, texts)))
            spoken.append(texts)
        parts.append(element("g", *drawn, class_=f"s-{name}"))
    if not spoken:
        parts.append(_nothing(axes))
    return axes.svg(parts, f"{label}: {axes.y} by {axes.x}. {'; '.join(spoken) or 'No points'}.")


def _point(name: str, value: Estimate, axes: Axes, aside: float, texts: str) -> Sequence[Markup]:
    title = element("title", texts)
    place = f"translate({aside:g} {axes.y_of(value.value):.2f}) scale(.7)"
    mark = element("g", shape(name), transform=place)
    if value.low is None or value.high is None:
        return [title, mark]
    low, high = axes.y_of(value.low), axes.y_of(value.high)
    return [title, element("line", class_="whisker", x1=aside, x2=aside, y1=low, y2=high), mark]


def _nothing(axes: Axes) -> Markup:
    return element("text", "no points", x="50%", y=_HEAD + axes.height / 2, text_anchor="middle")


def _tick(value: float) -> str:
    return f"{value:,g}".replace("-", "\N{MINUS SIGN}")


def _line_class(index: int) -> str:
    return f"line-{index % len(_DASHES)}"


def _dash(index: int) -> str:
    return _DASHES[index % len(_DASHES)]
