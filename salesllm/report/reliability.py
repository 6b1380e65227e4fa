"""The reliability diagram of the intent scorers: what they say against what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from salesllm.report.charts import element
from salesllm.stats import wilson

_SIDE, _GAP, _LEFT, _TOP, _FOOT = 300, 70, 64, 92, 62
_COLOURS = {"before": "#b8b8b8", "after": "#12436d"}
_LANGUAGES = {"zh": "Chinese", "en": "English"}


def reliability_svg(calibration: Mapping[str, Mapping[str, Any]]) -> str:
    """A panel a language: every bin before and after its temperature, with Wilson's intervals.

    Args:
        calibration: Language to what `salesllm.training.validation.calibrated` says of it.

    Returns:
        A whole SVG document.
    """
    width = _LEFT + len(calibration) * (_SIDE + _GAP)
    height = _TOP + _SIDE + _FOOT
    title = "Reliability of the probability of a purchase"
    parts = [
        element("title", title),
        element("rect", width=width, height=height, fill="#fff"),
        element("text", title, x=_LEFT, y=28, font_size=17, font_weight=600, fill="#111"),
    ]
    for number, (language, found) in enumerate(calibration.items()):
        place = f"translate({_LEFT + number * (_SIDE + _GAP)} {_TOP})"
        parts.append(element("g", *_panel(language, found), transform=place))
    return (
        element("svg", *parts, xmlns="http://www.w3.org/2000/svg", role="img", width=width,
                height=height, viewBox=f"0 0 {width} {height}", font_size=12, fill="#333",
                font_family="system-ui, 'Noto Sans SC', sans-serif")
        + "\n"
    )  # fmt: skip


def _panel(language: str, found: Mapping[str, Any]) -> list[Markup]:
    names = {"before": "as it is", "after": f"temperature {found['temperature']:.2f}"}
    head = f"{_LANGUAGES[language]}, {found['measured_on']} dialogues"
    parts = [element("text", head, y=-34, font_weight=600, fill="#111")]
    for place, (when, colour) in enumerate(_COLOURS.items()):
        text = f"{names[when]}: ECE {found[when]['ece']:.3f}"
        x = place * 130
        parts.append(element("circle", cx=x + 5, cy=-16, r=4.5, fill=colour))
        parts.append(element("text", text, x=x + 14, y=-12))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        at = _SIDE * share
        parts += [
            element("line", x1=0, x2=_SIDE, y1=at, y2=at, stroke="#e3e3e3"),
            element("text", f"{1 - share:g}", x=-8, y=at + 4, text_anchor="end"),
            element("text", f"{share:g}", x=at, y=_SIDE + 18, text_anchor="middle"),
        ]
    middle = _SIDE / 2
    parts += [
        element("line", x1=0, x2=_SIDE, y1=_SIDE, y2=0, stroke="#888", stroke_dasharray="4 4"),
        element("text", "What the scorer says", x=middle, y=_SIDE + 40, text_anchor="middle"),
        element("text", "Share that bought", x=-44, y=middle, text_anchor="middle",
                transform=f"rotate(-90 -44 {middle})"),
    ]  # fmt: skip
    for when, colour in _COLOURS.items():
        for each in found[when]["reliability"]:
            parts.append(_point(each, colour))
    return parts


def _point(each: Mapping[str, Any], colour: str) -> Markup:
    interval = wilson(each["happened"] * each["n"], each["n"])
    x = _SIDE * each["said"]
    low, high, y = (_SIDE * (1 - v) for v in (interval.low, interval.high, each["happened"]))
    text = f"said {each['said']:.3f}, happened {each['happened']:.3f}, {each['n']} dialogues"
    return element(
        "g",
        element("title", text),
        element("line", x1=x, x2=x, y1=low, y2=high, stroke=colour, stroke_width=1.5),
        element("circle", cx=x, cy=y, r=4.5, fill=colour),
    )
