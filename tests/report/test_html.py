from __future__ import annotations

import copy
import itertools
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import Page, svgs

import salesllm.report
from salesllm.dialogue import Speaker
from salesllm.report import (
    Curve,
    ReportData,
    Sample,
    SampleTurn,
    render,
    role_inversion_svg,
    write_report,
)
from salesllm.report.charts import Mark, Row, interval_plot, ticks
from salesllm.report.figures import Estimate, duration
from salesllm.report.lines import line_chart

SVG = "{http://www.w3.org/2000/svg}"
PALETTE = Path(salesllm.report.__file__).with_name("templates") / "palette.css"

SUMMARY: dict[str, Any] = {
    "seconds": 401.3,
    "role_inversion": {
        "base": {"rate": 0.7312, "low": 0.6891, "high": 0.7745, "turns": 1412},
        "sft": {"rate": 0.1432, "low": 0.1083, "high": 0.1794, "turns": 388},
        "dpo": {"rate": 0.1257, "low": 0.0895, "high": 0.1586, "turns": 371},
        "reference": {"rate": 0.1688, "low": 0.1311, "high": 0.2074, "turns": 405},
    },
    "likeness": {
        "base": {"bleu4": 0.021, "rouge1": 0.082, "rouge2": 0.014, "rougeL": 0.073,
                 "cosine": 0.412, "interval": {"bleu4": [0.017, 0.026]}},
        "sft": {"bleu4": 0.118, "rouge1": 0.241, "rouge2": 0.013, "rougeL": 0.226,
                "cosine": 0.587},
        "dpo": {"bleu4": 0.115, "rouge1": 0.249, "rouge2": 0.012, "rougeL": 0.229,
                "cosine": 0.583},
    },
    "intent": {
        "zh": {"accuracy": 0.9452, "f1": 0.9431, "n": 1400, "low": 0.9183, "high": 0.9634,
               "labels": ["not", "buy"], "confusion": [[198, 10], [12, 1180]], "majority": 0.8514},
        "en": {"accuracy": 0.9271, "f1": 0.9217, "n": 398},
    },
    "benchmark": {
        "base": {"buying": {"mean": 6.82, "low": 6.31, "high": 7.33, "n": 46, "unscored": 2},
                 "selling": 5.17, "final": 6.16},
        "sft": {"buying": 4.41, "selling": 4.05, "final": 4.27},
        "dpo": {"buying": 4.02, "selling": 3.91, "final": 3.98},
    },
    "detector": {"accuracy": 0.8423, "auc": 0.9137, "low": 0.8204, "high": 0.8611, "n": 1210},
    "rater": "rules",
}  # fmt: skip

C, S = Speaker.CUSTOMER, Speaker.SALESPERSON
SAMPLE = Sample(
    language="zh",
    product="保温杯 & co",
    difficulty="very_hard",
    stages={
        "base": [
            SampleTurn(C, "多少钱？"),
            SampleTurn(S, "九十九。"),
            SampleTurn(C, "买吧！", True),
        ],
        "sft": [SampleTurn(C, "<script>alert(1)</script>"), SampleTurn(S, "</p><img src=//x.y/z>")],
    },
    ended={"base": "round limit", "sft": "the customer hung up"},
)
CURVE = Curve("SFT <loss>", "step", "loss", {"train": [(1, 4.0), (3, 2.0), (2, math.nan)]}, "a & b")
FULL = ReportData(
    "Run & report",
    "What was trained.",
    SUMMARY,
    [CURVE],
    [SAMPLE],
    [("Seed", "0")],
    ["Sample data."],
)
MINIMAL = ReportData(
    "Run",
    "Little.",
    {"role_inversion": {"base": SUMMARY["role_inversion"]["base"]}},
    [],
    [],
    [],
    [],
)


