"""What a report says about one dialogue: its flags, what is marked in its turns, the facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from salesllm.report.figures import number, percent

FLAGS = {
    "injection": "Injected text",
    "concession": "Unauthorised concession",
    "cleaned": "Cleaned reply",
    "guard": "Redrawn by the guard",
    "cut": "Cut-off reply",
    "unscored": "Unscored",
}
"""What a row may be flagged with, and what that is called."""

Mark = tuple[int | None, str, str, str]
"""Index of a turn, `evidence`, `concession` or `injection`, the words in the turn, and a remark."""


def flags(row: Mapping[str, Any]) -> Iterator[str]:
    """Those of `FLAGS` that a row of `scores.jsonl` deserves."""
    if row.get("injection"):
        yield "injection"
    if (row.get("grounding") or {}).get("unauthorised"):
        yield "concession"
    if any(any(counts.values()) for counts in (row.get("cleaned") or {}).values()):
        yield "cleaned"
    if (row.get("guard") or {}).get("flagged"):
        yield "guard"
    if row.get("cut_replies"):
        yield "cut"
    if row.get("unscored"):
        yield "unscored"


def marks(row: Mapping[str, Any]) -> list[Mark]:
    """What stands out in the turns, in their order; what is in no turn comes last."""
    found: list[Mark] = [
        (each["turn"], "evidence", each["quote"], _words("evidence", each.get("kind")))
        for each in row.get("selling_evidence") or ()
    ]
    for each in (row.get("grounding") or {}).get("concessions") or ():
        remark = _words("concession", each.get("kind"), each.get("by"))
        found.append((each["turn"], "concession", each["quote"], remark))
    for each in row.get("injection") or ():
        found.append((each["turn"], "injection", each["text"], _words("injected", each["kind"])))
    return sorted(found, key=lambda mark: (mark[0] is None, mark[0] or 0))


def _words(what: str, kind: str | None, by: str | None = None) -> str:
    """`concession: price (by numbers)`."""
    return what + (f": {kind.replace('_', ' ')}" if kind else "") + (f" (by {by})" if by else "")


def facts(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, what is to be said of it), of what there is."""
    found = {
        "Final": "" if row.get("final") is None else number(row["final"], 2),
        "Buying": _buying(row),
        "Selling": _selling(row),
        "Rater's reason": row.get("selling_reason") if row.get("selling") is not None else "",
        "Grounding": _grounding(row.get("grounding")),
        "Unscored": "; ".join(
            f"{what}: {why}" for what, why in (row.get("unscored") or {}).items()
        ),
        "Error": row.get("error"),
        "Cleaned": _cleaned(row.get("cleaned") or {}),
        "Guard": _guard(row.get("guard")),
        "Cut-off replies": row.get("cut_replies") and str(row["cut_replies"]),
        "Propensity": "" if row.get("propensity") is None else f"{row['propensity']:g}",
        "Tokens": _tokens(row.get("usage") or {}, row.get("cost") or {}),
    }
    return [(name, text) for name, text in found.items() if text]


def _buying(row: Mapping[str, Any]) -> str:
    if row.get("buying") is None:
        return ""
    intent = row.get("intent") or {}
    shares = intent.get("probabilities") or {}
    spread = ", ".join(f"{label} {percent(share)}" for label, share in shares.items())
    bought = {True: ", bought", False: ", not bought", None: ""}[row.get("bought")]
    label = f", label {intent['label']}" if intent.get("label") else ""
    return number(row["buying"], 2) + bought + label + (f" ({spread})" if spread else "")


def _selling(row: Mapping[str, Any]) -> str:
    if row.get("selling") is None:
        return ""
    judges = row.get("judges") or {}
    each = ", ".join(
        f"{name} {'unscored' if s is None else f'{s:g}'}" for name, s in judges.items()
    )
    by = each if len(judges) > 1 else f"by {row['rater']}" if row.get("rater") else ""
    return f"{row['selling']:g}" + (f" ({by})" if by else "")


def _grounding(grounding: Mapping[str, Any] | None) -> str:
    if grounding is None:
        return ""
    verdict = {
        True: "an unauthorised concession",
        False: "no unauthorised concession",
        None: "could not be checked",
    }[grounding.get("unauthorised")]
    return verdict + (f": {grounding['reason']}" if grounding.get("reason") else "")


def _cleaned(sides: Mapping[str, Mapping[str, int]]) -> str:
    """`salesperson: reasoning 2, role tag 1`."""
    told = []
    for side, counts in sides.items():
        some = [f"{what.replace('_', ' ')} {n}" for what, n in counts.items() if n]
        if some:
            told.append(f"{side}: {', '.join(some)}")
    return "; ".join(told)


def _guard(guard: Mapping[str, int] | None) -> str:
    if not guard or not guard["flagged"]:
        return ""
    return (
        f"{guard['flagged']} of {guard['drafts']} drafts for {guard['turns']} turns flagged, "
        f"{guard['kept_flagged']} kept"
    )


def _tokens(usage: Mapping[str, Mapping[str, int]], cost: Mapping[str, float | None]) -> str:
    """`salesperson 1,204 in, 310 out, $0.0123`."""
    told = []
    for side, tokens in usage.items():
        text = f"{side} {tokens['prompt_tokens']:,} in, {tokens['completion_tokens']:,} out"
        price = cost.get(side)
        told.append(text if price is None else f"{text}, ${price:.4f}")
    return "; ".join(told)
