"""Speakers named in a recipe: `{provider, model, ...}` to a `Chat`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from salesllm.chat.base import Chat, Usage
from salesllm.chat.limits import Limits
from salesllm.chat.wire import Omittable, Quirks
from salesllm.dialogue import NonBlank
from salesllm.errors import FieldError, InputError
from salesllm.files import read_json, require_model
from salesllm.recipe import Recipe
from salesllm.scenarios.scripts import ScriptStyle

if TYPE_CHECKING:
    from salesllm.chat.local import LocalChat

CUSTOMER_CARD = "customerlm.json"
"""What a CustomerLM checkpoint says of how it was trained."""


PATIENCE = {
    "api_key_env", "base_url", "concurrency", "price", "requests_per_minute", "timeout",
    "tokens_per_minute",
}  # fmt: skip
"""Keys of a `ChatSpec` that change no answer: where and how patiently a model is asked."""

_OURS = {"messages", "model", "n", "stream"}
"""Keys of a request that `extra_body` may not touch: the answer would not be one we can read."""


class Price(Recipe):
    """What an endpoint charges for a million tokens, in US dollars."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)

    def of(self, usage: Usage) -> float:
        tokens = self.input * usage.prompt_tokens + self.output * usage.completion_tokens
        return tokens / 1_000_000


class ChatSpec(Recipe):
    """One speaker of a recipe.

    Attributes:
        provider: `endpoint` (OpenAI-compatible), `local` (a checkpoint) or `scripted`.
        model: The endpoint's name for it, a path, or `salesperson` / `customer`.
        name: What tables call it.
        base_url: Endpoint only, e.g. `http://localhost:8000/v1`; several addresses of the same
            model share the load.
        api_key_env: Endpoint only: the environment variable that holds the key.
        concurrency: Endpoint only: calls in flight at once, at each address. Like the two limits
            below, it holds for all speakers of a job together that name the same model, addresses
            and key; where they differ, the least does.
        requests_per_minute: Endpoint only, of each address.
        tokens_per_minute: Endpoint only, of each address.
        timeout: Endpoint only: seconds for one attempt.
        price: Endpoint only; None where it is not known.
        max_tokens_field: Endpoint only: what it calls the bound on a reply's length.
        extra_body: Endpoint only: what every request says beside, e.g. to turn thinking off.
        omit: Endpoint only: what it refuses to be told.
        customer_first: Endpoint only: false for one that refuses a conversation which its own
            message begins, as the customer's does. A message `...` is then put before it.
        max_batch: Local only: dialogues in one batch.
        dtype: Local only.
        device: Local only; a GPU where there is one by default.
        script_style: The customer's prompt; what a local checkpoint was trained with by default.
    """

    provider: Literal["endpoint", "local", "scripted"]
    model: NonBlank
    name: NonBlank = Field(default_factory=lambda data: f"{data['provider']}/{data['model']}")
    base_url: str | list[str] | None = None
    api_key_env: str | None = None
    concurrency: int = Field(default=64, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    timeout: float = Field(default=300.0, gt=0)
    price: Price | None = None
    max_tokens_field: NonBlank = "max_tokens"
    extra_body: dict[str, Any] = Field(default_factory=dict)
    omit: list[Omittable] = Field(default_factory=list)
    customer_first: bool = True
    max_batch: int = Field(default=32, ge=1)
    dtype: str = "auto"
    device: str | None = None
    script_style: ScriptStyle | None = None

    @field_validator("base_url")
    @classmethod
    def _are_plain_urls(cls, value: str | list[str] | None) -> str | list[str] | None:
        urls = value if isinstance(value, list) else [] if value is None else [value]
        if value == [] or len(set(urls)) < len(urls):
            problem = "names an address twice" if urls else "has no address"
            raise FieldError(problem, fix="Name each address of the model once")
        for url in urls:
            _check_url(url)
        return value

    @field_validator("extra_body")
    @classmethod
    def _leaves_ours_alone(cls, value: dict[str, Any]) -> dict[str, Any]:
        for key in value.keys() & _OURS:
            raise FieldError("is not to be set", field=key, fix="Remove it")
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


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        fix = "Write http://host:port/v1, or https"
        raise FieldError(f"{url!r} is not an http(s) address", fix=fix)
    if parts.username or parts.password or parts.query:
        fix = "Put the key in an environment variable and name it in api_key_env"
        raise FieldError("an address holds no credentials", fix=fix)


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
            limits=Limits(spec.concurrency, spec.requests_per_minute, spec.tokens_per_minute),
            quirks=Quirks(
                spec.max_tokens_field, spec.extra_body, tuple(spec.omit), spec.customer_first
            ),
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
