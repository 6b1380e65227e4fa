"""Stage `augment`: a better chosen reply by a strong LLM, where the judge finds it no worse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from salesllm.chat.providers import open_chat
from salesllm.dialogue import END_MARKER, Language, Turn
from salesllm.journal import Cell, Done, Journal, fill
from salesllm.preferences.pairs import Pair, Verdict, read_pairs, write_pairs
from salesllm.preferences.records import Records
from salesllm.prompts import load_prompt
from salesllm.scoring.ask import OffFormat, ask
from salesllm.scoring.judge import line_by_line, transcript
from salesllm.simulate import derived_seed, said
from salesllm.training.pairs import bare

PROMPT = "customer_reply"
KIND = "reply"

_NAME = re.compile(r"^(?:customer|客户)\s*[:：]\s*", re.IGNORECASE)
_QUOTES = {'"': '"', "“": "”", "「": "」", "'": "'"}


def settings(records: Records) -> dict[str, Any]:
    written = records.recipe.part("writer", "judge_attempts", "sampling", "seed")
    return written | {"prompts": records.prompts(PROMPT), "judging": records.judge_settings()}


def run(records: Records, console: Console) -> dict[str, Any]:
    """Has a reply written for every pair; the old chosen one stays unless the new is no worse."""
    recipe, judge = records.recipe, records.judge
    assert recipe.writer is not None  # the pipeline knows
    writer, sampling = open_chat(recipe.writer), recipe.sampling.settings()
    pairs = read_pairs(records.pairs)

    async def do(pair: Pair) -> Done:
        written = await ask(
            writer,
            question(pair.language, pair.script, pair.history, recipe.prompts_dir),
            parse,
            sampling=sampling,
            attempts=recipe.judge_attempts,
            seed=derived_seed(recipe.seed, "writer", pair.id),
        )
        if written.value is None:
            return Done(not written.failed, {"text": None, "problem": written.problem})
        text, ends = written.value
        asked = judge.question(pair.language, pair.script, pair.history, text)
        judgement = await records.judgement(asked)
        reply = f"{text} {END_MARKER}" if ends else text
        return Done(not judgement.failed, {"text": reply, **judgement.as_dict()})

    work: dict[Cell, Pair] = {(pair.id,): pair for pair in pairs}
    path = records.folder / "augmented.journal.jsonl"
    with Journal(path, settings(records), anew=recipe.overwrite) as journal:
        failed = fill(
            journal,
            KIND,
            work,
            do,
            concurrency=recipe.concurrency,
            console=console,
            name="augment: pairs",
        )
        outcomes, augmented = Counter[str](), []
        for pair in pairs:
            outcome, after = better(records, pair, journal.get(KIND, (pair.id,)))
            outcomes[outcome] += 1
            augmented.append(after)
    kept = write_pairs(records.augmented, augmented)
    return {"pairs": len(kept), "chosen": dict(outcomes.most_common()), "failed": failed}


def question(
    language: Language, script: str, history: Sequence[Turn], prompts_dir: Path | None
) -> str:
    """The whole prompt that asks for the customer's next message."""
    return load_prompt(PROMPT, language, prompts_dir).render(
        script=line_by_line(script),
        history=transcript(history, language),
        end_marker=END_MARKER,
    )


def parse(answer: str) -> tuple[str, bool]:
    """A customer's line, and whether it is the last, from what the writer gave.

    Raises:
        OffFormat: Nothing is left without the name, the quotation marks and the marker.
    """
    text, ends = said(answer)
    text = _NAME.sub("", text)
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1].strip()
    if not text:
        raise OffFormat("an empty line")
    return text, ends


def better(records: Records, pair: Pair, entry: dict[str, Any] | None) -> tuple[str, Pair]:
    """What became of the writer's reply, and the pair that holds now."""
    assert entry is not None  # every pair has been tried
    if not entry["ok"]:
        return "kept: nobody could be reached", pair
    if entry["text"] is None:
        return "kept: no reply", pair
    if entry["likeness"] is None:
        return "kept: the reply is unscored", pair
    if entry["inverted"]:
        return "kept: the reply is inverted", pair
    chosen = pair.verdicts["chosen"]
    assert chosen is not None  # no person has been here yet
    if entry["likeness"] < chosen.likeness:
        return "kept: the reply is less like a customer", pair
    known = (pair.chosen, pair.rejected, *pair.earlier)
    if bare(entry["text"]) in {bare(text) for text in known}:
        return "kept: the reply is a repetition", pair
    verdict = Verdict(**{name: entry[name] for name in ("inverted", "likeness", "reason")})
    return "replaced", pair.model_copy(
        update={
            "chosen": entry["text"],
            "chosen_by": "writer",
            "verdicts": {**pair.verdicts, "chosen": verdict},
            "versions": pair.versions | records.prompts(PROMPT),
        }
    )
