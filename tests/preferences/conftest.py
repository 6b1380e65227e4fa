"""A rollout recipe without torch: a scripted customer, everybody else behind the loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from voices import voices

from salesllm.scenario import write_scenarios
from salesllm.scenarios.sampling import sample_scenarios


@pytest.fixture
def values(tmp_path: Path, loopback: Loopback) -> dict[str, Any]:
    loopback.reply = voices
    scenarios = [s for language in ("en", "zh") for s in sample_scenarios(language, 3, seed=1)]
    write_scenarios(tmp_path / "scenarios.jsonl", scenarios)

    def endpoint(model: str, name: str) -> dict[str, Any]:
        address = {"base_url": loopback.url, "timeout": 5}
        return {"provider": "endpoint", "model": model, "name": name} | address

    return {
        "method": "rollout",
        "output_dir": str(tmp_path / "out"),
        "scenarios": str(tmp_path / "scenarios.jsonl"),
        "salespeople": [endpoint("seller", "A"), endpoint("seller", "B")],
        "customer": {"provider": "scripted", "model": "customer", "name": "C"},
        "judge": endpoint("judge", "J"),
        "writer": endpoint("writer", "W"),
        "rounds": 5,
        "candidates": 4,
        "margin": 2,
        "concurrency": 8,
    }
