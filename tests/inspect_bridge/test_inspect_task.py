"""The benchmark as Inspect runs it: over real HTTP, against actors that misbehave on demand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from inspect_ai import eval as run_inspect
from inspect_ai import eval_retry, score
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import Model, get_model
from loopback import Fault, Loopback
from runs import CANARY, SCENARIOS, actor, values_of
from transformers import AutoModelForSequenceClassification

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.benchmark.run import run_benchmark
from salesllm.files import read_jsonl
from salesllm.inspect_bridge.task import benchmark
from salesllm.scoring.intent import SCHEMAS, IntentSettings, install
from salesllm.training.tiny import new_encoder

ROOT = Path(__file__).parents[2]
Values = dict[str, Any]


@pytest.fixture
def actors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A seller, a buyer and a judge, behind a key, which Inspect knows too."""
    with Loopback(reply=actor, key=CANARY) as running:
        monkeypatch.setenv("BENCHMARK_TEST_KEY", CANARY)
        monkeypatch.setenv("LOOPBACK_API_KEY", CANARY)
        monkeypatch.setenv("LOOPBACK_BASE_URL", running.url)
        yield running


@pytest.fixture
def values(tmp_path: Path, actors: Loopback) -> Values:
    """A recipe of 6 scenarios, with an intent scorer for English alone."""
    settings = IntentSettings("en", SCHEMAS["binary"])
    new_encoder("en", ["I'll take it. No thanks. Hm, what else?"], tmp_path / "intent")
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "intent")
    install(model.config, settings)
    model.save_pretrained(tmp_path / "intent")
    return values_of(tmp_path, actors.url) | {"intent": {"en": str(tmp_path / "intent")}}


def model(name: str, url: str) -> Model:
    return get_model(f"openai-api/loopback/{name}", base_url=url, memoize=False)


def recipe_of(values: Values, tmp_path: Path) -> str:
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return str(tmp_path / "recipe.yaml")


def run(values: Values, tmp_path: Path, **options: Any) -> EvalLog:
    """The log of a run, read back from its file."""
    settings = options.pop("settings", {})
    seller = model("seller", values["salespeople"][0]["base_url"])
    options = {"model": seller, "max_retries": 0, "display": "none"} | options
    made = benchmark(recipe_of(values, tmp_path), **settings)
    (log,) = run_inspect(made, log_dir=str(tmp_path / "logs"), **options)
    return read_eval_log(log.location)


def samples(log: EvalLog) -> dict[str, EvalSample]:
    assert log.samples is not None
    return {f"{sample.id}::{sample.epoch}": sample for sample in log.samples}


def values_in(sample: EvalSample) -> dict[str, float | None]:
    """A sample's scores; None for an unscored one."""
    found = {name: each.as_float() for name, each in (sample.scores or {}).items()}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def figures(log: EvalLog) -> dict[str, tuple[dict[str, float], int | None]]:
    """Metrics, and the number of the unscored, of each score."""
    assert log.results is not None
    return {
        each.name: ({k: m.value for k, m in each.metrics.items()}, each.unscored_samples)
        for each in log.results.scores
    }


def test_scores_are_those_of_our_own_run(values: Values, tmp_path: Path) -> None:
    run_benchmark(BenchmarkRecipe.model_validate(values))
    rows = {row["scenario_id"]: row for _, row in read_jsonl(tmp_path / "out" / "scores.jsonl")}
    spoken = {d["id"]: d for _, d in read_jsonl(tmp_path / "out" / "dialogues.jsonl")}

    log = run(values, tmp_path)
    assert log.status == "success"
    assert len(samples(log)) == len(SCENARIOS)
    for scenario in SCENARIOS:
        sample, row = samples(log)[f"{scenario.id}::1"], rows[scenario.id]
        ours = {name: row[name] for name in ("buying", "selling", "final")}
        assert values_in(sample) == pytest.approx(ours)
        turns = spoken[row["id"]]["turns"]
        assert [message.text for message in sample.messages[1:]] == [t["text"] for t in turns]
        assert [m.metadata["speaker"] for m in sample.messages[1:]] == [t["speaker"] for t in turns]
        for key in (
            "termination",
            "by",
            "turns",
            "cleaned",
            "product_id",
            "language",
            "propensity",
        ):
            assert sample.metadata[key] == row[key]
        assert sample.metadata["usage"] | {"judge": row["usage"]["judge"]} == row["usage"]
        assert sample.scores["selling"].metadata["judges"] == row["judges"]


