"""Charts on two axes: that figures stand where the axes say."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from salesllm.report.figures import Estimate
from salesllm.report.lines import Axes, point_chart, rank_chart


def test_the_best_rank_is_on_top_and_every_line_ends_at_its_name() -> None:
    ranks = {"first": [2.0, 1.0], "a name of more than twenty letters": [1.0, 2.0], "c": [3, 3]}
    root = ET.fromstring(rank_chart(ranks, [0.0, 1.0], x="alpha", chosen=0.6))
    heights = {
        text.text: float(text.get("y", 0))
        for text in root.findall("text[@class='tick']")
        if text.get("text-anchor") == "end"
    }
    assert heights["1"] < heights["2"] < heights["3"]
    ends = [svg for svg in root.iter("svg") if svg.find("text[@class='end']") is not None]
    names = [svg.findtext("text") for svg in sorted(ends, key=lambda svg: float(svg.get("y", 0)))]
    assert names == ["first", "a name of more than…", "c"]
    lines = [line.get("points") for line in root.iter("polyline")]
    assert lines == ["0.0,22.0 1000.0,0.0", "0.0,0.0 1000.0,22.0", "0.0,44.0 1000.0,44.0"]
    floor = next(line for line in root.iter("line") if line.get("class") == "floor")
    assert floor.get("x1") == floor.get("x2") == "60.00%"
    assert "Ranks at 1: first, 1; a name of more than twenty letters, 2; c, 3." in str(
        root.get("aria-label")
    )


def test_equal_ranks_have_a_name_each() -> None:
    root = ET.fromstring(rank_chart({"a": [1, 1], "b": [1, 1]}, [0, 1], x="alpha", chosen=0))
    places = [
        svg.get("y") for svg in root.iter("svg") if svg.find("text[@class='end']") is not None
    ]
    assert len(set(places)) == 2


def test_one_rank_alone_is_drawn() -> None:
    root = ET.fromstring(rank_chart({"a": [1, 1]}, [0, 1], x="alpha", chosen=0))
    assert len(list(root.iter("polyline"))) == 1


def test_points_and_their_intervals_stand_where_the_axes_say() -> None:
    axes = Axes("x", "y", (0, 10), (0, 0.5, 1), height=100)
    series = {"zh": [(5.0, Estimate(0.5, 0.25, 1.0))], "en": [(5.0, Estimate(0.5))]}
    root = ET.fromstring(point_chart(series, axes, label="Chart", diagonal=True))
    middle = axes.y_of(0.5)
    assert middle == (axes.y_of(0) + axes.y_of(1)) / 2
    (whisker,) = [line for line in root.iter("line") if line.get("class") == "whisker"]
    ends = sorted(float(whisker.get(key, 0)) for key in ("y1", "y2"))
    assert ends == [axes.y_of(1.0), axes.y_of(0.25)]
    places = {
        svg.get("x") for svg in root.iter("svg") if svg.find("g/*[@class='mark']") is not None
    }
    assert places == {"50.00%"}
    marks = [
        g.get("transform", "") for g in root.iter("g") if g.find("*[@class='mark']") is not None
    ]
    assert len(marks) == 2
    assert all(f" {middle:.2f})" in mark for mark in marks)
    assert marks[0] != marks[1], "side by side"
    assert "Chart: y by x. zh, 5: 0.50 (0.25–1.00); en, 5: 0.50." in str(root.get("aria-label"))


def test_nothing_to_draw_is_said() -> None:
    axes = Axes("x", "y", (0, 1), (0, 1))
    root = ET.fromstring(point_chart({"zh": []}, axes, label="Chart"))
    assert "no points" in [text.text for text in root.iter("text")]
