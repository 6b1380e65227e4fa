"""The HTML report: one file that needs no other, no network and no script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import salesllm
from salesllm.dialogue import Speaker
from salesllm.files import write_text
from salesllm.report import figures
from salesllm.report.charts import Drawing, Mark, Row, glyph, interval_plot
from salesllm.report.data import ReportData, SampleTurn
from salesllm.report.figures import PEOPLE, STAGES, Estimate
from salesllm.report.lines import line_chart, line_sample

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,  # what customers say comes from data and models: it must never become markup
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""Of every page: what it shows is escaped."""
ENVIRONMENT.filters |= {
    "duration": figures.duration,
    "interval": figures.interval,
    "language": lambda code: figures.LANGUAGES.get(code, code),
    "number": figures.number,
    "percent": figures.percent,
    "stage": lambda key: STAGES.get(key, "People" if key == PEOPLE else key),
}
ENVIRONMENT.globals |= {
    "METRICS": figures.METRICS,
    "SCORES": figures.SCORES,
    "STAGES": STAGES,
    "glyph": glyph,
    "line_chart": line_chart,
    "line_sample": line_sample,
}


def render(data: ReportData) -> str:
    """The report as a page. A section without figures is left out."""
    summary = data.summary
    inversion, likeness = figures.role_inversion(summary), figures.likeness(summary)
    benchmark, intent = figures.benchmark(summary), figures.intent(summary)
    return ENVIRONMENT.get_template("report.html.jinja").render(
        data=data,
        seconds=summary.get("seconds"),
        inversion=inversion,
        inversion_plot=inversion_plot(inversion).svg(),
        inversion_readings=figures.inversion_readings(inversion),
        detectors=figures.detectors(summary),
        likeness=likeness,
        likeness_plot=_stages_plot(likeness, figures.METRICS, "Likeness to people's turns", 3),
        likeness_gain=_gain(likeness, summary),
        intent=intent,
        benchmark=benchmark,
        benchmark_plot=_stages_plot(benchmark, figures.SCORES, "Benchmark scores", 2, 10),
        rater=summary.get("rater"),
        best=_best,
        flags=_flags,
        opened=_first_of_each_language(data),
        version=salesllm.__version__,
    )


def write_report(path: str | Path, data: ReportData) -> None:
    """Writes the page; it appears under its name only once it is complete."""
    write_text(path, render(data))


def inversion_plot(rates: Mapping[str, Estimate]) -> Drawing:
    """Role inversion of every stage and of people, whose rate is the floor behind them."""
    rows, floor = [], None
    for key, rate in rates.items():
        text = figures.rate_text(rate, "turns")
        rows.append(Row(STAGES.get(key, "People"), [Mark(key, rate, text)], text))
        if key == PEOPLE:
            floor = Mark(key, rate, f"people's own rate, {figures.percent(rate.value)}")
    return interval_plot(
        rows,
        label="Role inversion, with 95% intervals",
        tick=lambda share: f"{100 * share:g}%",
        floor=floor,
    )


def _stages_plot(
    table: Mapping[str, Mapping[str, Estimate]],
    names: Mapping[str, str],
    label: str,
    digits: int,
    top: float | None = None,
) -> Markup:
    rows = []
    for key, stages in table.items():
        marks = []
        for stage, mean in stages.items():
            spread = figures.interval(mean, digits=digits)
            text = f"{STAGES[stage]} {figures.number(mean.value, digits)}"
            marks.append(Mark(stage, mean, f"{text} ({spread})" if spread else text))
        if marks:
            rows.append(Row(names[key], marks))
    return interval_plot(rows, label=label, tick=lambda value: f"{value:g}", top=top).svg()


def _gain(
    likeness: Mapping[str, Mapping[str, Estimate]], summary: Mapping[str, Any]
) -> dict[str, Any] | None:
    """On how many metrics the last stage is above the base; None where they were not compared.

    `certain` counts those whose paired interval lies above zero; None without paired intervals.
    """
    for last in ("dpo", "sft"):
        pairs = {
            metric: (row["base"].value, row[last].value)
            for metric, row in likeness.items()
            if "base" in row and last in row
        }
        if pairs:
            change = summary["likeness"][last].get("change") or {}
            certain = sum((each["low"] or 0) > 0 for each in change.values()) if change else None
            up = sum(after > before for before, after in pairs.values())
            return {"stage": last, "up": up, "of": len(pairs), "certain": certain}
    return None


def _best(row: Mapping[str, Estimate]) -> set[str]:
    """The stages whose mean, as printed, is the highest; none where all are equal."""
    printed = {stage: figures.number(mean.value) for stage, mean in row.items()}
    if len(set(printed.values())) < 2:
        return set()
    highest = printed[max(row, key=lambda stage: row[stage].value)]
    return {stage for stage, text in printed.items() if text == highest}


def _flags(turns: list[SampleTurn]) -> tuple[int, int]:
    """Flagged customer turns, and all of them."""
    customer = [turn for turn in turns if turn.speaker is Speaker.CUSTOMER]
    return sum(turn.flagged for turn in customer), len(customer)


def _first_of_each_language(data: ReportData) -> set[int]:
    languages = [sample.language for sample in data.samples]
    return {languages.index(language) for language in languages}
