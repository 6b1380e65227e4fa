"""An LLM as the rater of the selling (3.3, Appendix G), through any `Chat`."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from salesllm.chat.base import Chat, Sampling
from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.prompts import load_prompt
from salesllm.scenario import Product
from salesllm.scoring.ask import OffFormat, ask, bare_score, json_objects, score_0_to_10
from salesllm.scoring.selling import Evidence, SellingScore, customers_answers

PROMPT = "selling_judge"
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=1024)

SPEAKER_NAME: dict[Language, dict[Speaker, str]] = {
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
        answer = await ask(
            self.chat, text, parse, sampling=self.sampling, attempts=self.attempts, seed=seed
        )
        if answer.failed:
            reason = f"the judge failed: {answer.problem}"
            return SellingScore(None, reason, failed=True, usage=answer.usage)
        if answer.value is None:
            reason = f"no score in {self.attempts} answers; the last: {answer.problem}"
            return SellingScore(None, reason, usage=answer.usage)
        score, reason, quotes = answer.value
        evidence = tuple(_locate(quote, dialogue.turns) for quote in quotes)
        return SellingScore(score, reason, evidence, usage=answer.usage)


def _goal(product: Product, language: Language) -> str:
    if not (product.name and product.price):  # known only to the salesperson's script
        return _GOAL_UNNAMED[language]
    return _GOAL[language].format(name=product.name, price=product.price)


def transcript(turns: Sequence[Turn], language: Language) -> str:
    """One numbered line a turn. No turn can pass for two, or close the tag around them."""
    lines = []
    for number, turn in enumerate(turns, start=1):
        lines.append(f"[{number}] {SPEAKER_NAME[language][turn.speaker]}: {on_one_line(turn.text)}")
    return "\n".join(lines)


def on_one_line(text: str) -> str:
    """A text that can neither begin a line nor close the tag around it."""
    return html.escape(" ".join(text.split()), quote=False)


def line_by_line(text: str) -> str:
    """A script in a prompt: its lines stay lines, each as harmless as `on_one_line` makes it."""
    return "\n".join(on_one_line(line) for line in text.splitlines())


def parse(answer: str) -> tuple[int, str, list[str]]:
    """Score, reason and quotes of a judge's answer.

    The answer may be the JSON object that the prompt asks for, fenced or amid prose, or a bare
    integer, as the paper's own prompt asks for.

    Raises:
        OffFormat: There is no integer from 0 to 10, or there are two different ones.
    """
    found = [value for value in json_objects(answer) if "score" in value]
    if found:
        scores = {score_0_to_10(value["score"]) for value in found}
        if len(scores) > 1:
            raise OffFormat(f"several scores: {sorted(scores)}")
        quotes = found[-1].get("evidence")
        if isinstance(quotes, str):
            quotes = [quotes]
        quotes = [q for q in quotes if isinstance(q, str)] if isinstance(quotes, list) else []
        return scores.pop(), str(found[-1].get("reason") or ""), quotes
    bare = bare_score(answer)
    if bare is None:
        raise OffFormat(f"no score in {answer[:80]!r}" if answer else "an empty answer")
    return score_0_to_10(bare), "", []


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
