"""What people decide about pairs: kept line by line, and carried to and from spreadsheets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from salesllm.dialogue import END_MARKER, strip_end
from salesllm.errors import InputError
from salesllm.journal import Journal
from salesllm.preferences.pairs import Pair
from salesllm.scoring.judge import SPEAKER_NAME
from salesllm.sheets import read_sheet, write_sheet
from salesllm.training.pairs import bare

Choice = Literal["accept", "edit", "reject"]
_REQUIRED = ("id", "decision", "chosen")
COLUMNS = (*_REQUIRED, "comment")
_TO_READ = ("language", "context", "rejected", "reason_chosen", "reason_rejected")
_KIND = "decision"


@dataclass(frozen=True)
class Decision:
    """One pair as a person left it.

    Attributes:
        chosen: The reply to be chosen: the pair's own, unless the person wrote another one.
    """

    choice: Choice
    chosen: str
    comment: str = ""


class Decisions:
    """The decisions about the pairs of one folder; each is on the disk before the next is made.

    A decision belongs to the words of its pair: where these change, the pair is open again.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path, {"kind": "decisions about preference pairs"})

    def __enter__(self) -> Decisions:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.__exit__()

    def get(self, pair: Pair) -> Decision | None:
        """None where nobody has decided yet, or somebody took it back."""
        entry = self._journal.get(_KIND, (pair.id,))
        if entry is None or entry["choice"] is None:
            return None
        return Decision(entry["choice"], entry["chosen"], entry["comment"])

    def put(self, pair: Pair, decision: Decision | None) -> None:
        if decision is None:
            self._journal.append(_KIND, (pair.id,), ok=True, choice=None)
            return
        self._journal.append(
            _KIND,
            (pair.id,),
            ok=True,
            choice=decision.choice,
            chosen=decision.chosen,
            comment=decision.comment,
        )

    def counts(self, pairs: Sequence[Pair]) -> dict[str, int]:
        """Pairs by decision; `open` without one."""
        found = Counter(d.choice if (d := self.get(pair)) else "open" for pair in pairs)
        return {name: found[name] for name in (*get_args(Choice), "open")}


def decided(pair: Pair, choice: Choice, chosen: str, comment: str = "") -> Decision:
    """A decision about a pair, checked: `accept` with other words is an `edit`.

    Raises:
        InputError: The reply is empty, has the marker in its middle, or says what `rejected` says.
    """
    if choice == "reject":
        return Decision("reject", pair.chosen, comment)
    text = " ".join(chosen.split())
    said, ends = strip_end(text)
    problem = None
    if not said.strip():
        problem, fix = "is empty", "Write the reply, or reject the pair"
    elif END_MARKER in said:
        problem, fix = f"has {END_MARKER} in its middle", "Put it at the very end, or remove it"
    elif bare(text) == bare(pair.rejected):
        problem, fix = "says the same as the rejected reply", "Change it, or reject the pair"
    if problem:
        raise InputError(problem, field="chosen", fix=fix)
    if text == " ".join(pair.chosen.split()):
        return Decision("accept", pair.chosen, comment)
    return Decision("edit", f"{said.strip()} {END_MARKER}" if ends else text, comment)


def export_sheet(path: Path, pairs: Sequence[Pair], decisions: Decisions) -> None:
    """A row a pair: what to fill in first, what to read behind it."""
    write_sheet(path, (*COLUMNS, *_TO_READ), [_sheet_row(pair, decisions) for pair in pairs])


def _sheet_row(pair: Pair, decisions: Decisions) -> dict[str, str]:
    decision = decisions.get(pair)
    row = {
        "id": pair.id,
        "decision": decision.choice if decision else "",
        "chosen": decision.chosen if decision else pair.chosen,
        "comment": decision.comment if decision else "",
        "language": pair.language,
        "context": context(pair),
        "rejected": pair.rejected,
    }
    for side, verdict in pair.verdicts.items():
        row[f"reason_{side}"] = f"{verdict.likeness}/10: {verdict.reason}" if verdict else ""
    return row


def context(pair: Pair, tail: int | None = None) -> str:
    """The last turns of the dialogue so far, a line each, without the script."""
    names, turns = SPEAKER_NAME[pair.language], pair.history
    start = max(0, len(turns) - tail) if tail else 0
    return "\n".join(f"{names[t.speaker]}: {' '.join(t.text.split())}" for t in turns[start:])


def import_sheet(path: Path, pairs: Sequence[Pair], decisions: Decisions) -> int:
    """Takes over the decisions of a sheet and returns how many there were; blank ones stay open.

    Without a column `comment`, the comments there are stay.

    Raises:
        InputError: Names line and field of the first bad row, and the lines of the others. No
            decision has been taken over then.
    """
    pair_of = {pair.id: pair for pair in pairs}
    read: dict[str, Decision] = {}
    lines: dict[str, int] = {}
    errors: list[InputError] = []
    for line, row in read_sheet(path, _REQUIRED):
        try:
            if row["id"] in lines:
                problem = f"{row['id']!r} is already on line {lines[row['id']]}"
                raise InputError(problem, field="id", fix="Keep one of the rows")
            lines[row["id"]] = line
            if decision := _read_row(row, pair_of, decisions):
                read[row["id"]] = decision
        except InputError as error:
            errors.append(error.at(path, line))
    if errors:
        first, others = errors[0], ", ".join(str(error.line) for error in errors[1:])
        problem = first.problem + (f" (bad rows also on line {others})" if others else "")
        raise InputError(problem, path=path, line=first.line, field=first.field, fix=first.fix)
    for name, decision in read.items():
        if decisions.get(pair_of[name]) != decision:
            decisions.put(pair_of[name], decision)
    return len(read)


def _read_row(
    row: dict[str, str], pair_of: dict[str, Pair], decisions: Decisions
) -> Decision | None:
    if row["id"] not in pair_of:
        problem, fix = (
            f"there is no pair {row['id']!r}",
            "Export the sheet again: the pairs changed",
        )
        raise InputError(problem, field="id", fix=fix)
    choice = row["decision"].casefold()
    if not choice:
        return None
    pair = pair_of[row["id"]]
    before = decisions.get(pair)
    comment = row.get("comment", before.comment if before else "")
    for known in get_args(Choice):
        if choice == known:
            return decided(pair, known, row["chosen"], comment)
    fix = f"Write {', '.join(get_args(Choice))}, or nothing"
    raise InputError(f"unknown decision {row['decision']!r}", field="decision", fix=fix)
