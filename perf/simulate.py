"""CPU of a turn where the speakers take no time: what `simulate` itself costs.

    python perf/simulate.py

Two speakers that answer at once play dialogues of 20 rounds, with and without the closing check.
The last line is JSON: microseconds a turn, the best of several runs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import time
from collections.abc import Sequence

from salesllm.chat.base import Reply, Sampling, Usage
from salesllm.dialogue import Language, Message
from salesllm.errors import entry_point
from salesllm.scenario import Scenario
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.simulate import simulate

LINES: dict[Language, tuple[str, str]] = {
    "en": (
        "It holds one and a half litres and boils in four minutes, with a two-year warranty on "
        "the base and the element. What would you mostly use it for, number {}?",
        "Hm, that sounds all right, but I worry about the lid, the old one leaked after {} months.",
    ),
    "zh": (
        "这款容量一点五升，四分钟左右烧开，底座和加热盘质保两年。"
        "您平时主要是自己喝水还是家里人一起用，第{}位？",
        "听着还行吧，就是担心盖子，我之前那个用了{}个月就漏水了。",
    ),
}


class Instant:
    """Says its line with another number each time."""

    name = "instant"

    def __init__(self, line: str) -> None:
        self.line, self.numbers = line, itertools.count()

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        return Reply(self.line.format(next(self.numbers)), Usage(11, 5))


async def cost(language: Language, dialogues: int, runs: int, closing: bool) -> float:
    """Microseconds of CPU a turn; the scripts' rendering is among them."""
    salesperson, customer = map(Instant, LINES[language])
    scenario = sample_scenarios(language, 1)[0]
    best = float("inf")
    for _ in range(runs):
        turns, began = 0, time.process_time()
        for seed in range(dialogues):
            done = await simulate(scenario, salesperson, customer, seed=seed, closing=closing)
            turns += len(done.turns) - 1  # the opener is given
        best = min(best, (time.process_time() - began) / turns)
    return 1e6 * best


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dialogues", type=int, default=60)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    figures = {
        f"{language}{'' if closing else '_without_closing'}": asyncio.run(
            cost(language, args.dialogues, args.runs, closing)
        )
        for language in LINES
        for closing in (True, False)
    }
    print(json.dumps({"microseconds_a_turn": figures}))


if __name__ == "__main__":
    main()
