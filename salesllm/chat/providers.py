"""Speakers by name, as recipes give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from salesllm.chat.base import Chat
from salesllm.files import read_json
from salesllm.recipe import Recipe


class ChatSpec(Recipe):
    """One speaker of a recipe.

    Attributes:
        provider: `endpoint` (OpenAI-compatible) or `local` (a checkpoint folder).
        model: The endpoint's model name, or the folder.
        name: What tables call it; `provider/model` where it is not given.
        script_style: Style of the customer's script; a CustomerLM checkpoint brings its own.
    """

    provider: Literal["endpoint", "local"]
    model: str
    name: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    concurrency: int = 16
    timeout_s: float = 120.0
    script_style: Literal["script", "brief"] | None = None

    @model_validator(mode="after")
    def _complete(self) -> ChatSpec:
        if self.provider == "endpoint" and not self.base_url:
            raise ValueError("base_url: an endpoint needs one")
        if not self.name:
            self.name = f"{self.provider}/{self.model}"
        return self

    @property
    def card(self) -> dict[str, Any]:
        """`customerlm.json` of a local checkpoint, empty for anybody else."""
        path = Path(self.model) / "customerlm.json"
        return dict(read_json(path)) if self.provider == "local" and path.is_file() else {}

    @property
    def style(self) -> Literal["script", "brief"]:
        style = self.script_style or self.card.get("script_style", "script")
        return "brief" if style == "brief" else "script"


def open_chat(spec: ChatSpec) -> Chat:
    """Opens a speaker; raises `InputError` when it cannot be opened."""
    if spec.provider == "endpoint":
        from salesllm.chat.endpoint import EndpointChat

        return EndpointChat(
            spec.model,
            str(spec.base_url),
            name=spec.name,
            api_key_env=spec.api_key_env,
            timeout_s=spec.timeout_s,
            concurrency=spec.concurrency,
        )
    from salesllm.chat.local import LocalChat

    return LocalChat(spec.model, name=spec.name)
