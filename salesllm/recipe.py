"""Recipes: one YAML a job, overridden from the command line; an unknown key is an error."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from salesllm.dialogue import validation_error
from salesllm.errors import InputError


class Recipe(BaseModel):
    """Base of every recipe schema that is not a TRL dataclass."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _take_back(cls, values: Any) -> Any:
        """`--key none` takes back what a recipe gives an optional key, as in `train/`."""
        if not isinstance(values, dict):
            return values
        optional = {name for name, field in cls.model_fields.items() if field.default is None}
        return {
            key: None if key in optional and is_none(value) else value
            for key, value in values.items()
        }


def is_none(value: Any) -> bool:
    """Whether the command line takes something back."""
    return isinstance(value, str) and value.lower() in ("none", "")


R = TypeVar("R", bound=Recipe)


def read_yaml(path: str | Path) -> tuple[dict[str, Any], dict[str, int]]:
    """A YAML mapping, and the line of every dotted key in it."""
    path = Path(path)
    if not path.is_file():
        raise InputError("no such recipe", path=path, fix="Check the path after --config")
    try:
        text = path.read_text(encoding="utf-8")
        value, node = yaml.safe_load(text), yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error.reason}", path=path, fix="Save it as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"not YAML: {getattr(error, 'problem', error)}"
        raise InputError(problem, path=path, line=mark.line + 1 if mark else None) from None
    if not isinstance(value, dict):
        raise InputError("a recipe is a mapping of keys to values", path=path)
    return value, dict(_key_lines(node, ""))


def _key_lines(node: yaml.Node | None, prefix: str) -> Iterable[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = f"{prefix}{key.value}"
            yield name, key.start_mark.line + 1
            yield from _key_lines(value, f"{name}.")
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield f"{prefix}{index}", item.start_mark.line + 1
            yield from _key_lines(item, f"{prefix}{index}.")


def unknown_key(
    key: str, known: Iterable[str], path: str | Path | None, line: int | None
) -> InputError:
    """The error for a key that no schema has, with the nearest one that exists."""
    close = difflib.get_close_matches(key.rsplit(".", 1)[-1], list(known), n=1)
    fix = f"Did you mean `{close[0]}`" if close else "Remove it"
    return InputError("unknown key", path=path, line=line, field=key, fix=fix)


def load_recipe(schema: type[R], argv: Sequence[str] | None = None, doc: str | None = None) -> R:
    """Reads `--config FILE` and lets `--dotted.key value` override it.

    Raises:
        InputError: An unknown key or a bad value, with file and line where it is in the file.
    """
    values, path, lines = _given(argv, doc)
    return validate_recipe(schema, values, path, lines)


def load_one_of(
    key: str,
    schemas: Mapping[str, type[Recipe]],
    argv: Sequence[str] | None = None,
    doc: str | None = None,
) -> Recipe:
    """`load_recipe` for a job with several kinds of recipe.

    Args:
        key: The key that says which kind it is.
        schemas: Its values; a recipe without the key is of the first kind.
    """
    values, path, lines = _given(argv, doc)
    kind = values.get(key, next(iter(schemas)))
    if kind not in schemas:
        line, fix = lines.get(key), f"Write {' or '.join(schemas)}"
        place = SHELL if line == 0 else path
        raise InputError(
            f"unknown value {kind!r}", path=place, line=line or None, field=key, fix=fix
        )
    return validate_recipe(schemas[kind], values, path, lines)


def _given(
    argv: Sequence[str] | None, doc: str | None
) -> tuple[dict[str, Any], Path, dict[str, int]]:
    """What recipe and command line say, the recipe's path, and the line of every key."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, required=True, help="the recipe (YAML)")
    known, rest = parser.parse_known_args(argv)
    values, lines = read_yaml(known.config)
    for key, text in _pairs(rest):
        _assign(values, key, _override(key, text))
        # Given on the command line, so no line of the file is to blame for what it holds.
        lines = {k: n for k, n in lines.items() if not k.startswith(f"{key}.")} | {key: 0}
    return values, known.config, lines


def _pairs(rest: Sequence[str]) -> Iterable[tuple[str, str]]:
    items = list(rest)
    while items:
        word = items.pop(0)
        key, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            raise InputError(f"cannot read {word!r} on the command line", fix="Write --key value")
        if not equals and (not items or items[0].startswith("--")):
            fix = f"Write --{key} value"
            raise InputError("it has no value", path=SHELL, field=key, fix=fix)
        yield key, value if equals else items.pop(0)


SHELL = "the command line"
"""Where an error is that no file is to blame for."""


def _override(key: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = f"not YAML: {getattr(error, 'problem', error)}"
        raise InputError(problem, path=SHELL, field=key, fix="Correct it") from None


def _assign(values: dict[str, Any], dotted: str, value: Any) -> None:
    here: Any = values
    names = dotted.split(".")
    for depth, name in enumerate(names):
        above = ".".join(names[:depth])
        if isinstance(here, list):
            if not name.isdecimal() or int(name) >= len(here):
                problem = f"`{above}` has no item {name!r} among its {len(here)}"
                raise InputError(problem, path=SHELL, field=dotted, fix="Count from 0")
        elif not isinstance(here, dict):
            problem = f"`{above}` is {here!r}, which has no keys"
            raise InputError(problem, path=SHELL, field=dotted, fix=f"Give `{above}` as a whole")
        place: Any = int(name) if isinstance(here, list) else name
        if depth == len(names) - 1:
            here[place] = value
        elif isinstance(here, dict) and here.get(place) is None:
            here[place] = {}
        here = here[place]


def validate_recipe(
    schema: type[R], values: dict[str, Any], path: str | Path, lines: dict[str, int]
) -> R:
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        found = validation_error(error)
        key = found.field or ""
        if first["type"] == "extra_forbidden":
            siblings = schema.model_fields if "." not in key else _all_fields(schema)
            found = unknown_key(key, siblings, None, None)
        while key and key not in lines:  # an absent key is to be added where its parent is
            key = key.rpartition(".")[0]
        line = lines.get(key)
        raise found.at(SHELL if line == 0 else path, line or None) from None


def _all_fields(schema: type[BaseModel]) -> set[str]:
    names: set[str] = set()
    for name, field in schema.model_fields.items():
        names.add(name)
        for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(part, type) and issubclass(part, BaseModel):
                names |= _all_fields(part)
    return names
