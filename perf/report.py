"""The report of a whole Table 10: how long it takes, what it needs, how soon a browser shows it.

    python perf/report.py

Makes a run of 15 salespeople, two customers and 1,805 scenarios (54,150 dialogues of some ten
turns, in both languages), sums it up, and writes its tables and its report in a process of its own,
whose time and peak memory count. Then a headless Chromium opens the page from the disk, several
times, each in a fresh process: first paint and first contentful paint are the browser's own entries
(`performance.getEntriesByType("paint")`, milliseconds from the start of the navigation), read
through the DevTools protocol; so is the time until the list of all dialogues stands, and until the
last dialogue, opened by its address, can be read. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import CHROMIUM, browser

from salesllm.benchmark.leaderboard import leaderboard
from salesllm.files import write_json, write_jsonl
from salesllm.scenario import PROPENSITY

SALESPEOPLE = [f"salesperson-{letter}-{8 * n}b" for n, letter in enumerate("abcdefghijklmno", 1)]
CUSTOMERS = ["GPT-4o", "CustomerLM"]
LANGUAGES = {"zh": 1000, "en": 805}
SAID = {
    "zh": (
        "您好，我想先了解一下这款产品的具体情况，",
        "价格方面能不能再详细说明一下，我需要和家里人商量，",
        "这一款支持七天无理由退货，保修两年，全国联保，",
        "如果今天下单的话，最快明天下午就可以送到您手里，",
        "我之前用过类似的，坏了以后售后一直联系不上，所以比较担心，",
        "好的，那我考虑一下，回头再联系您，",
    ),
    "en": (
        "Could you tell me a little more about what is actually included in the price? ",
        "It comes with a two-year warranty, and you can send it back within thirty days. ",
        "I had something similar before, and it broke within a month, so I am rather careful now. ",
        "If you place the order today it will be with you by tomorrow afternoon. ",
        "That sounds fair, but I would like to think it over and talk to my wife first. ",
        "Shall I set one aside for you until the weekend? ",
    ),
}
ENDINGS = ("customer_ended", "salesperson_ended", "round_limit", "repetition")


def cells(scenarios: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Rows and their dialogues, as a run has them; every 97th dialogue failed."""
    rng, number = Random(0), 0
    for customer in CUSTOMERS:
        for place, salesperson in enumerate(SALESPEOPLE):
            for scenario in range(scenarios):
                number += 1
                language = "zh" if scenario % 1805 < LANGUAGES["zh"] else "en"
                row = _row(rng, salesperson, customer, scenario, language, place)
                if number % 97:
                    yield row, _dialogue(rng, row)
                else:
                    nothing = dict.fromkeys(("buying", "bought", "intent", "selling", "final"))
                    why = dict.fromkeys(("buying", "selling"), "the dialogue failed (error)")
                    lost = {"failed": True, "termination": "error", "error": "HTTP 500 five times"}
                    yield row | nothing | lost | {"unscored": why, "selling_evidence": []}, None


def _row(
    rng: Random, salesperson: str, customer: str, scenario: int, language: str, place: int
) -> dict[str, Any]:
    difficulty, propensity = list(PROPENSITY.items())[scenario % 5]
    buying = min(10.0, max(0.0, rng.gauss(3 + 5 * propensity + 0.1 * place, 1.5)))
    selling = float(min(10, max(0, round(rng.gauss(5 + 0.1 * place, 1.5)))))
    turns = rng.randrange(6, 16)
    words = SAID[language][4][:12]
    gift = {"turn": 3, "quote": words, "kind": "gift", "by": "numbers"}
    return {
        "id": f"{salesperson}::{customer}::{language}-{scenario:05d}::0",
        "salesperson": salesperson, "customer": customer,
        "scenario_id": f"{language}-{scenario:05d}", "repeat": 0,
        "product_id": f"product-{scenario % 333:03d}",
        "domain": "financial" if scenario % 2 else "consumer",
        "category": f"category_{scenario % 37}", "language": language,
        "difficulty": difficulty, "propensity": propensity,
        "termination": ENDINGS[rng.randrange(4)], "failed": False, "error": None,
        "turns": turns, "rounds": turns // 2, "cut_replies": int(rng.random() < 0.02),
        "cleaned": {"salesperson": {"reasoning": int(rng.random() < 0.1)}, "customer": {}},
        "guard": {"drafts": turns, "flagged": int(rng.random() < 0.1), "turns": turns,
                  "kept_flagged": 0},
        "injection": [{"turn": 2, "kind": "score", "text": words}] if rng.random() < 0.01 else [],
        "usage": {"salesperson": {"prompt_tokens": 4000, "completion_tokens": 400}},
        "cost": {"salesperson": 0.0123},
        "buying": buying, "bought": buying > 5,
        "intent": {"label": "buy", "probabilities": {"buy": buying / 10, "not": 1 - buying / 10}},
        "selling": selling, "selling_reason": SAID[language][5] * 3,
        "selling_evidence": [{"quote": words, "turn": 4, "kind": "next_step"}],
        "judges": {"judge": selling}, "rater": "judge",
        "grounding": {"unauthorised": rng.random() < 0.05, "concessions": [gift], "reason": ""},
        "final": 0.6 * buying + 0.4 * selling, "unscored": {}, "judge_failed": False,
    }  # fmt: skip


