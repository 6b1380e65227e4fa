"""From dialogues and preference pairs to what the trainers read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salesllm.dialogue import Dialogue, Message, Speaker
from salesllm.errors import InputError
from salesllm.files import read_jsonl
from salesllm.recipe import unknown_key
from salesllm.scenario import Scenario, find_scenario
from salesllm.scenarios.scripts import ScriptStyle, system_prompt
from salesllm.training.template import IGNORE, render_text, render_with_labels

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class View:
    """How a dialogue is shown to the model; a checkpoint keeps it, so that serving agrees.

    Attributes:
        viewpoint: The side the model plays: the customer, except for a salesperson model.
        script_style: `script`, or `brief` for tiny models.
        context_fields: Fields of a dialogue's `context` shown when it has no scenario.
        mark_end: Whether the last customer turn bears the end-of-dialogue marker.
    """

    viewpoint: Speaker = Speaker.CUSTOMER
    script_style: ScriptStyle = "script"
    context_fields: tuple[str, ...] = ()
    mark_end: bool = True
    prompts_dir: str | None = None

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> View:
        """The view a checkpoint was trained with, from its `customerlm.json`."""
        names = {f.name for f in fields(cls)}
        values = {name: value for name, value in card.items() if name in names}
        values["viewpoint"] = Speaker(values["viewpoint"])
        return cls(**values | {"context_fields": tuple(values["context_fields"])})

    def messages(self, dialogue: Dialogue, scenario: Scenario | None) -> list[Message]:
        """The dialogue from the model's side, up to its own last turn."""
        system = system_prompt(
            self.viewpoint,
            dialogue,
            scenario,
            style=self.script_style,
            context_fields=self.context_fields,
            prompts_dir=self.prompts_dir,
        )
        messages = dialogue.messages_for(self.viewpoint, system=system, mark_end=self.mark_end)
        while messages[-1]["role"] != "assistant":  # nothing after it bears loss
            messages.pop()
        return messages


@dataclass
class Rows:
    """Tokenized rows and what became of each record.

    Attributes:
        rows: Columns `input_ids` and `labels`.
        truncated: Rows that lost whole turns at the front to fit `max_length`.
        unsupervised: Records left without a token in the loss, which are not in `rows`.
    """

    rows: list[dict[str, list[int]]] = field(default_factory=list)
    truncated: int = 0
    unsupervised: int = 0

    @property
    def supervised_tokens(self) -> int:
        return sum(label != IGNORE for row in self.rows for label in row["labels"])


def sft_rows(
    dialogues: Iterable[Dialogue],
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_length: int,
    view: View,
    scenarios: Mapping[str, Scenario] | None = None,
    source: str | Path = "",
    loss_on_all: bool = False,
) -> Rows:
    """One row a dialogue, with loss on the model's own side only, unless on all tokens.

    A dialogue over `max_length` tokens loses its oldest turns, never its script nor its ending:
    how a sale ends is what CustomerLM must learn.

    Raises:
        InputError: A scenario is missing, or no row has a supervised token.
    """
    result = Rows()
    for dialogue in dialogues:
        scenario = find_scenario(dialogue, scenarios, source or None)
        messages = view.messages(dialogue, scenario)
        ids, labels = render_with_labels(tokenizer, messages)
        whole = len(messages)
        while len(ids) > max_length and len(messages) > 2:
            del messages[1]
            ids, labels = render_with_labels(tokenizer, messages)
        result.truncated += len(messages) < whole
        if len(ids) > max_length:
            result.unsupervised += 1
            continue
        result.rows.append({"input_ids": ids, "labels": list(ids) if loss_on_all else labels})
    if not result.rows:
        raise InputError(
            f"no dialogue of {result.unsupervised} keeps a supervised token in {max_length} tokens",
            path=source or None,
            field="max_length",
            fix="Raise max_length, or shorten the scripts with script_style: brief",
        )  # fmt: skip
    return result


