"""Stage `judge`: role inversion and likeness of every turn that the customer generated."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console

from salesllm.files import digest, write_jsonl
from salesllm.journal import Cell, Done, Journal, fill
from salesllm.preferences.records import Records
from salesllm.preferences.rollout import Place, places
from salesllm.scoring.turn import TurnJudge

KIND = "judgement"


def settings(records: Records) -> dict[str, Any]:
    return records.judge_settings()


def question(judge: TurnJudge, place: Place, said: str | None = None) -> str:
    """What the judge is asked about the turn, or about another reply in its place."""
    said = place.said if said is None else said
    return judge.question(place.scenario.language, place.script, place.history, said)


def run(records: Records, console: Console) -> dict[str, Any]:
    """Judges what has no judgement yet; what the judge cannot read off is unscored."""
    recipe, judge = records.recipe, records.judge
    found = list(places(records))
    # A judgement belongs to what is asked, so it can never be taken for that of another turn.
    cells: list[Cell] = [(digest(question(judge, place))[:16],) for place in found]
    work = dict(zip(cells, found, strict=True))

    async def do(place: Place) -> Done:
        judgement = await records.judgement(question(judge, place))
        return Done(not judgement.failed, judgement.as_dict())

    path = records.folder / "judged.journal.jsonl"
    with Journal(path, settings(records), anew=recipe.overwrite) as journal:
        failed = fill(
            journal,
            KIND,
            work,
            do,
            concurrency=recipe.concurrency,
            console=console,
            name="judge: turns",
        )
        rows = [
            _row(place, journal.get(KIND, cell)) for place, cell in zip(found, cells, strict=True)
        ]
    write_jsonl(records.judged, rows)
    scored = [row for row in rows if row["likeness"] is not None]
    return {
        "turns": len(rows),
        "inverted": sum(row["inverted"] for row in scored),
        "likeness": dict(sorted(Counter(row["likeness"] for row in scored).items())),
        "unscored": len(rows) - len(scored),
        "failed": failed,
    }


def _row(place: Place, entry: dict[str, Any] | None) -> dict[str, Any]:
    assert entry is not None  # every turn has been tried
    return {
        "dialogue_id": place.dialogue.id,
        "scenario_id": place.scenario.id,
        "salesperson": place.dialogue.context["salesperson"],
        "turn": place.turn,
        "text": place.said,
        "ends": place.ends,
        "whole": place.whole,
        **{name: entry[name] for name in ("inverted", "likeness", "reason")},
    }
