"""Every recipe in the repository is read by the class of its job, and described beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from transformers import TrainingArguments
from trl import DPOConfig, ModelConfig, SFTConfig

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.benchmark.robustness import JudgeRecipe
from salesllm.errors import InputError
from salesllm.fidelity.ablation import AblationRecipe
from salesllm.generation.recipe import RECIPES
from salesllm.preferences.recipe import METHODS
from salesllm.recipe import Recipe, load_one_of, load_recipe
from salesllm.training.arguments import (
    CustomerArguments,
    IntentArguments,
    PreferenceArguments,
    parse_recipe,
)
from salesllm.training.labelling import LabellerRecipe
from salesllm.training.validation import ValidationRecipe

ROOT = Path(__file__).parents[1]
# models.yaml, beside the folders, is no recipe of a job.
FILES = sorted(path.relative_to(ROOT / "recipes") for path in ROOT.glob("recipes/*/**/*.yaml"))

SFT = (CustomerArguments, SFTConfig, ModelConfig)
DPO = (PreferenceArguments, DPOConfig, ModelConfig)
INTENT = (IntentArguments, TrainingArguments, ModelConfig)
SCHEMAS: dict[str, type[Recipe]] = {
    "benchmark": BenchmarkRecipe,
    "ablation": AblationRecipe,
    "labels": LabellerRecipe,
    "judge": JudgeRecipe,
    "intent_eval": ValidationRecipe,
}

# Recipes for a GPU ask for bf16, which transformers refuses on a machine without one.
HERE = [] if torch.cuda.is_available() else ["--use_cpu", "true"]


def _read(file: Path) -> Callable[[Path], Any]:
    """What the recipe's own job reads it with."""
    job = file.parts[0]
    if job == "customerlm":
        types: tuple[type, ...] = DPO if file.stem == "dpo" else SFT
    elif job == "intent":
        types = INTENT
    elif job == "preferences":
        return lambda path: load_one_of("method", METHODS, ["--config", str(path)])
    elif job == "scenarios":
        return lambda path: load_one_of("backend", RECIPES, ["--config", str(path)])
    else:
        schema = SCHEMAS[job]
        return lambda path: load_recipe(schema, ["--config", str(path)])
    return lambda path: parse_recipe(types, ["--config", str(path), *HERE])


@pytest.mark.parametrize("file", FILES, ids=str)
def test_its_job_reads_it_and_refuses_an_unknown_key(file: Path, tmp_path: Path) -> None:
    path = ROOT / "recipes" / file
    _read(file)(path)
    text = path.read_text(encoding="utf-8")
    typo = tmp_path / "typo.yaml"
    typo.write_text(text.rstrip() + "\nseeed: 1\n", encoding="utf-8")
    line = len(text.rstrip().splitlines()) + 1
    with pytest.raises(InputError) as error:
        _read(file)(typo)
    assert f"{typo}:{line}: field `seeed`: unknown key. Did you mean `seed`" in str(error.value)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_its_folder_has_a_readme_that_names_it(file: Path) -> None:
    readme = (ROOT / "recipes" / file.parts[0] / "README.md").read_text(encoding="utf-8")
    assert "/".join(file.parts[1:]) in readme


@pytest.mark.parametrize(
    "file", [*FILES, *sorted({Path(file.parts[0], "README.md") for file in FILES})], ids=str
)
def test_files_of_the_repository_that_it_names_exist(file: Path) -> None:
    text = (ROOT / "recipes" / file).read_text(encoding="utf-8")
    for named in re.findall(
        r"\b(?:recipes|accelerate_configs|train|eval|data_prep)/[\w./-]+", text
    ):
        assert (ROOT / named.rstrip(".")).exists(), named


def _values(file: Path) -> dict[str, Any]:
    values = yaml.safe_load((ROOT / "recipes" / file).read_text(encoding="utf-8"))
    return dict(values)


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.parts[0] in ("customerlm", "intent")], ids=str
)
def test_a_base_is_an_output_of_another_recipe_or_a_model_of_its_own(file: Path) -> None:
    outputs = {_values(other).get("output_dir") for other in FILES if other != file}
    made = {f"outputs/tiny/{name}" for name in ("init", "encoder_zh", "encoder_en")}
    base = _values(file)["model_name_or_path"]
    if base.startswith("outputs/"):
        assert base in outputs | made


def test_no_two_recipes_write_to_the_same_folder() -> None:
    outputs = [_values(file).get("output_dir") for file in FILES]
    named = [output for output in outputs if output is not None]
    assert len(named) > 10
    assert len(set(named)) == len(named)


def test_the_8b_recipes_are_the_papers_in_trls_words() -> None:
    folder = ROOT / "recipes" / "customerlm" / "qwen3_8b"
    data, sft, model = parse_recipe(SFT, ["--config", str(folder / "sft.yaml"), *HERE])
    assert model.model_name_or_path == "Qwen/Qwen3-8B"
    assert (model.use_peft, model.lora_r) == (True, 64)
    assert sft.learning_rate == 1e-4  # "1.0e-4" in the file: YAML reads "1e-4" as a text
    assert sft.activation_checkpointing
    assert data.viewpoint == "customer"
    data, dpo, model = parse_recipe(DPO, ["--config", str(folder / "dpo.yaml"), *HERE])
    assert model.model_name_or_path == sft.output_dir
    assert dpo.beta == 0.1
    assert not model.use_peft  # the SFT adapter goes on training; no second one


TINY_SFT = ["--config", str(ROOT / "recipes" / "customerlm" / "tiny" / "sft.yaml"), *HERE]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--learning_rate", "abc"], "`learning_rate`: invalid float value: 'abc'"),
        (["--learning_rate=-1"], "`learning_rate`: -1.0 is too small"),
        (["--viewpoint", "buyer"], "`viewpoint`: unknown value 'buyer'"),
        (["--report_to", "papers"], "`report_to`: unknown value 'papers'. Write none or"),
        (["--report_to", "tensorboard"], "`report_to`: tensorboard is not installed. Install"),
    ],
)
def test_what_the_command_line_gave_is_not_the_recipes_fault(
    monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.setattr("transformers.integrations.get_available_reporting_integrations", list)
    with pytest.raises(InputError) as error:
        parse_recipe(SFT, [*TINY_SFT, *options])
    assert str(error.value).startswith(f"the command line: field {said}")


def test_distributed_configs_name_what_starts_several_processes() -> None:
    for path in sorted((ROOT / "accelerate_configs").glob("*.yaml")):
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert config["distributed_type"] in ("MULTI_GPU", "DEEPSPEED", "FSDP")  # not MULTI_CPU
        assert {"num_machines", "num_processes", "mixed_precision"} <= config.keys()
