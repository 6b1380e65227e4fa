"""An LLM as the rater of the selling (3.3, Appendix G), through any `Chat`."""

from __future__ import annotations

import asyncio
import html
import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from salesllm.chat.base import Chat, Sampling, Usage
from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.errors import InputError
from salesllm.files import digest
from salesllm.prompts import load_prompt
from salesllm.scenario import Product
from salesllm.scoring.ask import Answer, OffFormat, ask, bare_score, json_objects, score_0_to_10
from salesllm.scoring.disguise import visible
from salesllm.scoring.injection import defused
from salesllm.scoring.selling import Evidence, SellingScore, customers_answers
from salesllm.scoring.weighing import TOP, weighted_score

Verdict = tuple[int, str, list[str]]
"""Score, reason and quotes, as a judge gives them."""

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
_KEYS = ("score", "评分", "得分", "分数")


class SellingJudge:
    """Rates dialogues with an LLM.

    Args:
        chat: Who judges.
        sampling: Greedy by default. Its seed is replaced by the one given to `rate`.
        attempts: How often an answer that holds no score is asked for again, the first included.
        samples: Answers to one dialogue, whose median is the score.
        weighted: Take the mean of 0-10 under the judge's own probabilities, where the endpoint
            tells them (`SellingScore.weighted` says whether it did), instead of the one it drew.

    Raises:
        InputError: Several samples of a greedy judge, which are all the same.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        sampling: Sampling = SAMPLING,
        attempts: int = 3,
        samples: int = 1,
        weighted: bool = False,
        prompts_dir: str | Path | None = None,
    ) -> None:
        if samples > 1 and sampling.temperature == 0:
            problem = f"{samples} samples at temperature 0 are {samples} times the same"
            raise InputError(problem, field="temperature", fix="Raise it, or take one sample")
        self.name = chat.name
        self.chat, self.attempts, self.samples = chat, attempts, samples
        self.sampling = replace(sampling, top_logprobs=TOP) if weighted else sampling
        self.prompts_dir = prompts_dir

    async def rate(self, dialogue: Dialogue, product: Product, seed: int = 0) -> SellingScore:
        """Scores one dialogue; never raises for what the judge does or fails to do."""
        text = question(dialogue, product, self.prompts_dir)
        answers = await asyncio.gather(
            *(
                ask(
                    self.chat,
                    text,
                    parse,
                    sampling=self.sampling,
                    attempts=self.attempts,
                    seed=seed + sample * self.attempts,
                )
                for sample in range(self.samples)
            )
        )
        return self._score(answers, dialogue.turns)

    def _score(self, answers: Sequence[Answer[Verdict]], turns: Sequence[Turn]) -> SellingScore:
        usage = sum((answer.usage for answer in answers), Usage())
        samples = tuple(answer.value[0] if answer.value else None for answer in answers)
        problems = [answer for answer in answers if answer.value is None]
        if failed := [answer for answer in problems if answer.failed]:
            reason = f"the judge failed: {failed[0].problem}"
            return SellingScore(None, reason, failed=True, usage=usage, samples=samples)
        if 2 * len(problems) > len(answers):
            times = len(problems) * self.attempts
            reason = f"no score in {times} answers; the last: {problems[-1].problem}"
            return SellingScore(None, reason, usage=usage, samples=samples)
        given = [(answer.value, answer.reply) for answer in answers if answer.value]
        weights = [
            weighted_score(reply.tokens, value[0]) for value, reply in given if reply is not None
        ]
        weighted = [weight for weight in weights if weight is not None]
        is_weighted = self.sampling.top_logprobs > 0 and len(weighted) == len(given)
        score = median(weighted if is_weighted else [value[0] for value, _ in given])
        (_, reason, quotes), _ = min(given, key=lambda each: abs(each[0][0] - score))
        evidence = tuple(_locate(quote, turns) for quote in quotes)
        return SellingScore(
            score, reason, evidence, usage=usage, samples=samples, weighted=is_weighted
        )


def question(dialogue: Dialogue, product: Product, prompts_dir: str | Path | None = None) -> str:
    """The whole prompt about one dialogue.

    What the assessed have written, the product's text included, comes to the template between two
    tags of a name that no text of theirs can know or hold.
    """
    prompt = load_prompt(PROMPT, dialogue.language, prompts_dir)
    goal = on_one_line(defused(_goal(product, dialogue.language)))
    history = transcript(dialogue.turns, dialogue.language)
    return prompt.render(
        assistant_goal=fenced(goal, "goal"), history=fenced(history, "conversation")
    )


def fenced(text: str, name: str) -> str:
    """The text between two tags: the same for the same text, and none that it holds."""
    marks = (digest([text, attempt])[:12] for attempt in itertools.count())
    tag = f"{name}-{next(mark for mark in marks if mark not in text)}"
    return f"<{tag}>\n{text}\n</{tag}>"


def _goal(product: Product, language: Language) -> str:
    if not (product.name and product.price):  # known only to the salesperson's script
        return _GOAL_UNNAMED[language]
    return _GOAL[language].format(name=product.name, price=product.price)


def transcript(turns: Sequence[Turn], language: Language) -> str:
    """One numbered line a turn. No turn can pass for two, nor for the other speaker's."""
    lines = []
    for number, turn in enumerate(turns, start=1):
        said = on_one_line(defused(turn.text))
        lines.append(f"[{number}] {SPEAKER_NAME[language][turn.speaker]}: {said}")
    return "\n".join(lines)