@pytest.mark.parametrize("data", [FULL, MINIMAL, ReportData("Run", "None.", {}, [], [], [], [])])
def test_the_page_is_whole_and_needs_nothing_else(data: ReportData) -> None:
    html = render(data)
    page = Page(html)
    assert not page.open, "an element is not closed"
    assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "object", "base"}
    for _, attributes in page.tags:
        assert not attributes.keys() & {"src", "srcset", "xlink:href", "background"}
        assert (attributes.get("href") or "#").startswith(("#", "data:"))
    assert not re.search(r"url\(|@import|https?://", html.split("</style>")[0])
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert links <= {f"#{name}" for name in ids}


@pytest.mark.parametrize(
    "figure",
    ["73.1% (68.9–77.5), 1,412 turns", "14.3% (10.8–17.9), 388 turns", "12.6%", "16.9%",
     "6 min 41 s", "0.021 0.017–0.026", "★ 0.118", "★ 0.587", "★ 0.249", "4 of 5", "★ 0.014",
     "Accuracy 94.5% 91.8–96.3", "Macro F1 0.943", "85.1%", "1,400", "1,180 99.0%", "10 4.8%",
     "92.7%", "Macro F1 0.922", "6.82 6.31–7.33 2 unscored", "5.17", "3.98",
     "Accuracy 84.2% (82.0–86.1), AUC 0.914, 1,210 turns",
     "The rate is 0.20 times the base's after SFT and 0.17 times the base's after DPO.",
     "DPO's interval lies below the base's.", "DPO's interval overlaps people's."],
)  # fmt: skip
def test_the_figures_of_the_summary_are_on_the_page(figure: str) -> None:
    words = Page(render(FULL).replace("<small>", " <small>").replace("<dd>", " <dd>")).words
    assert figure in words


def test_the_page_says_what_the_figures_say_and_not_what_was_hoped() -> None:
    summary = copy.deepcopy(SUMMARY)
    summary["role_inversion"]["dpo"] |= {"rate": 0.9, "low": 0.85, "high": 0.94}
    words = Page(render(ReportData("Run", "Worse.", summary, [], [], [], []))).words
    assert "DPO's interval lies above the base's." in words
    assert "DPO's interval lies above people's." in words


def test_what_was_not_measured_is_said_to_be_so_and_never_zero() -> None:
    summary = copy.deepcopy(SUMMARY)
    for means in summary["likeness"].values():
        means["cosine"] = None
    del summary["likeness"]["sft"]["bleu4"], summary["role_inversion"]["reference"]
    words = Page(render(ReportData("Run", "Gaps.", summary, [], [], [], []))).words
    assert "Cosine not measured: the run had no sentence encoder" in words
    assert "People's own rate was not measured" in words
    assert words.count("not measured") == 4, "these two, one BLEU-4, the English majority class"
    assert "3 of 4" in words
    assert Page(render(MINIMAL)).words.count("Likeness") == 0


def test_a_detector_of_each_language_is_shown() -> None:
    report = {"accuracy": {"value": 0.771, "low": 0.752, "high": 0.79, "n": 2210},
              "majority": 0.512, "auc": 0.866}  # fmt: skip
    summary = SUMMARY | {"detector": {"zh": report, "en": report}}
    words = Page(render(ReportData("Run", "", summary, [], [], [], []))).words
    figures = "accuracy 77.1% (75.2–79.0), majority class 51.2%, AUC 0.866, 2,210 turns"
    assert f"Chinese: {figures}" in words
    assert f"English: {figures}" in words


def test_equal_means_have_no_best() -> None:
    means = dict.fromkeys(("bleu4", "rouge1", "rouge2", "rougeL"), 0.25)
    summary = {"likeness": {"base": means, "sft": means}}
    assert "★ 0" not in Page(render(ReportData("Run", "", summary, [], [], [], []))).words


def test_dialogue_text_stays_text() -> None:
    html = render(FULL)
    assert "<script>alert(1)</script>" in Page(html).text
    assert "</p><img src=//x.y/z>" in Page(html).text
    assert "保温杯 & co" in Page(html).text
    labels = [attributes.get("aria-label") or "" for _, attributes in Page(html).tags]
    assert any(label.startswith("SFT <loss>: loss by step.") for label in labels)


