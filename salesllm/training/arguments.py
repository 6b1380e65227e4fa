"""What a training recipe may say beside TRL's and transformers' own arguments."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from salesllm.dialogue import Speaker
from salesllm.errors import InputError
from salesllm.recipe import SHELL, read_yaml, unknown_key
from salesllm.training.rows import View


@dataclass
class RunArguments:
    """Shared by every training script."""

    train_file: str = field(metadata={"help": "JSONL to train on"})
    eval_file: str | None = field(default=None, metadata={"help": "JSONL to validate on"})
    eval_share: float = field(
        default=0.05, metadata={"help": "share of train_file held out when there is no eval_file"}
    )
    overwrite: bool = field(
        default=False, metadata={"help": "discard what output_dir holds instead of refusing"}
    )

    def __post_init__(self) -> None:
        for f in fields(self):  # `--eval_file none` takes back what the recipe names
            value = getattr(self, f.name)
            if f.default is None and isinstance(value, str) and value.lower() in ("none", ""):
                setattr(self, f.name, None)
        if not 0 <= self.eval_share < 1:
            raise InputError(f"{self.eval_share} is not in [0, 1)", field="eval_share")


@dataclass
class CustomerArguments(RunArguments):
    """For `train/sft.py`: how dialogues are shown to CustomerLM."""

    viewpoint: str = field(
        default="customer", metadata={"help": "customer, or salesperson to train the other side"}
    )
    scenarios_file: str | None = field(
        default=None, metadata={"help": "scenarios the dialogues name, for their customer scripts"}
    )
    script_style: str = field(default="script", metadata={"help": "script or brief"})
    context_fields: list[str] = field(
        default_factory=list,
        metadata={"help": "context fields shown when a dialogue has no scenario"},
    )
    prompts_dir: str | None = field(default=None, metadata={"help": "folder of your own prompts"})
    mark_end: bool = field(default=True, metadata={"help": "teach the end-of-dialogue marker"})
    loss_on: str = field(
        default="own", metadata={"help": "own turns, or all tokens as in pretraining"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        choices: dict[str, Sequence[str]] = {
            "script_style": ("script", "brief"),
            "viewpoint": tuple(Speaker),
            "loss_on": ("own", "all"),
        }
        _check_choices(self, choices)

    @property
    def view(self) -> View:
        return View(
            viewpoint=Speaker(self.viewpoint),
            script_style="brief" if self.script_style == "brief" else "script",
            context_fields=tuple(self.context_fields),
            mark_end=self.mark_end,
            prompts_dir=self.prompts_dir,
        )


@dataclass
class PreferenceArguments(RunArguments):
    """For `train/dpo.py`."""


@dataclass
class IntentArguments(RunArguments):
    """For `train/intent.py`."""

    language: str = field(default="en", metadata={"help": "zh or en: the language it will score"})
    test_file: str | None = field(default=None, metadata={"help": "JSONL never trained on"})
    schema: str = field(default="binary", metadata={"help": "binary or saleintent"})
    max_tokens: int = field(default=128, metadata={"help": "tokens read, from the dialogue's end"})
    score: str = field(default="expected", metadata={"help": "expected or argmax"})
    patience: int = field(default=3, metadata={"help": "evaluations without a better F1 to stop"})

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = {
            "language": ("zh", "en"),
            "schema": ("binary", "saleintent"),
            "score": ("expected", "argmax"),
        }
        _check_choices(self, choices)


def _check_choices(arguments: object, choices: Mapping[str, Sequence[str]]) -> None:
    for name, allowed in choices.items():
        if (value := getattr(arguments, name)) not in allowed:
            fix = f"Write {' or '.join(allowed)}"
            raise InputError(f"unknown value {value!r}", field=name, fix=fix)


_AT_LEAST_ONE = (
    "per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps",
    "max_length", "max_tokens", "patience",
)  # fmt: skip
_ABOVE_ZERO = ("num_train_epochs", "learning_rate", "beta")


def _check_numbers(arguments: object) -> None:
    """Refuses what TRL and transformers take and stumble over once they train."""
    for names, fits, wanted in (
        (_AT_LEAST_ONE, lambda value: value >= 1, "at least 1"),
        (_ABOVE_ZERO, lambda value: value > 0, "a number above 0"),
        (("max_steps",), lambda value: value == -1 or value >= 1, "at least 1, or -1 for no limit"),
    ):
        for name in names:
            if (value := getattr(arguments, name, None)) is not None and not fits(value):
                raise InputError(f"{value} is too small", field=name, fix=f"Write {wanted}")


def _check_trackers(arguments: object) -> None:
    from transformers.integrations import get_available_reporting_integrations
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    for name in getattr(arguments, "report_to", ()):
        if name not in INTEGRATION_TO_CALLBACK:
            fix = f"Write none or {' or '.join(INTEGRATION_TO_CALLBACK)}"
            raise InputError(f"unknown value {name!r}", field="report_to", fix=fix)
        # `flyte` is the one that transformers never lists as available.
        if name != "flyte" and name not in get_available_reporting_integrations():
            fix = f"Install {name}, or write none"
            raise InputError(f"{name} is not installed", field="report_to", fix=fix)


METRICS = ("loss", "accuracy", "f1")
"""What an intent scorer's validation reports."""


