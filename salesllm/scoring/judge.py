"""An LLM as the rater of the selling (3.3, Appendix G), through any `Chat`."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from salesllm.chat.base import Chat, Sampling, Usage
from salesllm.dialogue import Dialogue, Language, Message, Speaker, Turn
from salesllm.prompts import load_prompt
from salesllm.scenario import Product
from salesllm.scoring.selling import Evidence, SellingScore, customers_answers

PROMPT = "selling_judge"
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=1024)

_NAMES: dict[Language, dict[Speaker, str]] = {
    "en": {Speaker.SALESPERSON: "Salesperson", Speaker.CUSTOMER: "Customer"},
    "zh": {Speaker.SALESPERSON: "销售", Speaker.CUSTOMER: "客户"},
}
_GOAL: dict[Language, str] = {
    "en": "Sell the {name} ({price}) to this customer.",
    "zh": "让这位客户购买“{name}”（{price}）。",
}
_GOAL_UNNAMED: dict[Language, str] = {
    "en": "Sell the product on offer to this customer.",
    "zh": "让这位客户购买所推销的产品。",
}
_RETRY_TEMPERATURE = 0.5  # at 0 the same question only gets the same answer
_BARE = re.compile(
    r"[\s*_#]*(?:score|评分|得分|分数)?[\s*_:]*(\d{1,4})(?: ?/ ?10| ?分)?[\s*_.。]*", re.IGNORECASE
)


class OffFormat(ValueError):
    """The judge's answer holds no score."""


class SellingJudge:
    """Rates dialogues with an LLM.

    Args:
        chat: Who judges.
        sampling: Greedy by default. Its seed is replaced by the one given to `rate`.
        attempts: How often an answer that holds no score is asked for again, the first included.
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

    async def rate(self, dialogue: Dialogue, product: Product, seed: int = 0) -> SellingScore:
        """Scores one dialogue; never raises for what the judge does or fails to do."""
        prompt = load_prompt(PROMPT, dialogue.language, self.prompts_dir)
        text = prompt.render(
            assistant_goal=_goal(product, dialogue.language),
            history=transcript(dialogue.turns, dialogue.language),
        )
        used, problem = Usage(), ""
        for attempt in range(self.attempts):
            sampling = replace(self.sampling, seed=seed + attempt)
            if attempt:
                warmer = max(sampling.temperature, _RETRY_TEMPERATURE)
                sampling = replace(sampling, temperature=warmer)
            try:
                reply = await self.chat.reply([Message(role="user", content=text)], sampling)
            except Exception as error:  # of whatever kind, it says nothing of the dialogue
                reason = f"the judge failed: {type(error).__name__}: {error}"
                return SellingScore(None, reason, failed=True, usage=used)
            used = Usage(
                used.prompt_tokens + reply.usage.prompt_tokens,
                used.completion_tokens + reply.usage.completion_tokens,
            )
            try:
                score, reason, quotes = parse(reply.text)
            except OffFormat as error:
                problem = str(error)
                continue
            evidence = tuple(_locate(quote, dialogue.turns) for quote in quotes)
            return SellingScore(score, reason, evidence, usage=used)
        return SellingScore(
            None, f"no score in {self.attempts} answers; the last: {problem}", usage=used
        )


def _goal(product: Product, language: Language) -> str:
    if not (product.name and product.price):  # known only to the salesperson's script
        return _GOAL_UNNAMED[language]
    return _GOAL[language].format(name=product.name, price=product.price)


def transcript(turns: Sequence[Turn], language: Language) -> str:
    """One numbered line a turn. No turn can pass for two, or close the tag around them."""
    lines = []
    for number, turn in enumerate(turns, start=1):
        said = html.escape(" ".join(turn.text.split()), quote=False)
        lines.append(f"[{number}] {_NAMES[language][turn.speaker]}: {said}")
    return "\n".join(lines)


def parse(text: str) -> tuple[int, str, list[str]]:
    """Score, reason and quotes of a judge's answer.

    The answer may be the JSON object that the prompt asks for, fenced or amid prose, or a bare
    integer, as the paper's own prompt asks for.

    Raises:
        OffFormat: There is no integer from 0 to 10, or there are two different ones.
    """
    # What a reasoning model thought aloud is no answer, least of all if it never came to an end.
    answer = text.rpartition("</think>")[2].partition("<think>")[0].strip()
    found = [value for value in _objects(answer) if "score" in value]
    if found:
        scores = {_integer(value["score"]) for value in found}
        if len(scores) > 1:
            raise OffFormat(f"several scores: {sorted(scores)}")
        quotes = found[-1].get("evidence")
        if isinstance(quotes, str):
            quotes = [quotes]
        quotes = [q for q in quotes if isinstance(q, str)] if isinstance(quotes, list) else []
        return scores.pop(), str(found[-1].get("reason") or ""), quotes
    bare = _BARE.fullmatch(unicodedata.normalize("NFKC", answer))
    if bare is None:
        raise OffFormat(f"no score in {answer[:80]!r}" if answer else "an empty answer")
    return _integer(bare[1]), "", []


def _objects(text: str) -> list[dict[str, Any]]:
    """Every JSON object in a text, outermost ones only."""
    decoder, found, start = json.JSONDecoder(strict=False), [], text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # a number of 5,000 digits is a plain ValueError
            end = start + 1
        else:
            found.append(value)
        start = text.find("{", end)
    return found


def _integer(value: Any) -> int:
    """0-10 from 7, 7.0, "7", "７" or "7/10"."""
    if isinstance(value, str):
        bare = _BARE.fullmatch(unicodedata.normalize("NFKC", value))
        value = int(bare[1]) if bare else value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise OffFormat(f"the score is no integer: {value!r}")
    if not 0 <= value <= 10:
        raise OffFormat(f"the score is not between 0 and 10: {value!r}")
    return int(value)


def _locate(quote: str, turns: Sequence[Turn]) -> Evidence:
    """The quote with the customer's turn that holds it, if one does."""
    quote = html.unescape(quote).strip()
    wanted = _letters(quote)
    answers = customers_answers(turns)
    turn = next((i for i, text in answers if wanted and wanted in _letters(text)), None)
    return Evidence(quote, turn)


def _letters(text: str) -> str:
    """Letters and digits alone: judges mend punctuation, case and width when they quote."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())