def test_a_flagged_turn_is_marked_in_words() -> None:
    words = Page(render(FULL)).words
    assert "Customer ⚑ talks like the salesperson 买吧！" in words
    assert "Customer 多少钱？" in words
    assert "1 of 2 customer turns marked" in words
    assert "Ended: the customer hung up" in words


def test_a_stand_in_rater_is_called_one() -> None:
    assert "stand-in for the LLM judge" in Page(render(FULL)).words
    judged = ReportData("Run", "", SUMMARY | {"rater": "some/judge"}, [], [], [], [])
    assert "stand-in" not in Page(render(judged)).words


def test_every_chart_is_well_formed_and_has_a_name() -> None:
    charts = svgs(render(FULL))
    assert len([c for c in charts if 'role="img"' in c]) == 4
    for chart in charts:
        root = ET.fromstring(chart)
        assert root.get("aria-hidden") == "true" or len(root.get("aria-label", "")) > 20


def test_marks_stand_where_the_scale_says() -> None:
    row = Row("a", [Mark("dpo", Estimate(5, 2.5, 7.5), "five")], "5")
    root = ET.fromstring(interval_plot([row], label="Plot", tick=str, top=10).svg())
    whisker = next(e for e in root.iter("line") if e.get("class") == "whisker")
    assert (whisker.get("x1"), whisker.get("x2")) == ("25.00%", "75.00%")
    assert next(root.iter("svg")).get("aria-label") == "Plot. a: five."
    assert [e.get("x") for e in root.iter("svg") if e is not root] == ["50.00%"]


def test_a_line_goes_through_its_finite_points_in_order() -> None:
    root = ET.fromstring(line_chart(CURVE))
    (line,) = root.iter("polyline")
    assert line.get("points") == "0.0,0.0 1000.0,150.0"
    assert "from 4 to 2" in root.get("aria-label", "")
    empty = Curve("Empty", "x", "y", {"nothing": []})
    assert "no points" in ET.tostring(ET.fromstring(line_chart(empty)), encoding="unicode")


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.integers(2, 8))
def test_ticks_span_the_range_evenly(low: float, span: float, most: int) -> None:
    high = low + span
    marks = ticks(low, high, most)
    step = marks[1] - marks[0]
    assert marks[0] <= low + 1e-6 * step
    assert marks[-1] >= high - 1e-6 * step
    assert 2 <= len(marks) <= most + 3
    assert all(b - a == pytest.approx(step, rel=1e-6) for a, b in itertools.pairwise(marks))


def test_the_picture_is_a_whole_document() -> None:
    picture = role_inversion_svg(SUMMARY)
    root = ET.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    texts = [e.text for e in root.iter(f"{SVG}text")]
    for text in ("Base", "SFT", "DPO", "People", "73.1% (68.9–77.5), 1,412 turns",
                 "people's own rate, 16.9%"):  # fmt: skip
        assert text in texts
    assert "prefers-color-scheme: dark" in picture
    assert picture.count("http") == 1, "only the namespace"


def test_text_has_contrast_in_both_themes() -> None:
    sheet = PALETTE.read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", part)) for part in sheet.split("@media")
    ]
    assert len(themes) == 2
    assert themes[0].keys() == themes[1].keys()
    for theme in themes:
        for text in ("ink", "muted", "flag", "accent"):
            for ground in ("ground", "panel"):
                assert _contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
        for mark in ("base", "sft", "dpo", "people", "other"):
            assert _contrast(theme[mark], theme["panel"]) >= 3, mark
        assert _contrast(theme["ink"], theme["bubble"]) >= 4.5


def _contrast(one: str, other: str) -> float:
    """WCAG 2's contrast ratio."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (401.3, "6 min 41 s"), (11100, "3 h 05 min"),
     (None, "not measured")],
)  # fmt: skip
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_the_report_is_written_whole(tmp_path: Path) -> None:
    write_report(tmp_path / "out" / "report.html", FULL)
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8") == render(FULL)
    assert len(list((tmp_path / "out").iterdir())) == 1
