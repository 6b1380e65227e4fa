"""The paper's Figure 3: which decision factors customers of each age name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from salesllm.report.charts import element
from salesllm.scenario import DecisionFactor, Scenario
from salesllm.scenarios.scripts import FACTOR_NAME

# Ten hues that keep apart in print and for the colour-blind by their order of lightness too.
_COLOURS = (
    "#12436d", "#28a197", "#801650", "#f46a25", "#3d3d3d",
    "#a285d1", "#2073bc", "#7fb24a", "#d98cb3", "#b8b8b8",
)  # fmt: skip
_LEFT, _TOP, _PLOT, _BAR, _GAP, _LEGEND, _FOOT = 64, 84, 420, 92, 26, 220, 44


def factors_by_age(scenarios: Iterable[Scenario]) -> dict[str, Counter[DecisionFactor]]:
    """How often customers of each age group name each factor, the youngest first."""
    found: dict[str, Counter[DecisionFactor]] = {}
    for scenario in scenarios:
        counts = found.setdefault(scenario.persona.age_group, Counter())
        counts.update(scenario.attributes.decision_factors)
    return dict(sorted(found.items()))


def factors_svg(mentions: Mapping[str, Mapping[DecisionFactor, int]]) -> str:
    """Stacked bars of the mentions, each segment with its share of its age group.

    Returns:
        A whole SVG document.
    """
    tallest = max(sum(counts.values()) for counts in mentions.values())
    width = _LEFT + len(mentions) * (_BAR + _GAP) + _LEGEND
    height = _TOP + _PLOT + _FOOT
    parts = [
        element("title", "Decision factors by age group"),
        element("rect", width=width, height=height, fill="#fff"),
        element("text", "Decision factors by age group", x=_LEFT, y=28, font_size=18,
                font_weight=600, fill="#111"),
        element("text", "Mentions; in each segment, its share of the age group", x=_LEFT, y=48,
                font_size=13, fill="#555"),
        *_axis(tallest, width - _LEGEND),
    ]  # fmt: skip
    for place, (age, counts) in enumerate(mentions.items()):
        parts += _bar(_LEFT + place * (_BAR + _GAP) + _GAP / 2, age, counts, tallest)
    for place, factor in enumerate(reversed(DecisionFactor)):
        y = _TOP + 20 + 26 * place
        parts += [
            element("rect", x=width - _LEGEND + 16, y=y - 11, width=14, height=14, rx=2,
                    fill=_COLOURS[list(DecisionFactor).index(factor)]),
            element("text", FACTOR_NAME["en"][factor], x=width - _LEGEND + 38, y=y, font_size=13,
                    fill="#111"),
        ]  # fmt: skip
    return (
        element("svg", *parts, xmlns="http://www.w3.org/2000/svg", role="img", width=width,
                height=height, viewBox=f"0 0 {width} {height}",
                font_family="system-ui, 'Noto Sans SC', sans-serif")
        + "\n"
    )  # fmt: skip


def _bar(
    x: float, age: str, counts: Mapping[DecisionFactor, int], tallest: int
) -> Sequence[Markup]:
    total = sum(counts.values())
    y, parts = float(_TOP + _PLOT), []
    for colour, factor in zip(_COLOURS, DecisionFactor, strict=True):
        count = counts.get(factor, 0)
        high = _PLOT * count / tallest
        y -= high
        parts.append(element("rect", element("title", f"{FACTOR_NAME['en'][factor]}: {count:,}"),
                             x=x, y=y, width=_BAR, height=high, fill=colour, stroke="#fff",
                             stroke_width=0.6))  # fmt: skip
        if high >= 13:
            light = colour in ("#b8b8b8", "#7fb24a", "#d98cb3", "#f46a25", "#28a197", "#a285d1")
            parts.append(element("text", f"{count / total:.1%}", x=x + _BAR / 2, y=y + high / 2 + 4,
                                 font_size=11, text_anchor="middle",
                                 fill="#111" if light else "#fff"))  # fmt: skip
    middle = x + _BAR / 2
    return [
        *parts,
        element("text", f"{total:,}", x=middle, y=y - 6, font_size=12, text_anchor="middle",
                fill="#333"),
        element("text", age, x=middle, y=_TOP + _PLOT + 20, font_size=13, text_anchor="middle",
                fill="#111"),
    ]  # fmt: skip


def _axis(tallest: int, right: float) -> list[Markup]:
    bottom = _TOP + _PLOT
    return [
        element("line", x1=_LEFT, x2=right, y1=bottom, y2=bottom, stroke="#888"),
        element("text", "0", x=_LEFT - 8, y=bottom + 4, font_size=12, text_anchor="end",
                fill="#555"),
        element("text", f"{tallest:,}", x=_LEFT - 8, y=_TOP + 4, font_size=12, text_anchor="end",
                fill="#555"),
    ]  # fmt: skip