def _dialogue(rng: Random, row: dict[str, Any]) -> dict[str, Any]:
    said = SAID[row["language"]]
    each = 6 if row["language"] == "zh" else 2  # some 120 characters
    turns = [
        {
            "speaker": ("customer", "salesperson")[turn % 2],
            "text": "".join(rng.choices(said, k=each)),
        }
        for turn in range(row["turns"])
    ]
    return {
        "id": row["id"], "language": row["language"], "source": "benchmark",
        "product_line": row["category"], "scenario_id": row["scenario_id"], "turns": turns,
    }  # fmt: skip


def make(folder: Path, scenarios: int) -> float:
    """Writes a run; returns the seconds that its leaderboard took."""
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "scores.jsonl", (row for row, _ in cells(scenarios)))
    write_jsonl(folder / "dialogues.jsonl", (d for _, d in cells(scenarios) if d is not None))
    began = time.perf_counter()
    board = leaderboard((row for row, _ in cells(scenarios)), alpha=0.6, seed=0)
    seconds = time.perf_counter() - began
    summary = {"name": "whole table", "rater": "judge", "alpha": 0.6, "notes": [], "usage": {},
               "terminations": {}, "leaderboard": board}  # fmt: skip
    write_json(folder / "summary.json", summary)
    return seconds


async def look(page_file: Path, last: str) -> dict[str, float]:
    """Milliseconds from the start of the navigation, in a fresh browser."""
    async with browser() as page:
        await page.open(page_file.as_uri())
        listed = await page.wait("document.querySelector('#space .item') && performance.now()")
        script = "performance.getEntriesByType('paint').map(e => [e.name, e.startTime])"
        paints = dict(await page.wait(f"(e => e.length > 1 && e)({script})"))
        await page.open(f"{page_file.as_uri()}#{quote(last, safe='')}")
        read = await page.wait("document.querySelector('#dialogue li') && performance.now()")
        assert not page.complaints, page.complaints
    return {
        "first_paint_ms": paints["first-paint"],
        "first_contentful_paint_ms": paints["first-contentful-paint"],
        "list_ms": listed,
        "last_dialogue_ms": read,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/perf/report"))
    parser.add_argument("--scenarios", type=int, default=sum(LANGUAGES.values()))
    parser.add_argument("--looks", type=int, default=5, help="browsers that open the page")
    args = parser.parse_args()
    folder = args.output_dir
    # Elsewhere, or what it needs would be counted: a new process begins with its parent's peak.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        summed = pool.submit(make, folder, args.scenarios).result()
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "salesllm.cli", "report", str(folder)])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        sys.exit("salesllm report failed")
    files = [file for file in (folder / "report").rglob("*") if file.is_file()]
    rows = len(SALESPEOPLE) * len(CUSTOMERS) * args.scenarios
    result: dict[str, Any] = {
        "dialogues": rows,
        "leaderboard_s": round(summed, 1),
        "report_s": round(seconds, 1),
        "report_peak_mb": round(usage.ru_maxrss / 1024),
        "files": len(files),
        "report_mb": round(sum(file.stat().st_size for file in files) / 1e6, 1),
        "page_kb": round((folder / "report/index.html").stat().st_size / 1e3),
        "index_kb": round((folder / "report/data/index.js").stat().st_size / 1e3),
    }
    if CHROMIUM:
        last = [row["id"] for row, dialogue in cells(args.scenarios) if dialogue][-1]
        looks = [
            asyncio.run(look((folder / "report/index.html").resolve(), last))
            for _ in range(args.looks)
        ]
        for name in looks[0]:
            times = [each[name] for each in looks]
            result[name] = round(statistics.median(times))
            result[f"{name}_worst"] = round(max(times))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
