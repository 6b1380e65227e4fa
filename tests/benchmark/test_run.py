"""Whole benchmark runs against a real endpoint, which misbehaves; kills and resumes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback
from runs import CANARY, ROOT, SCENARIOS, actor, results, run, script, values_of

from salesllm import prompts
from salesllm.benchmark.recipe import BenchmarkRecipe, scenarios_of
from salesllm.chat.base import Sampling
from salesllm.dialogue import END_MARKER, read_dialogues
from salesllm.errors import InputError
from salesllm.files import checkpoint_sha256, read_json, read_jsonl
from salesllm.recipe import load_recipe
from salesllm.scoring import judge


@pytest.fixture
def values(tmp_path: Path, actors: Loopback) -> dict[str, Any]:
    return values_of(tmp_path, actors.url)


def test_a_run_from_recipe_to_summary(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    summary = run(values)
    out = tmp_path / "out"
    dialogues = read_dialogues(out / "dialogues.jsonl")
    assert [d.id for d in dialogues] == [f"{s}::C::{x.id}::0" for s in "AB" for x in SCENARIOS]
    assert {d.context["termination"] for d in dialogues} == {"customer_ended"}
    assert not any(END_MARKER in turn.text for d in dialogues for turn in d.turns)

    rows = [row for _, row in read_jsonl(out / "scores.jsonl")]
    assert [row["selling"] for row in rows] == [8, 8, 8, 8, 3, 3] * 2
    assert {row["rater"] for row in rows} == {"J"}
    figures = summary["results"]["A"]["C"]
    assert list(figures) == ["overall", "en", "zh"]
    selling = figures["overall"]["selling"]
    assert selling["mean"] == pytest.approx(38 / 6)
    assert selling["low"] < selling["mean"] < selling["high"]
    assert (selling["n"], selling["unscored"]) == (6, 0)
    # No intent scorer: no buying score and no final one, and no zeros in their place.
    for score in ("buying", "final"):
        assert figures["zh"][score] == {
            "mean": None, "low": None, "high": None, "n": 0, "unscored": 3
        }  # fmt: skip
    assert figures["overall"]["turns"] == 5
    assert figures["overall"]["terminations"] == {"customer_ended": 6}
    assert summary["usage"]["judge"]["J"] == {"prompt_tokens": 12 * 11, "completion_tokens": 12 * 5}
    assert summary["usage"]["salesperson"]["B"]["completion_tokens"] == 12 * 5
    assert (summary["cells"], summary["failures"], summary["alpha"]) == (12, 0, 0.6)
    assert "en/selling_judge" in summary["provenance"]["prompts"]
    assert summary == read_json(out / "summary.json")

    files = [path.read_bytes() for path in out.iterdir()]
    assert not any(CANARY.encode() in content for content in files)


def test_another_prompt_of_the_judge_keeps_the_dialogues(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    run(values)
    for language in ("zh", "en"):
        prompt = Path(prompts.__file__).parent / language / f"{judge.PROMPT}.j2"
        mine = tmp_path / "prompts" / language / prompt.name
        mine.parent.mkdir(parents=True)
        mine.write_text(prompt.read_text(encoding="utf-8") + "\n-", encoding="utf-8")
    actors.requests.clear()
    run(values | {"prompts_dir": str(tmp_path / "prompts")})
    assert {body["model"] for body in actors.requests} == {values["judge"]["model"]}


def test_a_checkpoint_is_known_by_all_its_files(tmp_path: Path) -> None:
    for name in ("model.safetensors", "config.json", "chat_template.jinja", "summary.json"):
        (tmp_path / name).write_text(name)
    before = checkpoint_sha256([tmp_path])
    assert {Path(name).name for name in before} == {
        "model.safetensors", "config.json", "chat_template.jinja",
    }  # fmt: skip
    (tmp_path / "config.json").write_text("another worth of a label")
    assert checkpoint_sha256([tmp_path]) != before


def test_other_scoring_keeps_the_dialogues_and_mixes_no_judges(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    first = run(values)
    dialogues = (tmp_path / "out" / "dialogues.jsonl").read_bytes()
    actors.requests.clear()
    assert run(values | {"alpha": 0.2})["alpha"] == 0.2
    assert actors.requests == []

    def strict(body: dict[str, Any]) -> str:
        assert body["model"] == "judge"  # nobody talks again
        return '{"score": 1, "reason": "r", "evidence": []}'

    # The other judge breaks down midway: no score of the first one fills the gaps.
    actors.reply = strict
    actors.fault_of = lambda body: (
        Fault(status=403) if "kettle" in body["messages"][0]["content"] else None
    )
    other = values | {"judge": values["judge"] | {"name": "K"}}
    half = run(other)
    overall = half["results"]["A"]["C"]["overall"]["selling"]
    assert (half["rater"], half["incomplete"]) == ("K", 6)
    assert (overall["mean"], overall["n"], overall["unscored"]) == (1, 3, 3)
    actors.fault_of = lambda body: None
    actors.requests.clear()
    whole = run(other)["results"]["B"]["C"]["overall"]["selling"]
    assert (whole["mean"], whole["n"], len(actors.requests)) == (1, 6, 6)

    # Other settings or another prompt make another judge, too; the first one is remembered.
    assert run(values | {"judge_attempts": 1})["results"]["A"]["C"]["overall"]["selling"]["n"] == 6
    assert len(actors.requests) == 18
    assert run(values)["results"] == first["results"]
    assert len(actors.requests) == 18
    assert (tmp_path / "out" / "dialogues.jsonl").read_bytes() == dialogues


def test_trouble_costs_time_and_nothing_else(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    run(values)
    calm = results(tmp_path / "out")
    rng = random.Random(0)
    trouble = [
        Fault(status=429, retry_after="0.1"), Fault(status=500), Fault("stall", seconds=1.0),
        Fault("malformed"), Fault("truncated"), Fault("cut"), Fault("empty"),
    ]  # fmt: skip
    actors.faults = deque([*trouble, *rng.choices([*trouble, None], weights=[1] * 7 + [50], k=60)])
    values["output_dir"] = str(tmp_path / "stormy")
    summary = run(values)
    assert not actors.faults
    assert summary["failures"] == 0
    lines, rows = results(tmp_path / "stormy")
    for row in (*rows, *calm[1]):  # an empty reply that was drawn again costs tokens
        row.pop("usage")
    assert rows == calm[1]
    assert [json.loads(line)["turns"] for line in lines] == [
        json.loads(line)["turns"] for line in calm[0]
    ]


def test_failures_are_counted_never_scored_and_tried_again(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    def broken(body: dict[str, Any]) -> Fault | None:
        script = body["messages"][0]["content"]
        if "kettle 1" in script:
            return Fault(status=400) if body["model"] == "buyer" else None
        return Fault(status=403) if "电水壶 1" in script and body["model"] == "judge" else None

    actors.fault_of = broken
    done = subprocess.run(script(values), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert "2 of 12 dialogues failed" in done.stdout
    out = tmp_path / "out"
    summary = read_json(out / "summary.json")
    selling = summary["results"]["A"]["C"]["overall"]["selling"]
    assert (selling["n"], selling["unscored"]) == (4, 2)
    assert selling["mean"] == pytest.approx(22 / 4)
    assert summary["results"]["A"]["C"]["en"]["failures"] == 1
    assert summary["results"]["A"]["C"]["en"]["terminations"] == {
        "customer_ended": 2,
        "error": 1,
    }
    assert summary["unscored"]["selling"] == {
        "the dialogue failed (error)": 2,
        "the judge failed": 2,
    }
    assert summary["terminations"] == {"customer_ended": 10, "error": 2}
    assert summary["incomplete"] == 4
    failed = [row for _, row in read_jsonl(out / "scores.jsonl") if row["failed"]]
    assert [row["scenario_id"] for row in failed] == ["en-1", "en-1"]
    assert all("fault 400" in row["error"] and row["selling"] is None for row in failed)
    assert len(read_dialogues(out / "dialogues.jsonl")) == 10

    actors.fault_of = lambda body: None
    actors.requests.clear()
    again = subprocess.run(script(values), capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0, again.stderr
    asked = Counter(request["model"] for request in actors.requests)
    assert asked == {"seller": 4, "buyer": 4, "judge": 4}  # two dialogues, four judgements
    assert read_json(out / "summary.json")["results"]["A"]["C"]["overall"]["selling"]["n"] == 6


def test_a_judge_off_format_leaves_dialogues_unscored(
    values: dict[str, Any], actors: Loopback, tmp_path: Path
) -> None:
    actors.reply = lambda body: "A fine talk!" if body["model"] == "judge" else actor(body)
    values["judge_attempts"] = 2
    summary = run(values)
    figures = summary["results"]["B"]["C"]["overall"]
    assert figures["selling"] | {"n": 0, "unscored": 6, "mean": None} == figures["selling"]
    assert (figures["dialogues"], figures["failures"]) == (6, 0)
    assert summary["unscored"]["selling"] == {"no score in 2 answers": 12}
    assert "The judge gave 12 finished dialogues no score." in summary["notes"]
    with pytest.raises(InputError, match="finished run"):  # the verdict is that there is none
        run(values)


def test_rules_need_no_judge_and_no_torch(values: dict[str, Any], actors: Loopback) -> None:
    values |= {"judge": "rules", "salespeople": values["salespeople"][:1]}
    code = f"""
