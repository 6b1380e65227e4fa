"""An LLM as the judge of a single customer turn: whose part it plays, and how like a customer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salesllm.chat.base import Chat, Sampling, Usage
from salesllm.dialogue import Language, Turn
from salesllm.prompts import load_prompt
from salesllm.scoring.ask import OffFormat, ask, json_objects, score_0_to_10
from salesllm.scoring.judge import line_by_line, on_one_line, transcript

PROMPT = "turn_judge"
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=512)


@dataclass(frozen=True)
class Judgement:
    """What the judge says of one turn.

    Attributes:
        inverted: Whether the customer speaks as the salesperson would; None where the judge gave
            no readable answer, as `likeness`: the turn is unscored.
        likeness: How like a real customer, 0-10.
        reason: Why, or why there is no judgement.
        failed: Whether the judge could not be reached: worth asking again later.
    """

    inverted: bool | None
    likeness: int | None
    reason: str
    failed: bool = False
    usage: Usage = field(default_factory=Usage)

    def as_dict(self) -> dict[str, Any]:
        """For a file's row."""
        return {"inverted": self.inverted, "likeness": self.likeness, "reason": self.reason}


class TurnJudge:
    """Judges turns with an LLM.

    Args:
        chat: Who judges.
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
        self.chat, self.sampling, self.attempts = chat, sampling, attempts
        self.prompts_dir = prompts_dir

    def question(self, language: Language, script: str, history: Sequence[Turn], said: str) -> str:
        """The whole prompt about one turn.

        Args:
            script: The customer's own script.
            history: All turns before it.
            said: The turn, without the end-of-dialogue marker.
        """
        return load_prompt(PROMPT, language, self.prompts_dir).render(
            script=line_by_line(script),
            history=transcript(history, language),
            message=on_one_line(said),
        )

    async def judge(self, question: str, seed: int = 0) -> Judgement:
        """Answers a `question`; never raises for what the judge does or fails to do."""
        answer = await ask(
            self.chat, question, parse, sampling=self.sampling, attempts=self.attempts, seed=seed
        )
        if answer.failed:
            problem = f"the judge failed: {answer.problem}"
            return Judgement(None, None, problem, failed=True, usage=answer.usage)
        if answer.value is None:
            problem = f"no judgement in {self.attempts} answers; the last: {answer.problem}"
            return Judgement(None, None, problem, usage=answer.usage)
        return Judgement(*answer.value, usage=answer.usage)


def parse(answer: str) -> tuple[bool, int, str]:
    """Inversion, likeness and reason from the JSON object of an answer.

    Raises:
        OffFormat: There is none, it lacks one of the two, or there are two that differ.
    """
    found = [value for value in json_objects(answer) if {"inverted", "likeness"} <= value.keys()]
    if not found:
        raise OffFormat(f"no judgement in {answer[:80]!r}" if answer else "an empty answer")
    judged = {(_flag(value["inverted"]), score_0_to_10(value["likeness"])) for value in found}
    if len(judged) > 1:
        raise OffFormat("several judgements that differ")
    return *judged.pop(), str(found[-1].get("reason") or "")


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    if not isinstance(value, bool):
        raise OffFormat(f"`inverted` is neither true nor false: {value!r}")
    return value
