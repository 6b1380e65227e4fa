"""What a place in a rollout knows of how the dialogue went on."""

from __future__ import annotations

from typing import Any

import pytest
from scenes import scene, turns

from salesllm.dialogue import Dialogue
from salesllm.preferences.rollout import Place


@pytest.mark.parametrize(
    ("context", "ends"),
    [
        ({"termination": "customer_ended", "marked": True}, True),
        ({"termination": "customer_ended", "marked": False}, False),
        ({"termination": "customer_ended"}, True),  # of a run in which only the marker ended one
        ({"termination": "round_limit", "marked": False}, False),
    ],
)
def test_only_a_turn_that_bore_the_marker_ends(context: dict[str, Any], ends: bool) -> None:
    dialogue = Dialogue(
        id="a",
        language="en",
        source="test",
        product_line="kettles",
        turns=tuple(turns("Hi", "It's $39.", "ok", "Anything else?", "No, bye.")),
        context=context,
    )
    assert Place(dialogue, scene(), 4, "").ends is ends
    assert not Place(dialogue, scene(), 2, "").ends
