"""Figure 3: what it counts and that it shows it."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

from salesllm.report.factors import factors_by_age, factors_svg
from salesllm.scenario import DecisionFactor
from salesllm.scenarios.sampling import sample_scenarios


def test_it_counts_every_mention_and_draws_it_to_scale() -> None:
    scenarios = sample_scenarios("en", 60)
    mentions = factors_by_age(scenarios)
    assert list(mentions) == sorted({s.persona.age_group for s in scenarios})
    expected = Counter(f for s in scenarios for f in s.attributes.decision_factors)
    assert sum(mentions.values(), Counter()) == expected
    svg = ElementTree.fromstring(factors_svg(mentions))
    name = "{http://www.w3.org/2000/svg}"
    segments = [
        (float(rect.attrib["height"]), int(title.text.split(": ")[1].replace(",", "")))
        for rect in svg.iter(f"{name}rect")
        if (title := rect.find(f"{name}title")) is not None and title.text
    ]
    assert len(segments) == len(mentions) * len(DecisionFactor)
    assert sum(count for _, count in segments) == sum(expected.values())
    scale = {round(height / count, 1) for height, count in segments if count}
    assert max(scale) - min(scale) <= 0.1
    shares = [float(s) for s in re.findall(r"([\d.]+)%</text>", factors_svg(mentions))]
    assert shares
    assert all(0 < share <= 100 for share in shares)
