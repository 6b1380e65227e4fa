"""A small finished benchmark run, made by hand: two salespeople, two customers, both languages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

SALESPEOPLE = ("vendor/A_1", "B & Co", "C")
CUSTOMERS = ("GPT-4o", "CustomerLM")
HOSTILE = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    'line\u2028separator\u2029 "quoted" \\u003cb\\u003e ${document.title} `tick` \\',
    "]]>--><!-- &lt;b&gt; 您好 😀",
)
"""What a model may say to those who read it in a browser."""


def _score(mean: float | None, rank: int | None, **more: Any) -> dict[str, Any]:
    interval = (None, None) if mean is None else (round(mean - 0.2, 3), round(mean + 0.2, 3))
    ranks = {"rank": rank, "rank_low": rank and max(1, rank - 1), "rank_high": rank}
    return dict(zip(("mean", "low", "high"), (mean, *interval), strict=True)) | {
        "n": 0 if mean is None else 10, "unscored": 10 if mean is None else 0,
    } | ranks | more  # fmt: skip


def leaderboard() -> dict[str, Any]:
    """In the shape of `salesllm.benchmark.leaderboard`; the figures are nobody's."""
    means = {
        ("GPT-4o", "zh"): (6.5, 6.504, 5.0), ("GPT-4o", "en"): (6.1, 5.2, 5.9),
        ("GPT-4o", "overall"): (6.3, 5.85, 5.45), ("CustomerLM", "zh"): (5.0, None, 4.0),
        ("CustomerLM", "en"): (5.0, 5.0, 5.0), ("CustomerLM", "overall"): (5.0, 5.0, 4.5),
    }  # fmt: skip
    table: dict[str, Any] = {}
    for (customer, group), each in means.items():
        known = sorted((mean for mean in each if mean is not None), reverse=True)
        table.setdefault(customer, {})[group] = {
            name: _score(mean, mean and known.index(mean) + 1)
            for name, mean in zip(SALESPEOPLE, each, strict=True)
        }
    groups = ("zh", "en", "overall")
    grid = [0.0, 0.5, 1.0]
    mean = {"mean": 5.5, "low": 5.1, "high": 5.9, "n": 10}
    alpha = {name: {"mean": [5.0] * 3, "rank": [3 - i, 1 + i, 1 + i]}
             for i, name in enumerate(SALESPEOPLE)}  # fmt: skip
    pair = {"a": "vendor/A_1", "b": "C", "difference": 0.85, "low": 0.4, "high": 1.3, "n": 10,
            "p_value": 0.001, "p_holm": 0.003}  # fmt: skip
    bought = [
        {"difficulty": d, "propensity": p, "bought": p / 2, "low": p / 4, "high": p, "n": 20}
        for d, p in (("easy", 0.8), ("hard", 0.2))
    ]
    bins = [{"turns": [1, 4]} | mean, {"turns": [5, 8]} | dict.fromkeys(mean) | {"n": 0}]

    def each(of: Any) -> dict[str, Any]:
        return {customer: dict.fromkeys(groups, of) for customer in CUSTOMERS}

    def rows(of: Any) -> dict[str, Any]:
        return dict.fromkeys(SALESPEOPLE, of)

    return {
        "salespeople": list(SALESPEOPLE),
        "customers": list(CUSTOMERS),
        "languages": ["en", "zh"],
        "table": table,
        "comparisons": each([pair]),
        "by": {
            "domain": {customer: rows({"consumer": mean}) for customer in CUSTOMERS},
            "difficulty": {customer: rows({"hard": mean, "easy": mean}) for customer in CUSTOMERS},
        },
        "alpha": {"grid": grid} | each(alpha),
        "calibration": each(bought),
        "turns": each(rows(bins)) | {"mean_turns": each(rows(6.5))},
        "grounding": {
            "GPT-4o": {
                "vendor/A_1": {"rate": 0.1, "low": 0.05, "high": 0.2, "n": 18, "unscored": 2}
            }
        },
        "terminations": {
            customer: rows({"customer_ended": 19, "error": 1}) for customer in CUSTOMERS
        },
        "agreement": {"judges": ["one", "two"], "alpha": 0.75, "n": 40},
    }


def row(
    number: int = 0, salesperson: str = "C", customer: str = "GPT-4o", **more: Any
) -> dict[str, Any]:
    """A row of `scores.jsonl` about scenario `s<number>`."""
    return {
        "id": f"{salesperson}::{customer}::s{number}::0",
        "salesperson": salesperson, "customer": customer, "scenario_id": f"s{number}",
        "repeat": 0, "product_id": f"p{number % 3}", "domain": "consumer", "category": "Books",
        "language": ("zh", "en")[number % 2], "difficulty": ("easy", "hard")[number % 2],
        "propensity": 0.5, "termination": "customer_ended", "failed": False, "error": None,
        "turns": 4, "rounds": 2, "cut_replies": 0, "cleaned": {}, "guard": None, "injection": [],
        "usage": {}, "cost": {}, "buying": 6.0, "bought": True, "intent": None, "selling": 4.0,
        "selling_reason": "It went well.", "selling_evidence": [], "judges": {}, "rater": "judge",
        "grounding": None, "final": 5.2, "unscored": {}, "judge_failed": False,
    } | more  # fmt: skip


def failed(number: int, **more: Any) -> dict[str, Any]:
    """A row whose dialogue failed."""
    nothing = dict.fromkeys(("buying", "bought", "selling", "final"))
    why = {"unscored": {"buying": "the dialogue failed", "selling": "the dialogue failed"}}
    lost = {"failed": True, "termination": "error", "error": "HTTP 500", "turns": 1}
    return row(number, **(nothing | why | lost | more))


def write_run(
    folder: Path,
    rows: Iterable[Mapping[str, Any]],
    said: Mapping[str, Sequence[str]] | None = None,
    **summary: Any,
) -> Path:
    """Writes a run's three files.

    Args:
        said: Id of a row to what is said in its dialogue, by turns, the customer first.
        summary: What `summary.json` has beside the least it must have.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "scores.jsonl").open("w") as scores, (folder / "dialogues.jsonl").open("w") as d:
        for each in rows:
            scores.write(json.dumps(each) + "\n")
            if not each["failed"]:
                texts = (said or {}).get(each["id"], ("Hi?", "Hello!", "Bye.", "Bye!"))
                turns = [{"speaker": ("customer", "salesperson")[i % 2], "text": text}
                         for i, text in enumerate(texts)]  # fmt: skip
                d.write(json.dumps({"id": each["id"], "language": each["language"],
                                    "turns": turns}) + "\n")  # fmt: skip
    least = {"name": "small", "rater": "judge", "alpha": 0.6}
    (folder / "summary.json").write_text(json.dumps(least | summary))
    return folder
