"""A registry of models (`recipes/models.yaml`): a recipe names them, and they are known in full."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from salesllm.chat.providers import ChatSpec
from salesllm.errors import FieldError
from salesllm.recipe import is_none, read_yaml, validate_recipe

FIELD = "models"
"""The key under which a recipe names its registry."""


def read_registry(path: str | Path) -> dict[str, dict[str, Any]]:
    """Every model of a registry by its name, as the values of a `ChatSpec`.

    An entry without a `provider` is an endpoint; its `name` is the one it is registered under.

    Raises:
        InputError: An entry is no `ChatSpec`; with file, line and field.
    """
    entries, lines = read_yaml(path)
    registry = {}
    for name, entry in entries.items():
        own = {key.removeprefix(f"{name}."): n for key, n in lines.items() if key != name}
        if isinstance(entry, dict):
            entry = {"provider": "endpoint", "name": name, **entry}
        validate_recipe(ChatSpec, entry, path, own | {"": lines[name]})
        registry[name] = entry
    return registry


def resolve(
    values: Mapping[str, Any], fields: Sequence[str], words: Collection[str] = ()
) -> dict[str, Any]:
    """A recipe's raw values, with its registry's models in place of their names.

    A name is a text, or `{use: name, key: value}` with other values for some of the model's keys.

    Args:
        fields: The recipe's keys that hold a model or a list of models.
        words: What a key may say instead of a model's name.

    Raises:
        FieldError: There is no such model, or no registry to look a name up in.
        InputError: The registry cannot be used.
    """
    path = values.get(FIELD)
    if path is None or is_none(path):
        registry = {}
    elif Path(path).is_file():
        registry = read_registry(path)
    else:
        raise FieldError(f"there is no file {path}", field=FIELD, fix="Check the path")
    found = dict(values)
    for field in set(fields) & values.keys():
        value = values[field]
        if isinstance(value, list):
            found[field] = [
                _model(each, f"{field}.{index}", registry, ()) for index, each in enumerate(value)
            ]
        else:
            found[field] = _model(value, field, registry, words)
    return found


def _model(
    value: Any, field: str, registry: Mapping[str, dict[str, Any]], words: Collection[str]
) -> Any:
    if isinstance(value, str):
        value = value if value in words or is_none(value) else {"use": value}
    if not isinstance(value, dict) or "use" not in value:
        return value
    name = value["use"]
    if not registry:
        fix = f"Add `{FIELD}: recipes/models.yaml`, or write the model out"
        raise FieldError(f"{name!r} is a model of no registry", field=field, fix=fix)
    if name not in registry:
        close = difflib.get_close_matches(str(name), [*registry, *words], n=1, cutoff=0.4)
        fix = f"Did you mean `{close[0]}`" if close else f"Choose from {', '.join(registry)}"
        raise FieldError(f"there is no model {name!r}", field=field, fix=fix)
    return registry[name] | {key: given for key, given in value.items() if key != "use"}
