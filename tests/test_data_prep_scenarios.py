"""`data_prep/scenarios.py` as it is called: the same bytes, everything counted, mistakes named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from salesllm.files import read_json
from salesllm.scenario import read_scenarios

ROOT = Path(__file__).parents[1]
RECIPE = """
output_dir: {folder}
language: {language}
counts: {{Pet_Supplies: 12, bond_fund: 30}}
personas: 300
seed: 3
evaluation: {{version: v7, zh: 20, en: 10, subsets: {{small: 8}}}}
"""


def run(folder: Path, *arguments: str, language: str = "zh") -> subprocess.CompletedProcess[str]:
    recipe = folder.with_suffix(".yaml")
    recipe.write_text(RECIPE.format(folder=folder, language=language))
    script = [sys.executable, str(ROOT / "data_prep/scenarios.py"), "--config", str(recipe)]
    return subprocess.run([*script, *arguments], capture_output=True, text=True)


def test_the_same_recipe_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        ran = run(tmp_path / name)
        assert ran.returncode == 0, ran.stderr
        assert "42 products, 300 personas, 42 scenarios" in " ".join(ran.stdout.split())
    files = {path.name for path in (tmp_path / "a").iterdir()}
    assert files == {
        "products.jsonl", "personas.jsonl", "scenarios.jsonl", "dropped.jsonl", "summary.json",
        "v7.jsonl", "v7-small.jsonl",
    }  # fmt: skip
    for name in files - {"summary.json"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    summary = read_json(tmp_path / "a/summary.json")
    assert summary["categories"] == {"bond_fund": 30, "Pet_Supplies": 12}
    lost = (tmp_path / "a/dropped.jsonl").read_text().splitlines()
    parts = summary["near_duplicates"]
    assert sum(part["dropped"] for part in parts.values()) == len(lost)
    assert parts["persona"]["drawn"] - parts["persona"]["dropped"] == 300


def test_scenarios_are_whole_and_english_is_parallel(tmp_path: Path) -> None:
    assert run(tmp_path / "zh").returncode == 0
    assert run(tmp_path / "en", language="en").returncode == 0
    zh = {s.id: s for s in read_scenarios(tmp_path / "zh/scenarios.jsonl")}
    en = {s.id: s for s in read_scenarios(tmp_path / "en/scenarios.jsonl")}
    assert zh.keys() == en.keys()
    for scenario in (*zh.values(), *en.values()):
        assert all(scenario.scripts.values())
        assert len(scenario.scripts) == 2
    products = [json.loads(line)["id"] for line in (tmp_path / "zh/products.jsonl").open()]
    assert sorted(products) == sorted(s.product.id for s in zh.values())
    rows = read_scenarios(tmp_path / "zh/v7.jsonl")
    assert [r.id for r in rows[:2]] == ["v7-0001-zh", "v7-0002-zh"]
    assert len(rows) == 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--counts.Pet_Suplies", "3"], r"counts.Pet_Suplies"),
        (["--counts.Pet_Supplies", "0"], "Write 1 or more"),
        (["--threshold", "1.5"], "threshold"),
        (["--langauge", "en"], "Did you mean `language`"),
        (["--threshold", "0.01"], "near duplicates"),
        (["--counts", "{}"], "field `counts`: {} is no counts"),
        (["--counts", "foo"], "field `counts`: 'foo' is no counts"),
        (["--counts", "{stocks: 1.5}"], "field `counts.stocks`: 1.5 is no number"),
        (["--counts", "{stocks: true}"], "field `counts.stocks`: True is no number"),
        (["--personas", "10000000"], "field `personas`"),
        (["--evaluation.zh", "43"], "field `evaluation.zh`: 43 is more than the 42"),
        (["--evaluation.en", "21"], "field `evaluation.en`: 21 is more than the 20"),
        (["--evaluation.subsets.small", "7"], "field `evaluation.subsets.small`: 7 is not an even"),
        (["--evaluation.subsets.small", "22"], "from 2 to 20"),
        (["--evaluation.subsets", "{a/b: 2}"], "'a/b' is no name"),
        (["--evaluation.version", "scenarios"], "field `evaluation.version`: 'scenarios' is no"),
        (["--evaluation.version", "../v9"], "field `evaluation.version`: '../v9' is no"),
    ],
)
def test_mistakes_are_named(arguments: list[str], message: str, tmp_path: Path) -> None:
    ran = run(tmp_path / "out", *arguments)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not [*(tmp_path / "out").glob("*")]


def test_a_finished_run_is_kept(tmp_path: Path) -> None:
    assert run(tmp_path / "out").returncode == 0
    ran = run(tmp_path / "out")
    assert ran.returncode == 2
    assert "finished run" in ran.stderr
