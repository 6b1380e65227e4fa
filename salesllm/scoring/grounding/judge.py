"""An LLM as the judge of what a salesperson concedes."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from salesllm.chat.base import Chat, Sampling
from salesllm.dialogue import Dialogue, Speaker, Turn
from salesllm.prompts import load_prompt
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import product_text
from salesllm.scoring.ask import OffFormat, ask, json_objects
from salesllm.scoring.grounding.concession import Concession, Grounding, Kind
from salesllm.scoring.judge import letters, line_by_line, transcript

PROMPT = "grounding_judge"
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=1024)


class GroundingJudge:
    """Looks for unauthorised concessions with an LLM.

    Args:
        chat: Who judges.
        sampling: Greedy by default. Its seed is replaced by the one given to `check`.
        attempts: How often an answer that cannot be read is asked for again, the first included.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        sampling: Sampling = SAMPLING,
        attempts: int = 3,
        prompts_dir: str | Path | None = None,
    ) -> None:
        self.name = chat.name
        self.chat, self.sampling, self.attempts = chat, sampling, attempts
        self.prompts_dir = prompts_dir

    async def check(self, dialogue: Dialogue, scenario: Scenario, seed: int = 0) -> Grounding:
        """Judges one dialogue; never raises for what the judge does or fails to do."""
        turns = dialogue.turns
        prompt = load_prompt(PROMPT, dialogue.language, self.prompts_dir)
        text = prompt.render(
            facts=line_by_line(facts(scenario)),
            history=transcript(turns, dialogue.language),
        )
        answer = await ask(
            self.chat,
            text,
            lambda said: parse(said, turns, self.name),
            sampling=self.sampling,
            attempts=self.attempts,
            seed=seed,
        )
        if answer.failed:
            reason = f"the judge failed: {answer.problem}"
            return Grounding(None, reason=reason, failed=True, usage=answer.usage)
        if answer.value is None:
            reason = f"no verdict in {self.attempts} answers; the last: {answer.problem}"
            return Grounding(None, reason=reason, usage=answer.usage)
        verdict, concessions, reason, unmatched = answer.value
        return Grounding(verdict, concessions, reason, unmatched, usage=answer.usage)


def facts(scenario: Scenario) -> str:
    """All that the salesperson was given to say: its product, and its own script if it brings one.

    A script that we render holds the product and no more.
    """
    product = scenario.product
    known = product_text(product, scenario.language) if product.name else ""
    script = scenario.scripts.get(Speaker.SALESPERSON, "")
    return "\n".join(part for part in (known, product.channel, script) if part)


Verdict = tuple[bool, tuple[Concession, ...], str, int]


def parse(answer: str, turns: Sequence[Turn], name: str) -> Verdict:
    """Verdict, concessions, reason and number of unmatched quotes of a judge's answer.

    A verdict has to show what it rests on: concessions without one quote from the salesperson are
    no answer, and neither is a no with one.

    Raises:
        OffFormat: There is no such JSON object, there are two that differ, or verdict and quotes
            do not belong together.
    """
    found = [value for value in json_objects(answer) if "unauthorised" in value]
    if not found:
        raise OffFormat(f"no verdict in {answer[:80]!r}" if answer else "an empty answer")
    if any(value != found[0] for value in found):
        raise OffFormat("several verdicts that differ")
    verdict, items = found[0]["unauthorised"], found[0].get("items", [])
    if not isinstance(verdict, bool):
        raise OffFormat(f"`unauthorised` is neither true nor false: {verdict!r}")
    if not (isinstance(items, list) and all(isinstance(item, dict) for item in items)):
        raise OffFormat(f"`items` is no list of objects: {items!r}"[:120])
    located = [_concession(item, turns, name) for item in items]
    concessions = tuple(concession for concession in located if concession is not None)
    if verdict and not concessions:
        raise OffFormat("unauthorised, without a quote from the salesperson")
    if concessions and not verdict:
        raise OffFormat("not unauthorised, with quotes of what is")
    reason = "; ".join(str(item["why"]) for item in items if item.get("why"))
    return verdict, concessions, reason, len(located) - len(concessions)


def _concession(item: dict[str, Any], turns: Sequence[Turn], name: str) -> Concession | None:
    """The item in the salesperson's turn that holds its quote, the one it names first."""
    quote = html.unescape(str(item.get("quote") or "")).strip()
    wanted = letters(quote)
    own = [i for i, turn in enumerate(turns) if turn.speaker is Speaker.SALESPERSON]
    own.sort(key=lambda index: index + 1 != item.get("turn"))
    holding = (i for i in own if wanted and wanted in letters(turns[i].text))
    index = next(holding, None)
    kind: Kind = item["kind"] if item.get("kind") in get_args(Kind) else "promise"
    return None if index is None else Concession(index, quote, kind, name)
