"""Dialogues, and the two viewpoints from which a chat model can see one.

A turn belongs to the salesperson or to the customer. `user` and `assistant` are words of a
chat model, and change sides with the viewpoint: the model that plays the customer sees its own
turns as `assistant` and the salesperson's as `user`; the salesperson model sees the reverse.
`messages_for` and `from_messages` (`turns_from`) here are the only places where that happens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from salesllm.errors import FieldError, InputError
from salesllm.files import read_jsonl, write_jsonl

END_MARKER = "[END]"
"""Text at the end of a customer's last message. Plain text: no new token, no resized embedding."""

Language = Literal["zh", "en"]
Outcome = Literal["bought", "declined"]


class Message(TypedDict):
    role: str
    content: str


class Speaker(StrEnum):
    SALESPERSON = "salesperson"
    CUSTOMER = "customer"

    @property
    def other(self) -> Speaker:
        return Speaker.CUSTOMER if self is Speaker.SALESPERSON else Speaker.SALESPERSON


def _not_blank(text: str) -> str:
    if not text.strip():
        raise FieldError("is empty", fix="Give it a text")
    return text


def _unmarked(text: str) -> str:
    if END_MARKER in text:
        fix = f"Remove {END_MARKER}: training adds it after the customer's last turn"
        raise FieldError(f"holds the end marker {END_MARKER}", fix=fix)
    return text


def _a_turn(text: str) -> str:
    if not text.strip():
        raise FieldError("is empty", fix="Give it a text, or remove the turn")
    return _unmarked(text)


NonBlank = Annotated[str, AfterValidator(_not_blank)]
Unmarked = Annotated[NonBlank, AfterValidator(_unmarked)]
"""A text that becomes a turn: `END_MARKER` is no part of what anybody says."""


class Turn(BaseModel):
    """One message of one side."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    speaker: Speaker
    text: Annotated[str, AfterValidator(_a_turn)]


class Dialogue(BaseModel):
    """One dialogue record: one JSON object a line in every file of the project.

    Attributes:
        outcome: Whether the customer bought; None where nobody recorded it.
        context: Whatever the source knows beside the turns (a listing, a script). It is never
            shown to a model unless a recipe names the field.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: NonBlank
    language: Language
    source: NonBlank
    product_line: str
    turns: tuple[Turn, ...]
    scenario_id: str | None = None
    outcome: Outcome | None = None
    worker_id: str | None = None
    context: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _both_speak(self) -> Dialogue:
        speakers = {turn.speaker for turn in self.turns}
        if len(speakers) < 2:
            who = f"only the {next(iter(speakers)).value} speaks" if speakers else "there are none"
            problem = f"{who}; a dialogue needs both speakers"
            raise FieldError(problem, field="turns", fix="Remove the record")
        return self

    def messages_for(
        self, viewpoint: Speaker, *, system: str | None = None, mark_end: bool = False
    ) -> list[Message]:
        """The dialogue as `viewpoint` sees it: its own turns are `assistant`, the other's `user`.

        Args:
            viewpoint: Whose conversation this is.
            system: The script of that side, never the other's.
            mark_end: Append `END_MARKER` to the customer's last turn, as CustomerLM is trained.

        Returns:
            One message a turn, in order, after an optional system message. The first may be an
            `assistant` message: whoever speaks first is never dropped.
        """
        return messages_for(self.turns, viewpoint, system=system, mark_end=mark_end)

    @classmethod
    def from_messages(
        cls, messages: Sequence[Message], viewpoint: Speaker, **fields: Any
    ) -> Dialogue:
        """The inverse of `messages_for`: `viewpoint` says whose `assistant` the messages name.

        A system message is left out: it is a script, not a turn. `END_MARKER` is removed.
        """
        turns = [
            {"speaker": speaker, "text": text} for speaker, text in spoken(messages, viewpoint)
        ]
        return cls.model_validate({"turns": turns, **fields})


def turns_from(messages: Sequence[Message], viewpoint: Speaker) -> list[Turn]:
    """`Dialogue.from_messages` for what is not yet a whole dialogue; blank ones are left out."""
    said = spoken(messages, viewpoint)
    return [Turn(speaker=speaker, text=text) for speaker, text in said if text.strip()]


def spoken(messages: Sequence[Message], viewpoint: Speaker) -> Iterator[tuple[Speaker, str]]:
    """Who says what, as `from_messages` reads it, before anything is checked.

    Raises:
        InputError: A role is none of system, user and assistant.
    """
    roles = {_role(speaker, viewpoint): speaker for speaker in Speaker}
    for index, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if message["role"] not in roles:
            raise InputError(
                f"unknown role {message['role']!r}",
                field=f"messages.{index}.role",
                fix="Use system, user or assistant",
            )
        yield roles[message["role"]], strip_end(message["content"])[0]


