"""`table.md`, `table.csv` and `scatter.svg` of automatic scores beside human ratings (Figure 6)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from salesllm.report.charts import element

_COEFFICIENTS = {"pearson": "Pearson r", "spearman": "Spearman ρ", "kendall": "Kendall τ"}
_SIDE, _LEFT, _TOP, _FOOT, _LEGEND = 400, 64, 72, 56, 280  # of the scatter plot, in pixels
_DIALOGUE, _SALESPERSON = "#2073bc", "#801650"


def agreement_table(summary: Mapping[str, Any]) -> str:
    """The tables of `table.md`; the paper's figures stand below ours."""
    rated = summary["rated"]
    lines = [
        "# Automatic scores and human ratings",
        "",
        f"{rated['ratings']} ratings of {rated['dialogues']} dialogues by {rated['raters']} "
        "raters; a dialogue's rating is their mean. 95 % intervals.",
        "",
        _line(("Score", "over", "n", *_COEFFICIENTS.values(), "unscored")),
        _line(["---"] * 7),
    ]
    for score, level, found, unscored in _results(summary):
        n = found["pearson"]["n"]
        figures = (_figure(found[kind]) for kind in _COEFFICIENTS)
        lines.append(_line((score, level, n, *figures, unscored)))
    paper = summary["paper"]
    lines += [
        _line(("*final, paper*", f"*of {paper['dialogues']} dialogues*", "–",
               f"{paper['pearson']:.2f}", f"{paper['spearman']:.1f}", "–", "–")),
        "",
        _line(("Agreement of the raters", "value", "dialogues")),
        _line(["---"] * 3),
    ]  # fmt: skip
    raters = summary["raters"]
    alpha = raters["krippendorff_alpha"]
    shown = "–" if alpha is None else f"{alpha:.2f}"
    lines += [
        _line(("Krippendorff's alpha (interval)", shown, raters["n"])),
        _line(("ICC(2,1), one rater", _figure(raters["icc_2_1"]), raters["icc_2_1"]["n"])),
        _line(("ICC(2,k), their mean", _figure(raters["icc_2_k"]), raters["icc_2_k"]["n"])),
        "",
        _line(("Salesperson", "people", "final", "dialogues")),
        _line(["---"] * 4),
    ]
    for row in summary["salespeople"]:
        people, final = f"{row['people']:.2f}", f"{row['final']:.2f}"
        lines.append(_line((row["salesperson"], people, final, row["n"])))
    lines += ["", *(f"- {note}" for note in summary["notes"])]
    return "\n".join(lines).rstrip() + "\n"


def agreement_csv(summary: Mapping[str, Any]) -> str:
    """The correlations, one a row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("score", "over", "coefficient", "value", "low", "high", "n", "unscored"))
    for score, level, found, unscored in _results(summary):
        for kind in _COEFFICIENTS:
            figure = found[kind]
            numbers = (figure[name] for name in ("value", "low", "high", "n"))
            writer.writerow((score, level, kind, *numbers, unscored))
    return text.getvalue()


def _results(summary: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, Any], int]]:
    for score, found in summary["scores"].items():
        for level in ("dialogues", "salespeople"):
            yield score, level, found[level], found["unscored"]


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "–"
    if figure["low"] is None:
        return f"{figure['value']:.2f} (no interval)"
    return f"{figure['value']:.2f} [{figure['low']:.2f}, {figure['high']:.2f}]"


def agreement_svg(summary: Mapping[str, Any]) -> str:
    """Final score by human rating: dialogues as dots, salespeople's means as numbered marks.

    Returns:
        A whole SVG document.
    """
    points = [point for point in summary["points"] if point["final"] is not None]
    people = summary["salespeople"]
    found = summary["scores"]["final"]
    captions = (
        f"{level}: n = {found[level]['pearson']['n']}, r = {_figure(found[level]['pearson'])}"
        for level in ("dialogues", "salespeople")
    )
    width = _LEFT + _SIDE + _LEGEND
    height = max(_TOP + _SIDE + _FOOT, _TOP + 20 * len(people) + 20)
    return (
        element(
            "svg",
            element("title", "Final score by human rating"),
            element("rect", width=width, height=height, fill="#fff"),
            element("text", "Final score by human rating", x=_LEFT, y=26, font_size=17,
                    font_weight=600, fill="#111"),
            element("text", "; ".join(captions), x=_LEFT, y=48, font_size=13, fill="#555"),
            *_axes(),
            *(_dot(point) for point in points),
            *(part for place, row in enumerate(people) for part in _mark(place, row)),
            xmlns="http://www.w3.org/2000/svg", role="img", width=width, height=height,
            viewBox=f"0 0 {width} {height}", font_family="system-ui, 'Noto Sans SC', sans-serif",
        )
        + "\n"
    )  # fmt: skip


def _x(score: float) -> float:
    return _LEFT + _SIDE * score / 10


def _y(score: float) -> float:
    return _TOP + _SIDE * (1 - score / 10)


def _axes() -> Iterable[Markup]:
    for tick in range(0, 11, 2):
        yield element("line", x1=_x(tick), x2=_x(tick), y1=_y(0), y2=_y(10), stroke="#e1e3df")
        yield element("line", x1=_x(0), x2=_x(10), y1=_y(tick), y2=_y(tick), stroke="#e1e3df")
        yield element("text", tick, x=_x(tick), y=_y(0) + 20, font_size=12, text_anchor="middle",
                      fill="#555")  # fmt: skip
        yield element("text", tick, x=_LEFT - 10, y=_y(tick) + 4, font_size=12, text_anchor="end",
                      fill="#555")  # fmt: skip
    yield element("text", "Human rating", x=_x(5), y=_y(0) + 42, font_size=13,
                  text_anchor="middle", fill="#111")  # fmt: skip
    yield element("text", "Final score", transform=f"translate(22 {_y(5):g}) rotate(-90)",
                  font_size=13, text_anchor="middle", fill="#111")  # fmt: skip


def _dot(point: Mapping[str, Any]) -> Markup:
    return element("circle", element("title", point["id"]), cx=_x(point["people"]),
                   cy=_y(point["final"]), r=4, fill=_DIALOGUE, fill_opacity=0.35)  # fmt: skip


def _mark(place: int, row: Mapping[str, Any]) -> Iterable[Markup]:
    """A salesperson's number in the plot, and its name in the legend."""
    legend = _LEFT + _SIDE + 28
    for x, y in ((_x(row["people"]), _y(row["final"])), (legend, _TOP + 20 * place + 8)):
        yield element("circle", cx=x, cy=y, r=9, fill=_SALESPERSON, stroke="#fff")
        yield element("text", place + 1, x=x, y=y + 4, font_size=11, font_weight=600,
                      text_anchor="middle", fill="#fff")  # fmt: skip
    yield element("text", row["salesperson"], x=legend + 16, y=_TOP + 20 * place + 12,
                  font_size=13, fill="#111")  # fmt: skip
