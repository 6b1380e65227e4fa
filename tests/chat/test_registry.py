"""The shipped registry of models, and recipes that name what is in one."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from pydantic import Field, model_validator

from salesllm.chat.base import Sampling
from salesllm.chat.providers import PATIENCE, ChatSpec, open_chat
from salesllm.chat.registry import read_registry, resolve
from salesllm.dialogue import Message
from salesllm.errors import InputError
from salesllm.recipe import Recipe, load_recipe

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "recipes" / "models.yaml"
NAMES = sorted(read_registry(SHIPPED))
OPENED = [
    Message(role="system", content="You are the customer."),
    Message(role="assistant", content="Hello?"),
    Message(role="user", content="Good morning!"),
]


class _Job(Recipe):
    models: Path | None = None
    salespeople: list[ChatSpec] = Field(default_factory=list)
    judge: ChatSpec | str | None = None

    @model_validator(mode="before")
    @classmethod
    def _known_models(cls, values: dict[str, Any]) -> dict[str, Any]:
        return resolve(values, ("salespeople", "judge"), words=("rules",))


def load(folder: Path, text: str, *options: str) -> _Job:
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return load_recipe(_Job, ["--config", str(path), *options])


def test_the_shipped_registry_has_the_models_of_table_10_and_customerlm() -> None:
    readme = (ROOT / "recipes" / "benchmark" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+?) \| \d\.\d\d \| \d\.\d\d \| \d\.\d\d \|", readme, re.M)
    assert len(rows) == 15
    assert sorted([*rows, "CustomerLM"]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_it_can_be_asked(
    name: str, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides of a dialogue and a judge; only the address is another."""
    spec = ChatSpec.model_validate(read_registry(SHIPPED)[name])
    assert isinstance(spec.base_url, str)
    assert spec.name == name
    assert spec.base_url.startswith("http://localhost:") == (spec.api_key_env is None)
    assert spec.base_url.startswith("https://") == (spec.api_key_env is not None)
    if spec.api_key_env is not None:
        monkeypatch.setenv(spec.api_key_env, "key")
    chat = open_chat(spec.model_copy(update={"base_url": loopback.url}))
    sampling = Sampling(seed=1, schema={"type": "object"}, top_logprobs=3)
    assert asyncio.run(chat.reply(OPENED, sampling)).text == "I heard: Good morning!"
    (body,) = loopback.requests
    assert body["model"] == spec.model
    assert body[spec.max_tokens_field] == 2048
    assert body.items() >= spec.extra_body.items()
    assert not body.keys() & set(spec.omit)
    assert len(body["messages"]) == len(OPENED) + (not spec.customer_first)


def test_one_server_a_port_for_what_one_serves_oneself() -> None:
    urls = [e["base_url"] for e in read_registry(SHIPPED).values() if "localhost" in e["base_url"]]
    assert len(set(urls)) == len(urls) > 5


def test_names_and_names_with_other_values(tmp_path: Path) -> None:
    text = f"""
models: {SHIPPED}
salespeople:
  - GPT-4o
  - {{use: GLM-4.6, name: GLM, concurrency: 16}}
  - {{provider: scripted, model: salesperson}}
judge: GPT-4o
"""
    job = load(tmp_path, text)
    gpt, glm, scripted = job.salespeople
    assert job.judge == gpt
    assert (gpt.name, gpt.model, gpt.api_key_env) == ("GPT-4o", "gpt-4o", "OPENAI_API_KEY")
    assert (glm.name, glm.model, glm.concurrency) == ("GLM", "glm-4.6", 16)
    assert glm.extra_body == {"thinking": {"type": "disabled"}}
    assert scripted.provider == "scripted"
    job = load(tmp_path, text, "--salespeople", "[Qwen-Max]", "--judge", "rules")
    assert (job.salespeople[0].model, job.judge) == ("qwen-max", "rules")
    job = load(tmp_path, text, "--salespeople.1.concurrency", "2", "--judge", "none")
    assert (job.salespeople[1].concurrency, job.judge) == (2, None)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "salespeople:\n  - GPT4o", [],
            "{path}:3: field `salespeople.0`: there is no model 'GPT4o'. Did you mean `GPT-4o`.",
        ),
        (
            "salespeople: [{use: GPT-4o, concurency: 2}]", [],
            "{path}:2: field `salespeople.0.concurency`: unknown key. Did you mean `concurrency`.",
        ),
        (
            "judge: GPT-4o", ["--judge", "rule"],
            "the command line: field `judge`: there is no model 'rule'. Did you mean `rules`.",
        ),
        (
            "judge: 小李", [],
            "{path}:2: field `judge`: there is no model '小李'. Choose from ",
        ),
        (
            "judge: GPT-4o", ["--models", "none"],
            "{path}:2: field `judge`: 'GPT-4o' is a model of no registry. Add `models: ",
        ),
        (
            "judge: GPT-4o", ["--models", "gone.yaml"],
            "the command line: field `models`: there is no file gone.yaml.",
        ),
    ],
)  # fmt: skip
def test_a_name_that_is_not_known(tmp_path: Path, text: str, options: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, f"models: {SHIPPED}\n{text}\n", *options)
    assert str(error.value).startswith(said.format(path=tmp_path / "job.yaml"))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{base_url: http://h/v1}", ":3: field `model`: is missing"),
        ("{model: m, base_url: http://h/v1, seed: 1}", ":3: field `seed`: unknown key"),
        ("\n  model: m\n  base_url: ftp://h", ":5: field `base_url`: 'ftp://h' is not an http(s)"),
        ("{model: m, base_url: http://h, extra_body: {n: 2}}", "`extra_body.n`: is not to be set"),
        ("{model: m, base_url: [http://h, http://h]}", "`base_url`: names an address twice"),
        ("{model: m, base_url: []}", ":3: field `base_url`: has no address"),
        ("{model: m, base_url: http://h, omit: [top_k]}", ":3: field `omit.0`: unknown value"),
        ("gpt-4o", ':3: "gpt-4o" is not a mapping'),
    ],
)
def test_an_entry_that_cannot_be_used(tmp_path: Path, entry: str, said: str) -> None:
    path = tmp_path / "models.yaml"
    text = f"A-1.5:\n  {{model: m, base_url: http://h}}\nB: {entry}\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_registry(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_where_and_how_patiently_a_model_is_asked_changes_no_answer() -> None:
    assert ChatSpec.model_fields.keys() > PATIENCE
    others = ChatSpec.model_fields.keys() - PATIENCE
    assert {"model", "extra_body", "omit", "customer_first", "max_tokens_field"} < others
