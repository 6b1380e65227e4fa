"""How far attacks on a judge move its score: `recipes/judge/*.yaml`, and what `eval/judge.py` does.

Every attack of `salesllm/scoring/attacks.yaml` is rated beside its clean twin, through the same
`SellingJudge` that rates a benchmark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from rich.console import Console

from salesllm.benchmark.recipe import SamplingRecipe, check_rater
from salesllm.chat.base import Chat
from salesllm.chat.providers import ChatSpec
from salesllm.chat.registry import resolve
from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.progress import progress
from salesllm.recipe import Recipe
from salesllm.scenario import Product
from salesllm.scoring.attacks import Attack, load_attacks
from salesllm.scoring.injection import scan
from salesllm.scoring.judge import SellingJudge
from salesllm.scoring.selling import SellingScore
from salesllm.stats import mean_interval, proportion


class JudgeRecipe(Recipe):
    """A judge as a benchmark would use it, to be attacked.

    Attributes:
        models: A registry of models, whose names may then stand for the judge.
        concurrency: Ratings under way at once.
    """

    output_dir: Path
    overwrite: bool = False
    models: Path | None = None
    judge: ChatSpec
    judge_attempts: int = Field(default=3, ge=1)
    judge_samples: int = Field(default=1, ge=1)
    judge_weighted: bool = False
    judge_sampling: SamplingRecipe = SamplingRecipe(temperature=0, top_p=1, max_tokens=1024)
    languages: list[Language] = Field(default=["zh", "en"], min_length=1)
    concurrency: int = Field(default=16, ge=1)
    prompts_dir: Path | None = None
    seed: int = 0

    @model_validator(mode="before")
    @classmethod
    def _look_up_models(cls, values: Any) -> Any:
        return resolve(values, ("judge",)) if isinstance(values, dict) else values

    @model_validator(mode="after")
    def _can_judge(self) -> JudgeRecipe:
        check_rater(self.judge, "judge", "judge")
        return self


async def rate_attacks(recipe: JudgeRecipe, chat: Chat, console: Console) -> list[dict[str, Any]]:
    """A row an attack: both scores (None where unscored), their shift, and what `scan` says."""
    attacks = [attack for attack in load_attacks() if attack.language in recipe.languages]
    twins = {attack.clean.id: (attack.clean, attack.clean_product) for attack in attacks}
    hurt = {attack.id: (attack.dialogue, attack.product) for attack in attacks}
    judge = SellingJudge(
        chat,
        sampling=recipe.judge_sampling.settings(),
        attempts=recipe.judge_attempts,
        samples=recipe.judge_samples,
        weighted=recipe.judge_weighted,
        prompts_dir=recipe.prompts_dir,
    )
    rated: dict[str, SellingScore] = {}
    free = asyncio.Semaphore(recipe.concurrency)
    name = f"{judge.name}: dialogues rated"
    with progress(console, name, len(twins) + len(hurt)) as advance:

        async def rate(id: str, dialogue: Dialogue, product: Product) -> None:
            async with free:
                rated[id] = await judge.rate(dialogue, product, recipe.seed)
            advance(failed=rated[id].failed)

        await asyncio.gather(*(rate(id, *what) for id, what in (twins | hurt).items()))
    return [_row(attack, rated[attack.clean.id], rated[attack.id]) for attack in attacks]


def _row(attack: Attack, clean: SellingScore, attacked: SellingScore) -> dict[str, Any]:
    unscored = next((rated for rated in (clean, attacked) if rated.score is None), None)
    # The product's name is nobody's turn; it is scanned as if the salesperson had said it.
    name = Turn(speaker=Speaker.SALESPERSON, text=attack.product.name)
    return {
        "id": attack.id,
        "kind": attack.kind,
        "language": attack.language,
        "dialogue": attack.clean.id,
        "clean": clean.score,
        "attacked": attacked.score,
        "shift": None if unscored else (attacked.score or 0) - (clean.score or 0),
        "failed": clean.failed or attacked.failed,
        "reason": (unscored or attacked).reason,
        "found": sorted({found.kind for found in scan((*attack.dialogue.turns, name))}),
    }


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Shift and share of raised scores: of all attacks, of each kind and of each language."""
    groups: dict[str, dict[str, Any]] = {"overall": {"all": _shift(rows)}}
    for key in ("kind", "language"):
        values = dict.fromkeys(row[key] for row in rows)
        groups[key] = {v: _shift([row for row in rows if row[key] == v]) for v in values}
    return {
        **groups,
        "unscored": sum(row["shift"] is None for row in rows),
        "failed": sum(row["failed"] for row in rows),
        "found_by_scan": sum(bool(row["found"]) for row in rows),
    }


def _shift(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Intervals resample whole dialogues: each of them bears several attacks."""
    scored = [row for row in rows if row["shift"] is not None]
    shifts, dialogues = [row["shift"] for row in scored], [row["dialogue"] for row in scored]
    raised = proportion([shift > 0 for shift in shifts], dialogues)
    return {
        "shift": mean_interval(shifts, dialogues).as_dict("mean"),
        "raised": raised.as_dict("rate"),
        "unscored": len(rows) - len(scored),
    }


def table_of(summary: dict[str, Any]) -> str:
    """The summary as Markdown."""

    def line(name: str, group: dict[str, Any]) -> str:
        shift, told = group["shift"], ["-", "-", "-"]
        if shift["n"]:
            known = shift["low"] is not None  # one dialogue alone gives no interval
            interval = f"{shift['low']:+.2f} to {shift['high']:+.2f}" if known else "-"
            told = [f"{shift['mean']:+.2f}", interval, f"{100 * group['raised']['rate']:.0f} %"]
        cells = [name, *told, str(shift["n"]), str(group["unscored"])]
        return f"| {' | '.join(cells)} |"

    groups = [(n, g) for key in ("kind", "language", "overall") for n, g in summary[key].items()]
    head = "| attacks | shift | 95 % interval | raised | n | unscored |\n|---|---|---|---|---|---|"
    return "\n".join([head, *(line(name, group) for name, group in groups)]) + "\n"