def test_metrics_leave_out_the_unscored(values: Values, tmp_path: Path) -> None:
    found = figures(run(values, tmp_path))
    metrics, unscored = found["selling"]
    assert metrics["mean"] == pytest.approx((8 * 4 + 3 * 2) / 6)
    assert metrics["mean_en"] == metrics["mean_zh"] == pytest.approx((8 * 2 + 3) / 3)
    # Three products of two scenarios each: 8, 8, 3 about their mean, with C / (C - 1).
    deviations = [2 * (each - 19 / 3) for each in (8, 8, 3)]
    error = math.sqrt(sum(d**2 for d in deviations) * 3 / 2) / 6
    assert metrics["stderr_by_product"] == pytest.approx(error)
    assert unscored == 0
    for name in ("buying", "final"):  # no intent scorer for Chinese
        metrics, unscored = found[name]
        assert unscored == 3
        assert metrics["mean"] == pytest.approx(metrics["mean_en"])
        assert "mean_zh" not in metrics


def test_a_broken_speaker_or_judge_is_an_error_and_no_score(
    values: Values, actors: Loopback, tmp_path: Path
) -> None:
    wanted = {"seller": "kettle 0", "buyer": "kettle 1", "judge": "kettle 2"}

    def fault_of(body: dict[str, Any]) -> Fault | None:
        heard = body["messages"][0]["content"]
        return Fault(status=400) if wanted[body["model"]] in heard else None

    actors.fault_of = fault_of
    log = run(values, tmp_path)
    assert log.status == "error"  # so that `inspect eval-retry` takes it up
    failed = {key: sample for key, sample in samples(log).items() if sample.error}
    assert sorted(failed) == ["en-0::1", "en-1::1", "en-2::1"]
    assert all("fault 400" in str(sample.error) for sample in failed.values())
    assert all("final" not in (sample.scores or {}) for sample in failed.values())
    assert len(failed["en-1::1"].messages) == 3  # as far as it came
    metrics, unscored = figures(log)["selling"]
    assert metrics["mean"] == pytest.approx((8 + 8 + 3) / 3)  # Chinese only
    assert unscored == 0
    assert log.results is not None
    assert (log.results.total_samples, log.results.completed_samples) == (6, 3)

    actors.fault_of = lambda body: None
    actors.requests.clear()
    (again,) = eval_retry(log, log_dir=str(tmp_path / "logs"), display="none")
    assert again.status == "success"
    assert figures(again)["selling"][0]["mean"] == pytest.approx(19 / 3)
    assert len([body for body in actors.requests if body["model"] == "judge"]) == 3


def test_a_judge_off_format_leaves_samples_unscored(
    values: Values, actors: Loopback, tmp_path: Path
) -> None:
    actors.reply = lambda body: "A fine talk!" if body["model"] == "judge" else actor(body)
    log = run(values, tmp_path, settings={"judge_attempts": 1})
    assert log.status == "success"
    metrics, unscored = figures(log)["selling"]
    assert (unscored, math.isnan(metrics["mean"])) == (6, True)
    scores = samples(log)["en-0::1"].scores
    assert scores is not None
    assert scores["selling"].reason == "grader_failed"
    assert "no score in 1 answers" in str(scores["selling"].explanation)
    assert scores["final"].explanation == "unscored: selling"

    actors.reply = actor
    scorers = benchmark(recipe_of(values, tmp_path)).scorer
    again = score(log, scorers, action="overwrite", display="none")
    assert figures(again)["selling"][0]["mean"] == pytest.approx(19 / 3)
    assert figures(again)["final"][1] == 3