def check_metric(arguments: Any) -> None:
    """Refuses to choose an intent scorer's weights by a figure that nobody computes."""
    if (metric := str(arguments.metric_for_best_model)).removeprefix("eval_") not in METRICS:
        fix = f"Write {' or '.join(METRICS)}"
        raise InputError(f"unknown value {metric!r}", field="metric_for_best_model", fix=fix)


def parse_recipe(types: Sequence[type], argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    """Parses `--config FILE` and command-line overrides into the given dataclasses.

    Raises:
        InputError: An unknown key (with the nearest known one) or a value that does not fit.
    """
    from trl import TrlParser

    arguments = list(sys.argv[1:] if argv is None else argv)
    known = {f.name for cls in types for f in fields(cls)}
    path: Path | None = None
    lines: dict[str, int] = {}
    given: set[str] = set()
    if "--config" in arguments:
        position = arguments.index("--config") + 1
        if position == len(arguments):
            raise InputError("--config needs a file")
        path = Path(arguments[position])
        values, lines = read_yaml(path)
        for key in values:
            if key not in known:
                raise unknown_key(key, known, path, lines[key])
    for word in arguments:
        name = word.removeprefix("--").partition("=")[0].replace("-", "_")
        if word.startswith("--") and name.removeprefix("no_") not in {*known, "help", "config"}:
            raise unknown_key(name, known, SHELL, None)
        if word.startswith("--"):
            given |= {name, name.removeprefix("no_")}
    parser = TrlParser(list(types))
    parser.error = _argument_error
    try:
        parts: tuple[Any, ...] = parser.parse_args_and_config(args=arguments)
        if any(getattr(part, "model_name_or_path", "") is None for part in parts):
            raise InputError("is missing", field="model_name_or_path", fix=_GIVE)
        for part in parts:
            _check_numbers(part)
            _check_trackers(part)
    except InputError as error:
        if error.field in given:
            raise error.at(SHELL) from None
        raise error.at(path, lines.get(error.field or "")) from None
    except (TypeError, ValueError) as error:
        raise InputError(str(error).splitlines()[0].rstrip("."), path=path) from None
    return parts


_GIVE = "Give it in the recipe or on the command line"


def _argument_error(message: str) -> None:
    """Stands in for `ArgumentParser.error`, which would print the usage of all 300 arguments."""
    if match := re.match(r"argument --(\w+)\S*: (.*)", message):
        raise InputError(match[2], field=match[1], fix="Correct it")
    if match := re.search(r"arguments are required: --(\w+)", message):
        raise InputError("is missing", field=match[1], fix=_GIVE)
    raise InputError(message)


def resolved(*parts: Any) -> dict[str, Any]:
    """Every argument with its final value, flat, without secrets."""
    values: dict[str, Any] = {}
    for part in parts:
        values |= part.to_dict() if hasattr(part, "to_dict") else asdict(part)
    return {key: value for key, value in sorted(values.items()) if not key.endswith("_token")}
