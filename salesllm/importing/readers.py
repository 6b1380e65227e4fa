"""Raw logs as dialogue records: every record becomes a dialogue or a `Rejected` with its reason.

Who is the customer is said by the user, never guessed. Turns stay as they were written: two of one
speaker in a row remain two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from salesllm.dialogue import END_MARKER, Dialogue, Message, Speaker, dialogue_error, spoken
from salesllm.errors import InputError
from salesllm.files import json_object, read_lines

ROLES = {"human": "user", "gpt": "assistant"}
"""ShareGPT's names for the roles of a chat model."""


@dataclass(frozen=True)
class Place:
    """Where a record begins, or its faulty row in CSV.

    `line` is the item's number where the file is one JSON list.
    """

    file: Path
    line: int


@dataclass(frozen=True)
class Rejected:
    """A record that is no dialogue.

    Attributes:
        id: The record's id, as far as it has one.
        raw: The record as it stood in the file.
    """

    place: Place
    id: str | None
    field: str | None
    reason: str
    raw: str

    @property
    def kind(self) -> str:
        """What records that are rejected alike share: field and reason but for their numbers."""
        return re.sub(r"\d+", "0", f"{self.field}: {self.reason}")


@dataclass(frozen=True)
class Draft:
    """The fields of a record, not yet checked."""

    place: Place
    fields: Mapping[str, Any]
    raw: str = field(repr=False)

    def reject(self, error: InputError) -> Rejected:
        given = self.fields.get("id")
        name = given if isinstance(given, str) else None
        reason = error.problem + (f". {error.fix}" if error.fix else "")
        place = Place(self.place.file, error.line or self.place.line)
        return Rejected(place, name, error.field, reason, self.raw)


def read_records(path: Path) -> Iterator[Draft | Rejected]:
    """Dialogue records of our own (docs/data.md), one JSON object a line or a JSON list of them."""
    for place, raw in _items(path):
        try:
            yield Draft(place, json_object(raw), raw)
        except InputError as error:
            yield Draft(place, {}, raw).reject(error)


def read_messages(path: Path, customer_role: str) -> Iterator[Draft | Rejected]:
    """Chats of a model: `messages` (role, content), or ShareGPT's `conversations` (from, value).

    A system message goes to `context.system`, as do fields that a dialogue has not to `context`.
    A record without an id is called by its file and line.

    Args:
        customer_role: The role that is the customer's: user or assistant, human or gpt.

    Raises:
        InputError: It is none of these.
    """
    role = ROLES.get(customer_role, customer_role)
    if role not in ("user", "assistant"):
        problem, fix = f"unknown role {customer_role!r}", "Use user, assistant, human or gpt"
        raise InputError(problem, field="customer_role", fix=fix)
    viewpoint = Speaker.CUSTOMER if role == "assistant" else Speaker.SALESPERSON
    for draft in read_records(path):
        if isinstance(draft, Rejected):
            yield draft
            continue
        try:
            yield Draft(draft.place, _chat_fields(draft, viewpoint), draft.raw)
        except InputError as error:
            yield draft.reject(error)


def accept(
    drafts: Iterable[Draft | Rejected],
    model: type[Dialogue],
    fields: Mapping[str, str] | None = None,
    labelled: type[Dialogue] | None = None,
) -> tuple[list[tuple[Place, Dialogue]], list[Rejected]]:
    """Dialogues with their places, and what is none.

    Args:
        model: The record.
        fields: What every record gets, whatever it says itself: a language, a source.
        labelled: The record for those that have a `label`; None for `model`.
    """
    accepted: list[tuple[Place, Dialogue]] = []
    rejected: list[Rejected] = []
    seen: dict[str, Place] = {}
    for draft in drafts:
        if isinstance(draft, Rejected):
            rejected.append(draft)
            continue
        try:
            given = {**draft.fields, **(fields or {})}
            kind = labelled if labelled and "label" in given else model
            dialogue = kind.model_validate(given)
        except ValidationError as error:
            found = dialogue_error(error, draft.place.file, draft.place.line)
            rejected.append(draft.reject(found))
            continue
        first = seen.setdefault(dialogue.id, draft.place)
        if first is not draft.place:
            problem = f"is already in {first.file}:{first.line}"
            rejected.append(draft.reject(InputError(problem, field="id", fix="Make ids unique")))
            continue
        accepted.append((draft.place, dialogue))
    return accepted, rejected


def _items(path: Path) -> Iterator[tuple[Place, str]]:
    """The records' JSON: one a line, or the items of a list, as exports often are."""
    lines = read_lines(path)
    number, first = next(lines)
    if first.lstrip().startswith("["):
        try:
            items = json.loads(path.read_text(encoding="utf-8-sig"))
            texts = [json.dumps(item) for item in items]  # escapes half characters: they are found
        except (ValueError, RecursionError):
            pass  # not one list; its lines may still be records
        else:
            if not items:
                raise InputError("the list is empty", path=path, fix="Give at least one record")
            yield from ((Place(path, index), text) for index, text in enumerate(texts, start=1))
            return
    yield Place(path, number), first
    yield from ((Place(path, number), text) for number, text in lines)


def _chat_fields(draft: Draft, viewpoint: Speaker) -> dict[str, Any]:
    value = dict(draft.fields)
    names = [name for name in ("messages", "conversations") if name in value]
    if len(names) != 1:
        problem = "has both" if names else "is missing, and so is `conversations`"
        raise InputError(problem, field="messages", fix="Give a record one of the two")
    messages = list(_messages(value.pop(names[0]), names[0]))
    known = {name: value.pop(name) for name in list(value) if name in _FIELDS}
    context = known.pop("context", None) or {}
    if not isinstance(context, dict):
        raise InputError("is not a mapping", field="context", fix="Write a mapping of fields")
    scripts = [message["content"] for message in messages if message["role"] == "system"]
    if scripts:
        value["system"] = "\n\n".join(scripts)
    if both := context.keys() & value.keys():
        raise InputError("is given twice", field=f"context.{min(both)}", fix="Remove one of them")
    fields = {"id": f"{draft.place.file.stem}-{draft.place.line}", "context": context | value}
    fields |= {name: given for name, given in known.items() if given is not None}
    if isinstance(fields["id"], int):
        fields["id"] = str(fields["id"])
    if messages and messages[-1]["content"].strip() == END_MARKER:
        messages.pop()  # it says no more than that the dialogue ended
    turns = [{"speaker": speaker, "text": text} for speaker, text in spoken(messages, viewpoint)]
    return fields | {"turns": turns}


_FIELDS = frozenset(Dialogue.model_fields) - {"turns"}


def _messages(value: Any, name: str) -> Iterator[Message]:
    role_key, text_key = ("role", "content") if name == "messages" else ("from", "value")
    if not isinstance(value, list):
        raise InputError("is not a list", field=name, fix="Write a list of messages")
    for index, message in enumerate(value):
        for key in (role_key, text_key):
            if not isinstance(message, dict) or not isinstance(message.get(key), str):
                raise InputError("is not a text", field=f"{name}.{index}.{key}", fix="Correct it")
        role = message[role_key]
        yield Message(role=ROLES.get(role, role), content=message[text_key])