def _role(speaker: Speaker, viewpoint: Speaker) -> str:
    return "assistant" if speaker is viewpoint else "user"


def messages_for(
    turns: Sequence[Turn],
    viewpoint: Speaker,
    *,
    system: str | None = None,
    mark_end: bool = False,
) -> list[Message]:
    """`Dialogue.messages_for` for turns that are not, or not yet, a whole dialogue."""
    last = max((i for i, t in enumerate(turns) if t.speaker is Speaker.CUSTOMER), default=-1)
    messages = [] if system is None else [Message(role="system", content=system)]
    for index, turn in enumerate(turns):
        text = f"{turn.text.rstrip()} {END_MARKER}" if mark_end and index == last else turn.text
        messages.append(Message(role=_role(turn.speaker, viewpoint), content=text))
    return messages


def strip_end(text: str) -> tuple[str, bool]:
    """Removes a trailing `END_MARKER`; the flag says whether there was one."""
    stripped = text.rstrip()
    if not stripped.endswith(END_MARKER):
        return text, False
    while stripped.endswith(END_MARKER):
        stripped = stripped.removesuffix(END_MARKER).rstrip()
    return stripped, True


def iter_dialogues(path: str | Path) -> Iterator[Dialogue]:
    """Reads dialogue records.

    Raises:
        InputError: Names the file, line and field of the first record that is not one.
    """
    seen: dict[str, int] = {}
    for number, value in read_jsonl(path):
        try:
            dialogue = Dialogue.model_validate(value)
        except ValidationError as error:
            raise dialogue_error(error, path, number) from None
        if dialogue.id in seen:
            problem = f"id {dialogue.id!r} is already on line {seen[dialogue.id]}"
            raise InputError(problem, path=path, line=number, field="id", fix="Make ids unique")
        seen[dialogue.id] = number
        yield dialogue


def read_dialogues(path: str | Path) -> list[Dialogue]:
    return list(iter_dialogues(path))


def write_dialogues(path: str | Path, dialogues: Sequence[Dialogue]) -> None:
    write_jsonl(path, (d.model_dump(mode="json", exclude_defaults=True) for d in dialogues))


_KINDS = {
    "string": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "path": "a path in quotes",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping of fields to values",
    "model": "a mapping of fields to values",
}
"""What a record or recipe has in place of pydantic's types, by the first word of its findings."""

_BOUNDS = {
    "greater_than": ("too small", "Write a number above {gt}"),
    "greater_than_equal": ("too small", "Write at least {ge}"),
    "less_than": ("too large", "Write a number below {lt}"),
    "less_than_equal": ("too large", "Write at most {le}"),
}


def validation_error(
    error: ValidationError, path: str | Path | None = None, line: int | None = None
) -> InputError:
    """The first of pydantic's findings, as one message with its place and what to do."""
    first = error.errors(include_url=False)[0]
    kind, given, context = first["type"], first["input"], first.get("ctx", {})
    field = ".".join(str(part) for part in first["loc"] if part != "[key]")
    problem, fix = first["msg"][0].lower() + first["msg"][1:], "Correct it"
    if isinstance(cause := context.get("error"), FieldError):
        field = f"{field}.{cause.field or ''}".strip(".")
        problem, fix = cause.problem, cause.fix or fix
    elif kind == "missing":
        problem, fix = "is missing", "Add the field"
    elif kind == "extra_forbidden":
        problem, fix = "unknown field", "Remove it"
    elif kind in ("enum", "literal_error"):
        problem, fix = f"unknown value {given!r}", f"Write {context['expected']}"
    elif kind in _BOUNDS:
        size, bound = _BOUNDS[kind]
        problem, fix = f"{given} is {size}", bound.format_map(context)
    elif kind == "too_short":
        problem, fix = "has too few items", f"Give at least {context['min_length']}"
    elif wanted := _KINDS.get(kind.split("_")[0]):
        problem = f"{_shown(given)} is not {wanted.removesuffix(' in quotes')}"
        fix = f"Write {wanted}"
    return InputError(problem, path=path, line=line, field=field or None, fix=fix)


def dialogue_error(error: ValidationError, path: str | Path, line: int) -> InputError:
    """`validation_error` for a dialogue record, which has room for fields of one's own."""
    found = validation_error(error, path, line)
    if error.errors(include_url=False)[0]["type"] == "extra_forbidden":
        fix = "Remove it, or put it under `context`"
        return InputError(found.problem, path=path, line=line, field=found.field, fix=fix)
    return found


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:40]}..."
