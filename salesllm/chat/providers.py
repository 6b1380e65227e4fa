"""Speakers named in a recipe: `{provider, model, ...}` to a `Chat`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from salesllm.chat.base import Chat
from salesllm.dialogue import NonBlank
from salesllm.errors import FieldError, InputError
from salesllm.files import read_json, require_model
from salesllm.recipe import Recipe
from salesllm.scenarios.scripts import ScriptStyle

if TYPE_CHECKING:
    from salesllm.chat.local import LocalChat

CUSTOMER_CARD = "customerlm.json"
"""What a CustomerLM checkpoint says of how it was trained."""


PATIENCE = {"concurrency", "timeout"}
"""Keys of a `ChatSpec` that change no answer: how patiently an endpoint is asked."""


class ChatSpec(Recipe):
    """One speaker of a recipe.

    Attributes:
        provider: `endpoint` (OpenAI-compatible), `local` (a checkpoint) or `scripted`.
        model: The endpoint's name for it, a path, or `salesperson` / `customer`.
        name: What tables call it.
        base_url: Endpoint only, e.g. `http://localhost:8000/v1`.
        api_key_env: Endpoint only: the environment variable that holds the key.
        concurrency: Endpoint only: calls in flight at once.
        timeout: Endpoint only: seconds for one attempt.
        max_batch: Local only: dialogues in one batch.
        dtype: Local only.
        device: Local only; a GPU where there is one by default.
        script_style: The customer's prompt; what a local checkpoint was trained with by default.
    """

    provider: Literal["endpoint", "local", "scripted"]
    model: NonBlank
    name: NonBlank = Field(default_factory=lambda data: f"{data['provider']}/{data['model']}")
    base_url: str | None = None
    api_key_env: str | None = None
    concurrency: int = Field(default=64, ge=1)
    timeout: float = Field(default=300.0, gt=0)
    max_batch: int = Field(default=32, ge=1)
    dtype: str = "auto"
    device: str | None = None
    script_style: ScriptStyle | None = None

    @field_validator("base_url")
    @classmethod
    def _is_a_plain_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            fix = "Write http://host:port/v1, or https"
            raise FieldError(f"{value!r} is not an http(s) address", fix=fix)
        if parts.username or parts.password or parts.query:
            fix = "Put the key in an environment variable and name it in api_key_env"
            raise FieldError("an address holds no credentials", fix=fix)
        return value

    @model_validator(mode="after")
    def _fits_the_provider(self) -> ChatSpec:
        if (self.provider == "endpoint") != (self.base_url is not None):
            has, do = ("needs a", "Add") if self.provider == "endpoint" else ("has no", "Remove")
            problem = f"provider {self.provider!r} {has} base_url"
            raise FieldError(problem, field="base_url", fix=f"{do} it, or change the provider")
        if self.provider == "scripted" and self.model not in ("salesperson", "customer"):
            fix = "Write salesperson or customer"
            raise FieldError(f"there is no scripted {self.model!r}", field="model", fix=fix)
        return self

    @property
    def card(self) -> dict[str, Any]:
        """`customerlm.json` of a local CustomerLM; empty for every other speaker."""
        path = Path(self.model) / CUSTOMER_CARD
        return dict(read_json(path)) if self.provider == "local" and path.is_file() else {}

    @property
    def customer_style(self) -> ScriptStyle:
        """The customer prompt to show it: the recipe's, else its checkpoint's, else `script`."""
        style: ScriptStyle = self.script_style or self.card.get("script_style", "script")
        return style


def open_chat(spec: ChatSpec) -> Chat:
    """Opens a speaker; torch is imported only for a local one.

    Raises:
        InputError: A checkpoint cannot be loaded, or an environment variable is not set.
    """
    if spec.provider == "scripted":
        from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson

        scripted: Chat = (
            ScriptedSalesperson() if spec.model == "salesperson" else ScriptedCustomer()
        )
        scripted.name = spec.name
        return scripted
    if spec.provider == "endpoint":
        from salesllm.chat.endpoint import EndpointChat

        assert spec.base_url is not None  # validated
        return EndpointChat(
            spec.model,
            spec.base_url,
            spec.api_key_env,
            name=spec.name,
            concurrency=spec.concurrency,
            timeout=spec.timeout,
        )
    return _local_chat()(
        spec.model,
        device=spec.device,
        dtype=spec.dtype,
        max_batch=spec.max_batch,
        name=spec.name,
    )


def check_chat(spec: ChatSpec, field: str) -> None:
    """Finds now what would stop `open_chat` later: opening a checkpoint may have to wait its turn.

    Raises:
        InputError: A local checkpoint is not there, or lacks what it needs.
    """
    if spec.provider == "local":
        require_model(spec.model, field)  # before torch, whose import takes seconds
        _local_chat().check(spec.model)


def _local_chat() -> type[LocalChat]:
    try:
        from salesllm.chat.local import LocalChat
    except ImportError as error:
        problem = f"a local checkpoint needs the package {error.name}, which is not installed"
        fix = "Run pip install 'salesllm-trainer[eval]'"
        raise InputError(problem, field="provider", fix=fix) from None
    return LocalChat