import sys
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.benchmark.run import Cell, run_benchmark
from salesllm.benchmark.summary import table_of
from rich.console import Console
summary = run_benchmark(BenchmarkRecipe.model_validate({values!r}))
Console(width=80).print(table_of(summary))
assert not {{"torch", "transformers"}} & set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "selling by rules" in done.stdout
    assert "…" not in done.stdout  # no figure cut off
    assert "loopback: dialogues: 6/6" in done.stdout
    assert not any(request["model"] == "judge" for request in actors.requests)
    summary = read_json(Path(values["output_dir"]) / "summary.json")
    selling = summary["results"]["A"]["C"]["overall"]["selling"]
    assert selling["mean"] == pytest.approx((8 * 4 + 0 * 2) / 6)
    assert "stand-in" in summary["notes"][0]


def test_a_sample_with_the_scripted_sides(tmp_path: Path) -> None:
    values = {
        "name": "scripted",
        "output_dir": tmp_path / "out",
        "sample": {"languages": ["zh", "en"], "n": 4, "split": "test"},
        "salespeople": [{"provider": "scripted", "model": "salesperson"}],
        "customers": [{"provider": "scripted", "model": "customer"}],
    }
    summary = run(values)
    figures = summary["results"]["scripted/salesperson"]["scripted/customer"]
    assert (figures["zh"]["dialogues"], figures["en"]["dialogues"]) == (4, 4)
    assert figures["overall"]["selling"]["n"] == 8
    ids = {d.scenario_id for d in read_dialogues(tmp_path / "out" / "dialogues.jsonl")}
    assert ids == {s.id for s in scenarios_of(BenchmarkRecipe.model_validate(values))}


