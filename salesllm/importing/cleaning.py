"""What is done to dialogues before they are split: masked, checked for language, deduplicated."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from salesllm.dedup import near_duplicates
from salesllm.dialogue import Dialogue
from salesllm.importing.masking import Kind, find_personal, mask
from salesllm.importing.readers import Place, Rejected

D = TypeVar("D", bound=Dialogue)

OWN_SHARE = 0.3
"""A dialogue is in its language if at least this share of its words is."""
FEWEST_WORDS = 8
"""Dialogues below are not judged: "ok" and "iPhone 15?" are said in either language."""

_CHINESE = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS = {
    "zh": re.compile(f"[{_CHINESE}]"),  # a character counts as a word
    "en": re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’][a-z]+)?"),
}
_OTHER = re.compile(rf"[^\W\d_A-Za-z\u00c0-\u024f{_CHINESE}]")


@dataclass(frozen=True)
class Masked:
    """A piece of personal data that was masked.

    Attributes:
        field: Where it stood, e.g. `turns.3.text`; for a key, the mapping it is a key of.
        shown: It, mostly starred out, with the words around it.
    """

    kind: Kind
    field: str
    shown: str


def mask_dialogue(dialogue: D) -> tuple[D, list[Masked]]:
    """The dialogue with placeholders for the personal data in its turns and its context."""
    found: list[Masked] = []
    record = dialogue.model_dump(mode="json")
    for index, turn in enumerate(record["turns"]):
        turn["text"] = _masked(turn["text"], f"turns.{index}.text", found)
    record["context"] = _masked(record["context"], "context", found)
    return (type(dialogue).model_validate(record) if found else dialogue), found


def rejected_row(rejected: Rejected) -> dict[str, Any]:
    """A row of JSON that says where the record is and why it was rejected; masked."""
    return {
        "file": str(rejected.place.file),
        "line": rejected.place.line,
        "id": rejected.id,
        "field": _masked(rejected.field, "", []),
        "reason": _masked(rejected.reason, "", []),
        "raw": _mask_raw(rejected.raw),
    }


def _mask_raw(raw: str) -> str:
    """JSON is masked text by text; what is no JSON, as it stands."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return _masked(re.sub(r"\\[nrtu]", "  ", raw), "", [])
    text = json.dumps(_masked(value, "", []), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # half a character cannot be written


def _masked(value: Any, place: str, found: list[Masked]) -> Any:
    if isinstance(value, dict):
        names = _masked_keys(value, place, found)
        return {
            name: _masked(item, f"{place}.{name}", found)
            for name, item in zip(names, value.values(), strict=True)
        }
    if isinstance(value, list):
        return [_masked(item, f"{place}.{index}", found) for index, item in enumerate(value)]
    if isinstance(value, bool | float) or value is None:
        return value
    text = str(value)
    finds = find_personal(text)
    starred = list(text)
    for find in finds:
        starred[find.start + 2 : find.end - 1] = "*" * (find.end - find.start - 3)
    for find in finds:
        around = "".join(starred[max(0, find.start - 12) : find.end + 12])
        found.append(Masked(find.kind, place, " ".join(around.split())))
    return mask(text, finds) if finds else value


def _masked_keys(keys: Collection[str], place: str, found: list[Masked]) -> list[str]:
    """They remain unique: a second `[PHONE]` is `[PHONE]#2`."""
    taken = set(keys)
    names = []
    for key in keys:
        name = placeholder = _masked(key, place, found)
        number = 1
        while name != key and name in taken:
            number += 1
            name = f"{placeholder}#{number}"
        taken.add(name)
        names.append(name)
    return names


def wrong_language(dialogue: Dialogue) -> str | None:
    """Why the dialogue is not in the language it names; None if it is, or is too short to tell.

    Chinese characters and Latin words are counted, and letters of other scripts. Names and models
    make much of a Chinese dialogue Latin, so that an even mixture passes as either language.
    """
    text = "\n".join(turn.text for turn in dialogue.turns)
    counts = {language: len(word.findall(text)) for language, word in _WORDS.items()}
    total = sum(counts.values()) + len(_OTHER.findall(text))
    if total < FEWEST_WORDS or counts[dialogue.language] >= OWN_SHARE * total:
        return None
    share = counts[dialogue.language] / total
    return f"says {dialogue.language}, but {share:.0%} of its words are (at least {OWN_SHARE:.0%})"


@dataclass(frozen=True)
class Repeated:
    """Dialogue `index` repeats the earlier dialogue `of`, which is kept.

    Attributes:
        similarity: 1 for the same turns; below, or for other turns with the same words, the
            Jaccard index of all that is said.
    """

    index: int
    of: int
    exact: bool
    similarity: float


def repetitions(dialogues: Sequence[Dialogue], threshold: float | None) -> list[Repeated]:
    """Dialogues with the same turns as an earlier one, then near duplicates of what is left.

    Args:
        threshold: Jaccard index from which two dialogues are near duplicates; None looks for
            exact ones only.
    """
    first: dict[tuple[tuple[str, str], ...], int] = {}
    found, left = [], []
    for index, dialogue in enumerate(dialogues):
        said = tuple((turn.speaker.value, turn.text.strip()) for turn in dialogue.turns)
        of = first.setdefault(said, index)
        if of == index:
            left.append(index)
        else:
            found.append(Repeated(index, of, True, 1.0))
    if threshold is not None:
        texts = ["\n".join(turn.text for turn in dialogues[index].turns) for index in left]
        found += [
            Repeated(left[near.index], left[near.of], False, near.similarity)
            for near in near_duplicates(texts, threshold)
        ]
    return sorted(found, key=lambda repeated: repeated.index)


@dataclass(frozen=True)
class Clean(Generic[D]):
    """What became of accepted dialogues: `kept`, `rejected` and `repeated` are all of them.

    Attributes:
        repeated: Repetitions as rows of JSON: `id` repeats `of`.
        masked: Each masking with its place.
        named: Ids of dialogues that bear personal data in a field that is never masked.
    """

    kept: list[D]
    rejected: list[Rejected]
    repeated: list[dict[str, Any]]
    masked: list[tuple[Place, Masked]]
    named: list[str]


def clean(
    accepted: Sequence[tuple[Place, D]], *, masking: bool = True, threshold: float | None = 0.8
) -> Clean[D]:
    """Masks, checks the language, and removes repetitions, in this order.

    Args:
        threshold: As in `repetitions`.
    """
    places, dialogues, named = [], [], []
    rejected: list[Rejected] = []
    masked: list[tuple[Place, Masked]] = []
    for place, dialogue in accepted:
        if masking:
            dialogue, found = mask_dialogue(dialogue)
            masked += [(place, one) for one in found]
        if reason := wrong_language(dialogue):
            raw = dialogue.model_dump_json()
            rejected.append(Rejected(place, dialogue.id, "language", reason, raw))
            continue
        if any(find_personal(name) for name in _names(dialogue)):
            named.append(dialogue.id)
        places.append(place)
        dialogues.append(dialogue)
    repeated = repetitions(dialogues, threshold)
    rows = [
        {
            "id": dialogues[one.index].id,
            "of": dialogues[one.of].id,
            "exact": one.exact,
            "similarity": round(one.similarity, 4),
            "file": str(places[one.index].file),
            "line": places[one.index].line,
        }
        for one in repeated
    ]
    gone = {one.index for one in repeated}
    kept = [dialogue for index, dialogue in enumerate(dialogues) if index not in gone]
    return Clean(kept, rejected, rows, masked, named)


def _names(dialogue: Dialogue) -> list[str]:
    fields = (dialogue.id, dialogue.worker_id, dialogue.scenario_id, dialogue.product_line)
    return [name for name in (*fields, dialogue.source) if name]
