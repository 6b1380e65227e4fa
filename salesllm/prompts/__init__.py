"""Prompt templates: one Jinja file a prompt and language, which a user's folder may override."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from salesllm.dialogue import Language
from salesllm.errors import InputError

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Prompt:
    """A template and where it came from.

    Attributes:
        version: First 12 hex digits of the SHA-256 of the template's text; results record it.
    """

    name: str
    language: Language
    text: str
    path: Path

    @property
    def version(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def render(self, **values: Any) -> str:
        """Raises `InputError` when the template names a value that is not given."""
        try:
            return _compiled(self.text).render(**values).strip()
        except jinja2.UndefinedError as error:
            known = ", ".join(sorted(values))
            raise InputError(str(error), path=self.path, fix=f"Use only {known}") from None
        except jinja2.TemplateSyntaxError as error:
            raise InputError(str(error), path=self.path, line=error.lineno) from None


@functools.cache
def _compiled(text: str) -> jinja2.Template:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(text)


def load_prompt(name: str, language: Language, prompts_dir: str | Path | None = None) -> Prompt:
    """`<language>/<name>.j2` from `prompts_dir` if it is there, else the built-in one."""
    for folder in (Path(prompts_dir) if prompts_dir else None, _HERE):
        if folder is not None and (path := folder / language / f"{name}.j2").is_file():
            return Prompt(name, language, path.read_text(encoding="utf-8"), path)
    raise InputError(f"there is no prompt {name!r} in {language!r}", field="prompts_dir")


def prompt_versions(
    names: Iterable[str], languages: Iterable[Language], prompts_dir: str | Path | None = None
) -> dict[str, str]:
    """`<language>/<name>` to the version of its template, for a result's record."""
    pairs = itertools.product(sorted(languages), names)
    prompts = [load_prompt(name, language, prompts_dir) for language, name in pairs]
    return {f"{prompt.language}/{prompt.name}": prompt.version for prompt in prompts}