def test_calls_overlap_up_to_the_recipes_concurrency(
    values: dict[str, Any], actors: Loopback
) -> None:
    actors.delay = 0.02
    run(values)
    assert actors.most_at_once == values["concurrency"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--round", "3"], "Did you mean `rounds`"),
        (["--rounds", "0"], "field `rounds`"),
        (["--alpha", "1.5"], "field `alpha`"),
        (["--judge", "gpt"], "'gpt' is a model of no registry"),
        (["--judge", "{{provider: scripted, model: customer}}"], "a scripted speaker cannot judge"),
        (["--scenarios", "absent.jsonl"], "absent.jsonl: no such file"),
        (["--sample.n", "3"], "a file or a sample, not both"),
        (["--salespeople.1.name", "A"], "the name 'A' is taken"),
        (["--salespeople", "[]"], "field `salespeople`"),
        (
            ["--customers", "[{{provider: scripted, model: salesperson}}]"],
            "the scripted salesperson cannot be a customer",
        ),
        (
            ["--customers", "[{{provider: local, model: outputs/no/such}}]"],
            "outputs/no/such: field `customers`: no such folder",
        ),
        (
            ["--customers.0", "{{provider: local, model: tests/sfft}}"],
            "tests/sfft: field `customers`: no such folder",
        ),
        (["--customers.0", "{{provider: local, model: '{tmp}'}}"], "cannot load the tokenizer"),
        (["--intent.en", "tests/sfft"], "tests/sfft: field `intent.en`: no such folder"),
        (["--customers.0.api_key_env", "NO_SUCH_KEY"], "NO_SUCH_KEY is not set"),
        (["--intent.fr", "x"], "fr"),
        (["--prompts_dir", "{tmp}"], "Use only"),
    ],
)
def test_bad_recipes_stop_with_one_message_before_the_first_call(
    values: dict[str, Any],
    actors: Loopback,
    tmp_path: Path,
    options: list[str],
    message: str,
) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "customer_script.j2").write_text("{{ nonsense }}", encoding="utf-8")
    command = script(values, *(option.format(tmp=tmp_path) for option in options))
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert actors.requests == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", sorted((ROOT / "recipes" / "benchmark").glob("*.yaml")), ids=str)
def test_the_recipes_of_the_repository(path: Path) -> None:
    recipe = load_recipe(BenchmarkRecipe, ["--config", str(path)])
    assert recipe.alpha == 0.6
    assert recipe.rounds == (20 if path.stem == "paper" else 10)
    if path.stem not in ("tiny", "rollouts"):
        assert recipe.sampling.settings() == Sampling()  # whose defaults are the paper's
        assert all(spec.api_key_env for _, spec in recipe.speakers() if spec.name == "GPT-4o")
