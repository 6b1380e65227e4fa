"""`eval/agreement.py`: a run's scores beside human ratings, as a user runs it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from salesllm.benchmark.agreement import agreement_of, read_ratings, read_scored
from salesllm.errors import InputError
from salesllm.files import read_json, write_jsonl
from salesllm.stats import correlation

ROOT = Path(__file__).parents[2]
MODELS = ("GPT-4o", "GLM-4.6", "Qwen-Max", "=1|<b>&")


def scored(number: int, **given: Any) -> dict[str, Any]:
    model = MODELS[number % 4]
    made = {"id": f"{model}::CustomerLM::s{number // 4}::0", "salesperson": model,
            "product_id": f"p{number // 8}"}  # fmt: skip
    return made | given


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """40 dialogues that four models had; one in ten is unscored, one has no buying score."""
    rng, rows, ratings = np.random.default_rng(0), [], []
    for number in range(40):
        worth = float(np.clip(rng.normal(3 + number % 4, 1.5), 0, 10))
        selling = None if number % 10 == 9 else round(worth)
        buying = None if number % 10 == 9 or number == 4 else float(min(worth * 1.1, 10))
        final = None if None in (buying, selling) else 0.6 * buying + 0.4 * selling  # type: ignore[operator]
        rows.append(scored(number, final=final, buying=buying, selling=selling))
        for rater in range(3 if number < 30 else 0):
            score = int(np.clip(round(worth + rng.normal(0, 1)), 0, 10))
            ratings.append((rows[-1]["id"], f"rater {rater}", score))
    write_jsonl(tmp_path / "run" / "scores.jsonl", rows)
    with (tmp_path / "ratings.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("dialogue_id", "rater", "score"), *ratings])
    columns = ("dialogue_id", "rater", "score")
    write_jsonl(tmp_path / "ratings.jsonl", (dict(zip(columns, r, strict=True)) for r in ratings))
    return tmp_path


def agreement(folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "eval" / "agreement.py", "--run", folder / "run",
               "--output_dir", folder / "out", *more]  # fmt: skip
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)


def test_as_a_user_runs_it(run: Path) -> None:
    done = agreement(run, "--ratings", run / "ratings.csv")
    assert done.returncode == 0, done.stderr
    table = (run / "out" / "table.md").read_text(encoding="utf-8")
    assert done.stdout == table
    assert "90 ratings of 30 dialogues by 3 raters" in table
    assert "| *final, paper* | *of 100 dialogues* | – | 0.98 | 1.0 | – | – |" in table
    assert "Correlations over salespeople rest on 4 points" in table
    assert "Correlations over dialogues rest" not in table
    assert r"| =1\|<b>& |" in table
    summary = read_json(run / "out" / "summary.json")
    with (run / "out" / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 * 3
    for row in rows:
        figure = summary["scores"][row["score"]][row["over"]][row["coefficient"]]
        assert row["value"] == str(figure["value"])
        assert row["n"] == str(figure["n"])
        assert row["unscored"] == str(summary["scores"][row["score"]]["unscored"])
    svg = ElementTree.parse(run / "out" / "scatter.svg").getroot()
    circles = svg.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == summary["scores"]["final"]["dialogues"]["pearson"]["n"] + 2 * 4
    assert len(summary["provenance"]["data_sha256"]) == 2

    again = agreement(run, "--ratings", run / "ratings.jsonl")
    assert again.returncode == 2
    assert "overwrite" in again.stderr
    anew = agreement(run, "--ratings", run / "ratings.jsonl", "--overwrite", "true")
    assert (anew.returncode, anew.stdout) == (0, table)


def test_the_figures_are_those_of_scipy(run: Path) -> None:
    rows = read_scored(run / "run" / "scores.jsonl")
    ratings = read_ratings(run / "ratings.csv", rows)
    found = agreement_of(rows, ratings)
    assert found["rated"] == {"dialogues": 30, "raters": 3, "ratings": 90}
    people = {name: np.mean(list(given.values())) for name, given in ratings.items()}
    for score, unscored in (("final", 4), ("buying", 4), ("selling", 3)):
        known = [name for name in people if rows[name].scores[score] is not None]
        assert found["scores"][score]["unscored"] == 30 - len(known) == unscored
        x, y = [rows[name].scores[score] for name in known], [people[name] for name in known]
        level = found["scores"][score]["dialogues"]
        assert level["pearson"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic)
        assert level["spearman"]["value"] == pytest.approx(stats.spearmanr(x, y).statistic)
        assert level["kendall"]["value"] == pytest.approx(stats.kendalltau(x, y).statistic)
        clusters = [rows[name].product_id for name in known]
        expected = correlation(x, y, clusters, kind="kendall").as_dict()  # type: ignore[arg-type]
        assert level["kendall"] == pytest.approx(expected)
        x, y = (
            [
                np.mean([value for name, value in zip(known, values, strict=True)
                         if rows[name].salesperson == model])
                for model in MODELS
            ]
            for values in (x, y)
        )  # fmt: skip
        models = found["scores"][score]["salespeople"]["pearson"]
        assert models["value"] == pytest.approx(stats.pearsonr(x, y).statistic)
        assert models["n"] == 4


def test_raters_who_rated_different_dialogues(run: Path) -> None:
    rows = read_scored(run / "run" / "scores.jsonl")
    names = list(rows)
    apart = {name: {f"rater {i % 2}": 5.0 + i % 3} for i, name in enumerate(names)}
    found = agreement_of(rows, apart)
    assert found["raters"]["krippendorff_alpha"] is None
    assert (found["raters"]["n"], found["raters"]["icc_2_k"]["n"]) == (0, 0)
    assert any("No dialogue has two raters" in note for note in found["notes"])
    chain = {n: {f"rater {i % 3}": 5.0 + i, f"rater {(i + 1) % 3}": 5.5 + i}
             for i, n in enumerate(names[:4])}  # fmt: skip
    found = agreement_of(rows, chain)
    assert found["raters"]["krippendorff_alpha"] > 0.8
    assert found["raters"]["icc_2_1"] == {"value": None, "low": None, "high": None, "n": 0}
    assert any("there is no ICC" in note for note in found["notes"])
    json.dumps(found, allow_nan=False)


ID = "GPT-4o::CustomerLM::s0::0"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.csv", f"{ID},ann,5\nx::y,ann,5\n", ":3: field `dialogue_id`: there is no dialogue"),
        ("r.csv", f"{ID},ann,5\n{ID},ann,6\n", ":3: field `rater`: 'ann' has a row about"),
        ("r.csv", f"{ID},,5\n", ":2: field `rater`: is empty"),
        ("r.csv", f"{ID},ann,11\n", ":2: field `score`: '11' is no score. Write a number from 0"),
        ("r.csv", f'{ID},ann,"7,5"\n', ":2: field `score`: '7,5' is no score"),
        ("r.csv", f"{ID},ann,nan\n", ":2: field `score`: 'nan' is no score"),
        ("r.csv", f"{ID},ann,\n", ": field `score`: no row has a score"),
        ("r.jsonl", {"dialogue_id": ID, "rater": "ann"}, ":1: field `score`: is missing"),
        ("r.jsonl", {"dialogue_id": ID, "rater": "a", "score": True}, ":1: field `score`: 'True'"),
        ("r.jsonl", {"dialogue_id": ID, "rater": "a", "score": None}, ": field `score`: no row"),
    ],
)  # fmt: skip
def test_bad_ratings_are_named(name: str, content: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    text = f"dialogue_id,rater,score\n{content}"
    path.write_text(text if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_ratings(path, {ID})
    assert str(error.value).startswith(f"{path}{said}")


def test_ratings_as_people_fill_them_in(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(
        f"\ufeffRater;Dialogue_id;Score;note\nann;{ID}; 7.5 ;good\nbo;{ID};;\n", encoding="utf-8"
    )
    assert read_ratings(path, {ID}) == {ID: {"ann": 7.5}}


def test_a_folder_without_a_run(run: Path) -> None:
    (run / "run" / "scores.jsonl").write_text('{"id": "x"}\n', encoding="utf-8")
    done = agreement(run, "--ratings", run / "ratings.csv")
    assert done.returncode == 2
    assert "scores.jsonl:1: field `salesperson`: is missing" in done.stderr
    assert not (run / "out").exists()