@dataclass(frozen=True)
class Preference:
    """One pair: the customer's view up to the salesperson's last message, and two replies."""

    prompt: list[Message]
    chosen: str
    rejected: str

    def row(self, tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
        """TRL's plain-text preference row: rendered here, so that the loss covers the reply and
        its end-of-turn token and nothing after it, and both read as in SFT."""
        prompt = render_text(tokenizer, self.prompt, generate=True)

        def reply(text: str) -> str:
            whole = render_text(tokenizer, [*self.prompt, Message(role="assistant", content=text)])
            return whole.removeprefix(prompt).removesuffix("\n")

        return {"prompt": prompt, "chosen": reply(self.chosen), "rejected": reply(self.rejected)}


def fits(pair: Preference, tokenizer: PreTrainedTokenizerBase, max_length: int | None) -> bool:
    """Whether the prompt and the longer reply fit: a cut reply would be scored as if it ended."""
    if max_length is None:
        return True
    row = pair.row(tokenizer)
    lengths = [len(tokenizer.encode(row["prompt"] + row[s])) for s in ("chosen", "rejected")]
    return max(lengths) <= max_length


def fitting(
    pairs: Sequence[Preference],
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None,
    source: str | Path,
) -> list[Preference]:
    """The pairs that fit.

    Raises:
        InputError: None of them does.
    """
    kept = [pair for pair in pairs if fits(pair, tokenizer, max_length)]
    if not kept:
        raise InputError(
            f"none of {len(pairs)} pair(s) fits into {max_length} tokens",
            path=source,
            field="max_length",
            fix="Raise max_length",
        )
    return kept


def read_preferences(path: str | Path) -> list[Preference]:
    """Reads conversational preference rows (`prompt`, `chosen`, `rejected`: lists of messages).

    A row may also hold two whole conversations without `prompt`; they must then agree in all but
    their last message.

    Raises:
        InputError: Names line and field of the first bad row: sides that are equal, prompts that
            differ, a reply that is not the customer's (`assistant`), an empty text, a key that is
            almost one of the three. Any other key goes along.
    """
    return [_preference(value, path, number) for number, value in read_jsonl(path)]


def _preference(value: Mapping[str, Any], path: str | Path, line: int) -> Preference:
    def error(problem: str, name: str, fix: str) -> InputError:
        return InputError(problem, path=path, line=line, field=name, fix=fix)

    names = ("prompt", "chosen", "rejected")
    for key in value:
        if key not in names and difflib.get_close_matches(key, names, cutoff=0.85):
            raise unknown_key(key, names, path, line)
    sides: dict[str, list[Message]] = {}
    for name in names:
        if name not in value:
            if name == "prompt":
                continue
            raise error("is missing", name, "Add the field")
        sides[name] = _messages(value[name], name, error)
    prompt = sides.get("prompt", [])
    chosen, rejected = sides["chosen"], sides["rejected"]
    if chosen[:-1] != rejected[:-1]:
        raise error("its prompt differs from that of `chosen`", "rejected",
                    "A pair shares its whole prompt: script and history")  # fmt: skip
    prompt = prompt + chosen[:-1]
    if not prompt:
        raise error("there is no prompt", "prompt", "Add the script and the history")
    if prompt[-1]["role"] == "assistant":
        raise error("the prompt ends with the customer's own message", "prompt",
                    "End it with the salesperson's (`user`)")  # fmt: skip
    for name, side in (("chosen", chosen), ("rejected", rejected)):
        if side[-1]["role"] != "assistant":
            raise error("the reply is not the customer's", name, "Give it the role assistant")
    if chosen[-1]["content"].strip() == rejected[-1]["content"].strip():
        raise error("chosen and rejected are the same reply", "rejected", "Remove the pair")
    return Preference(prompt, chosen[-1]["content"], rejected[-1]["content"])


def _messages(value: Any, name: str, error: Any) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise error("is not a list of messages", name, 'Write [{"role": ..., "content": ...}]')
    for index, item in enumerate(value):
        role = item.get("role") if isinstance(item, dict) else None
        if role not in ("system", "user", "assistant"):
            fix = "Use system, user (the salesperson) or assistant (the customer)"
            raise error(f"unknown role {role!r}", f"{name}.{index}.role", fix)
        content = item.get("content")
        if not isinstance(content, str) or not content.strip():
            raise error("is empty", f"{name}.{index}.content", "Give it a text")
    return [Message(role=item["role"], content=item["content"]) for item in value]


def preference_messages(preference: Preference, **provenance: Any) -> dict[str, Any]:
    """The row `read_preferences` reads back, with whatever provenance goes along."""
    reply = {"chosen": preference.chosen, "rejected": preference.rejected}
    sides = {k: [Message(role="assistant", content=text)] for k, text in reply.items()}
    return {"prompt": preference.prompt, **sides, **provenance}


def preview_mask(ids: Sequence[int], labels: Sequence[int]) -> list[tuple[list[int], bool]]:
    """Runs of consecutive tokens that are all inside (True) or all outside the loss."""
    runs: list[tuple[list[int], bool]] = []
    for token, label in zip(ids, labels, strict=True):
        inside = label != IGNORE
        if runs and runs[-1][1] == inside:
            runs[-1][0].append(token)
        else:
            runs.append(([token], inside))
    return runs