def on_one_line(text: str) -> str:
    """A text that can neither begin a line nor close the tag around it, and hides nothing."""
    return html.escape(" ".join(visible(text).split()), quote=False)


def line_by_line(text: str) -> str:
    """A script in a prompt: its lines stay lines, each as harmless as `on_one_line` makes it."""
    return "\n".join(on_one_line(line) for line in text.splitlines())


def parse(answer: str) -> Verdict:
    """Score, reason and quotes of a judge's answer.

    The answer may be the JSON object that the prompt asks for, fenced or amid prose; or a bare
    integer, as the paper's own prompt asks for; or hold a line with nothing but "Score: 7".

    Raises:
        OffFormat: There is no integer from 0 to 10, or there are two different ones.
    """
    found = [value for value in json_objects(answer) if _scores_in(value)]
    bare = (bare_score(answer), *map(_labelled_score, answer.splitlines()))
    read = {score for score in bare if score is not None}
    if found:
        scores = {score_0_to_10(score) for value in found for score in _scores_in(value)} | read
        if len(scores) > 1:
            raise OffFormat(f"several scores: {sorted(scores)}")
        quotes = found[-1].get("evidence")
        if isinstance(quotes, str):
            quotes = [quotes]
        quotes = [q for q in quotes if isinstance(q, str)] if isinstance(quotes, list) else []
        return scores.pop(), str(found[-1].get("reason") or ""), quotes
    if len(read) > 1:
        raise OffFormat(f"several scores: {sorted(read)}")
    if not read:
        raise OffFormat(f"no score in {answer[:80]!r}" if answer else "an empty answer")
    return score_0_to_10(read.pop()), "", []


def _scores_in(value: dict[str, Any]) -> list[Any]:
    return [item for key, item in value.items() if key.strip().casefold() in _KEYS]


def _labelled_score(line: str) -> int | None:
    """A line's score if it says that it is one: a number alone may count something else."""
    return bare_score(line) if re.search(r"[^\W\d]|/", line) else None


def _locate(quote: str, turns: Sequence[Turn]) -> Evidence:
    """The quote with the customer's turn that holds it, if one does."""
    quote = html.unescape(quote).strip()
    wanted = letters(quote)
    answers = customers_answers(turns)
    turn = next((i for i, text in answers if wanted and wanted in letters(text)), None)
    return Evidence(quote, turn)


def letters(text: str) -> str:
    """Letters and digits alone: judges mend punctuation, case and width when they quote."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())
