"""Stage `pair`: a bad turn against the best of further replies of the customer's in its place."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from salesllm.dialogue import END_MARKER
from salesllm.files import checkpoint_sha256, digest, read_jsonl
from salesllm.journal import Cell, Done, Journal, fill
from salesllm.preferences.judge import question
from salesllm.preferences.pairs import Pair, Verdict, write_pairs
from salesllm.preferences.records import Records
from salesllm.preferences.rollout import Place, places
from salesllm.scoring.turn import Judgement
from salesllm.simulate import derived_seed, said
from salesllm.training.pairs import bare

KIND = "candidates"


@dataclass(frozen=True)
class Candidate:
    """A reply with its verdict; the text bears the marker where the customer ends the dialogue."""

    text: str
    verdict: Verdict


def settings(records: Records) -> dict[str, Any]:
    return _drawing(records) | records.recipe.part("low_likeness", "margin")


def _drawing(records: Records) -> dict[str, Any]:
    """What candidates depend on; which of them are chosen may change without drawing anew."""
    drawn = records.recipe.part("customer", "candidates", "sampling", "seed")
    return drawn | {"judging": records.judge_settings()}


def run(records: Records, console: Console) -> dict[str, Any]:
    """Draws and judges candidates in the place of every bad turn, and keeps the contrasts."""
    recipe = records.recipe
    bad, dropped = _bad(records)
    cells: list[Cell] = [(digest(place.prompt)[:16],) for place, _ in bad]
    work = {cell: place for cell, (place, _) in zip(cells, bad, strict=True)}
    local = [Path(recipe.customer.model)] if recipe.customer.provider == "local" else []
    header = _drawing(records) | {"checkpoints_sha256": checkpoint_sha256(local)}
    with Journal(records.folder / "pairs.journal.jsonl", header, anew=recipe.overwrite) as journal:
        failed = fill(
            journal,
            KIND,
            work,
            _draw(records),
            concurrency=recipe.concurrency,
            console=console,
            name="pair: bad turns",
        )
        pairs = []
        for cell, (place, rejected) in zip(cells, bad, strict=True):
            entry = journal.get(KIND, cell)
            assert entry is not None  # every bad turn has been tried
            if not entry["ok"]:
                continue
            chosen = _best(place, rejected, entry["candidates"], recipe.low_likeness, recipe.margin)
            if isinstance(chosen, Candidate):
                pairs.append(_pair(records, place, chosen, rejected))
            else:
                dropped[chosen] += 1
    kept = write_pairs(records.pairs, pairs)
    return {
        "bad_turns": len(bad),
        "pairs": len(kept),
        "repeated": len(pairs) - len(kept),
        "without_a_pair": dict(dropped),
        "failed": failed,
    }


def _bad(records: Records) -> tuple[list[tuple[Place, Candidate]], Counter[str]]:
    """Turns to be rejected, and how many others could not be used, by reason."""
    bad, dropped = [], Counter[str]()
    for place, (_, row) in zip(places(records), read_jsonl(records.judged), strict=True):
        if row["likeness"] is None:
            dropped["the turn is unscored"] += 1
        elif row["inverted"] or row["likeness"] <= records.recipe.low_likeness:
            if place.whole:
                bad.append((place, Candidate(_marked(place.said, place.ends), _verdict(row))))
            else:
                dropped["the turn was cut off"] += 1
    return bad, dropped


def _draw(records: Records) -> Callable[[Place], Awaitable[Done]]:
    """What `fill` does in one place: draw all candidates, judge those that can be used."""
    recipe, judge, sampling = records.recipe, records.judge, records.recipe.sampling.settings()

    async def reply(place: Place, number: int) -> tuple[str, bool] | None:
        seed = derived_seed(recipe.seed, "candidate", digest(place.prompt), number)
        drawn = await records.customer.reply(
            place.prompt, replace(sampling, seed=seed), place.scenario
        )
        text, ends = said(drawn.text)
        return (text, ends) if text and drawn.finish_reason == "stop" else None

    async def verdict(place: Place, text: str) -> Judgement:
        return await records.judgement(question(judge, place, text))

    async def do(place: Place) -> Done:
        numbers = range(recipe.candidates)
        drawn = await asyncio.gather(*(reply(place, n) for n in numbers), return_exceptions=True)
        for result in drawn:
            if isinstance(result, BaseException):
                return Done(False, {"error": f"{type(result).__name__}: {result}"})
        texts = dict.fromkeys(found for found in drawn if isinstance(found, tuple))
        judged = await asyncio.gather(*(verdict(place, text) for text, _ in texts))
        for judgement in judged:
            if judgement.failed:
                return Done(False, {"error": judgement.reason})
        candidates = [
            {"text": text, "ends": ends, **judgement.as_dict()}
            for (text, ends), judgement in zip(texts, judged, strict=True)
        ]
        return Done(True, {"candidates": candidates})

    return do


def _best(
    place: Place,
    rejected: Candidate,
    candidates: Sequence[dict[str, Any]],
    low_likeness: int,
    margin: int,
) -> Candidate | str:
    """The candidate to be chosen, the first drawn of equals; or why there is none."""
    if not candidates:
        return "no whole answer"
    known = {bare(rejected.text), *map(bare, place.earlier)}
    new = [c for c in candidates if bare(c["text"]) not in known]
    if not new:
        return "only repetitions"
    scored = [c for c in new if c["likeness"] is not None]
    if not scored:
        return "the candidates are unscored"
    good = [c for c in scored if not c["inverted"] and c["likeness"] > low_likeness]
    if not good:
        return "no good candidate"
    best = max(good, key=lambda c: int(c["likeness"]))
    if best["likeness"] - rejected.verdict.likeness < margin:
        return "no contrast"
    return Candidate(_marked(best["text"], best["ends"]), _verdict(best))


def _verdict(row: dict[str, Any]) -> Verdict:
    return Verdict(**{name: row[name] for name in ("inverted", "likeness", "reason")})


def _marked(text: str, ends: bool) -> str:
    return f"{text} {END_MARKER}" if ends else text


def _pair(records: Records, place: Place, chosen: Candidate, rejected: Candidate) -> Pair:
    context = place.dialogue.context
    return Pair(
        script=place.script,
        history=place.history,
        chosen=chosen.text,
        rejected=rejected.text,
        chosen_by="customer",
        verdicts={"chosen": chosen.verdict, "rejected": rejected.verdict},
        language=place.scenario.language,
        scenario_id=place.scenario.id,
        dialogue_id=place.dialogue.id,
        turn=place.turn,
        salesperson=context["salesperson"],
        customer=context["customer"],
        versions=records.judge_settings()["prompts"],
    )
