"""Stage `export`: the pairs that `train/dpo.py` trains on, and those it validates on."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salesllm.errors import InputError
from salesllm.files import jsonl, sha256, write_text
from salesllm.preferences.decisions import Decision, Decisions
from salesllm.preferences.pairs import Pair, read_pairs
from salesllm.preferences.records import Records

FILES = {"train": "train.jsonl", "eval": "eval.jsonl"}


def settings(records: Records) -> dict[str, Any]:
    return records.recipe.part("max_pairs", "review", "eval_share", "seed")


def run(records: Records) -> dict[str, Any]:
    """Writes what may be trained on, widest margin first; the same again as often as it is called.

    Raises:
        InputError: There is no such pair, too few scenarios for two parts, or a file of an earlier
            export has been edited since.
    """
    recipe = records.recipe
    pairs = read_pairs(records.final)
    with Decisions(records.decisions) as decisions:
        counts = decisions.counts(pairs)
        found = [(pair, decisions.get(pair)) for pair in pairs]
    optional = recipe.review == "optional"
    kept = [(p, d) for p, d in found if (d.choice != "reject" if d else optional)]
    kept = kept[: recipe.max_pairs]
    if not kept:
        problem, fix = f"none of {len(pairs)} pairs has been accepted", "Run --stage review first"
        if optional or not pairs:
            problem = f"there is no pair to export ({counts['reject']} rejected)"
            fix = "Lower margin, raise low_likeness or candidates, or give more scenarios"
        raise InputError(problem, path=records.final, field="review", fix=fix)
    parts = _split(records, kept)
    texts = {FILES[part]: jsonl(_row(*reviewed) for reviewed in parts[part]) for part in parts}
    _refuse_edited(records, texts)
    for name in FILES.values():
        if name in texts:
            write_text(records.folder / name, texts[name])
        else:
            (records.folder / name).unlink(missing_ok=True)
    return {
        "pairs": {part: len(rows) for part, rows in parts.items()},
        "scenarios": {part: len({p.scenario_id for p, _ in rows}) for part, rows in parts.items()},
        "decisions": counts,
        "files_sha256": {FILES[part]: sha256(records.folder / FILES[part]) for part in parts},
    }


def _refuse_edited(records: Records, texts: Mapping[str, str]) -> None:
    """An export may be made again, but not over what somebody has changed by hand.

    A file that already says what it is to say was written by an export that was cut off.
    """
    written = (records.summary("export") or {}).get("files_sha256", {})
    for name in FILES.values():
        path: Path = records.folder / name
        if not path.exists() or records.recipe.overwrite or sha256(path) == written.get(name):
            continue
        if path.read_bytes() != texts.get(name, "").encode():
            fix = "Move it away, or pass --overwrite true"
            raise InputError("it has been edited since it was exported", path=path, fix=fix)


Reviewed = tuple[Pair, Decision | None]


def _split(records: Records, rows: list[Reviewed]) -> Mapping[str, list[Reviewed]]:
    """Parts that share no scenario."""
    share = records.recipe.eval_share
    if not share:
        return {"train": rows}
    scenarios = sorted({pair.scenario_id for pair, _ in rows})
    random.Random(records.recipe.seed).shuffle(scenarios)
    held: set[str] = set()
    while sum(pair.scenario_id in held for pair, _ in rows) < share * len(rows):
        held.add(scenarios.pop())
    parts = {
        "train": [row for row in rows if row[0].scenario_id not in held],
        "eval": [row for row in rows if row[0].scenario_id in held],
    }
    if not parts["train"]:
        problem = f"{len(held)} scenario(s) are too few to hold a share of {share:g} out"
        fix = "Give more scenarios, or a smaller share"
        raise InputError(problem, path=records.final, field="eval_share", fix=fix)
    return parts


def _row(pair: Pair, decision: Decision | None) -> dict[str, Any]:
    if decision is not None and decision.choice == "edit":
        update = {
            "chosen": decision.chosen,
            "chosen_by": "reviewer",
            "verdicts": {**pair.verdicts, "chosen": None},
        }
        final = pair.model_copy(update=update)
    else:
        final = pair
    review = {"choice": decision.choice, "comment": decision.comment} if decision else None
    return final.row(review=review, reviewed_id=pair.id)