def test_a_refusal_is_unscored(values: Values, actors: Loopback, tmp_path: Path) -> None:
    def fault_of(body: dict[str, Any]) -> Fault | None:
        refuses = body["model"] == "seller" and "kettle 1" in body["messages"][0]["content"]
        return Fault("filtered") if refuses else None

    actors.fault_of = fault_of
    log = run(values, tmp_path)
    assert log.status == "success"
    refused = samples(log)["en-1::1"]
    assert refused.metadata["termination"] == "refused"
    assert {score.reason for score in (refused.scores or {}).values()} == {"refusal"}
    metrics, unscored = figures(log)["selling"]
    assert (unscored, metrics["mean"]) == (1, pytest.approx((8 * 3 + 3 * 2) / 5))


def test_a_limit_of_inspects_is_neither_an_error_nor_a_score(
    values: Values, tmp_path: Path
) -> None:
    log = run(values, tmp_path, token_limit=20)
    assert log.status == "success"
    for sample in samples(log).values():
        assert sample.limit is not None
        assert sample.limit.type == "token"
        assert set(values_in(sample).values()) == {None}


def test_roles_take_the_parts_of_the_recipes_customer_and_judge(
    values: Values, actors: Loopback, tmp_path: Path
) -> None:
    del values["judge"]
    values["customers"][0]["base_url"] = "http://127.0.0.1:9/v1"  # where nobody listens
    roles = {"customer": model("buyer", actors.url), "grader": model("judge", actors.url)}
    log = run(values, tmp_path, model_roles=roles)
    assert figures(log)["selling"][0]["mean"] == pytest.approx(19 / 3)
    assert list(samples(log)["zh-0::1"].scores["selling"].metadata["judges"]) == [
        str(roles["grader"])
    ]
    asked = {body["model"]: body for body in actors.requests}
    assert set(asked) == {"seller", "buyer", "judge"}
    assert (asked["buyer"]["temperature"], asked["buyer"]["top_p"]) == (0.8, 0.99)
    assert (asked["judge"]["temperature"], asked["judge"]["max_tokens"]) == (0.0, 1024)


def test_settings_of_inspect_and_of_the_recipe(
    values: Values, actors: Loopback, tmp_path: Path
) -> None:
    log = run(values, tmp_path, temperature=0.1, settings={"rounds": 1, "judge": "rules"}, epochs=2)
    assert {sample.metadata["turns"] for sample in samples(log).values()} == {2}
    assert {body["model"] for body in actors.requests} == {"seller"}
    assert {body["temperature"] for body in actors.requests} == {0.1}
    assert {body["top_p"] for body in actors.requests} == {0.99}
    seeds = [body["seed"] for body in actors.requests]
    assert len(set(seeds)) == len(seeds) == 12  # each epoch draws anew


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"round": 3}, "field `round`: unknown key. Did you mean `rounds`?"),
        ({"customer": "D"}, "there is no 'D'. Pass -T customer=NAME (C) or"),
        ({"intent": {"en": "tests/absent"}}, "field `intent.en`: no such folder"),
    ],
)
def test_bad_input_is_one_message(
    values: Values, tmp_path: Path, settings: Values, message: str
) -> None:
    with pytest.raises(PrerequisiteError) as error:
        benchmark(recipe_of(values, tmp_path), **settings)
    assert message.rstrip("?") in str(error.value.message)


def test_the_command_line_and_no_key_in_a_log(
    values: Values, tmp_path: Path, actors: Loopback
) -> None:
    recipe = recipe_of(values, tmp_path)
    command = [
        *(sys.executable, "-m", "inspect_ai", "eval", "eval/inspect_task.py", "--limit", "2"),
        *("--model", "openai-api/loopback/seller", "-T", f"recipe={recipe}"),
        *("-T", "rounds=3", "-T", "intent={}"),
        *("--log-dir", str(tmp_path / "logs"), "--log-format", "json", "--display", "plain"),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "logs").glob("*.json")
    log = read_eval_log(str(path))
    assert (log.status, log.eval.task, len(samples(log))) == ("success", "salesllm", 2)
    assert CANARY not in path.read_text(encoding="utf-8") + done.stdout + done.stderr
    assert CANARY not in json.dumps(values)
