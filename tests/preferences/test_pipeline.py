"""The stages in their order: what runs, what is refused, what is tried again."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import Fault, Loopback
from pairs_made import pipeline
from voices import verdict, voices

from salesllm.dialogue import END_MARKER, read_dialogues
from salesllm.errors import InputError
from salesllm.files import read_json, read_jsonl
from salesllm.preferences.decisions import Decisions, decided
from salesllm.preferences.pairs import read_pairs
from salesllm.training.rows import read_preferences


def asked(loopback: Loopback) -> Counter[str]:
    return Counter(body["model"] for body in loopback.requests)


def test_from_scenarios_to_rows_that_dpo_reads(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert pipeline(values, review="optional", eval_share=0.3).run()
    dialogues = {d.id: d for d in read_dialogues(out / "rollout" / "dialogues.jsonl")}
    assert len(dialogues) == 2 * 6
    rows = [r for name in ("train", "eval") for _, r in read_jsonl(out / f"{name}.jsonl")]
    assert len(rows) >= 6
    for row in rows:
        dialogue, turn = dialogues[row["dialogue_id"]], row["turn"]
        said = [message["content"] for message in row["prompt"][1:]]
        assert said == [t.text for t in dialogue.turns[:turn]]
        rejected, chosen = (row[side][0]["content"] for side in ("rejected", "chosen"))
        assert rejected.removesuffix(END_MARKER).strip() == dialogue.turns[turn].text
        inverted, likeness = verdict(rejected.removesuffix(END_MARKER).strip())
        assert inverted or likeness <= 4
        inverted, better = verdict(chosen.removesuffix(END_MARKER).strip())
        assert not inverted
        assert better >= max(likeness + 2, 5)
        assert row["verdicts"]["chosen"]["likeness"] == better
        by_writer = row["chosen_by"] == "writer"
        assert (f"{dialogue.language}/customer_reply" in row["versions"]) is by_writer
        assert f"{dialogue.language}/turn_judge" in row["versions"]
    assert {"writer", "customer"} == {row["chosen_by"] for row in rows}
    parts = [
        {r["scenario_id"] for _, r in read_jsonl(out / f"{n}.jsonl")} for n in ("train", "eval")
    ]
    assert parts[0].isdisjoint(parts[1])
    assert len(read_preferences(out / "train.jsonl")) == len(list(read_jsonl(out / "train.jsonl")))
    judged = [row for _, row in read_jsonl(out / "judged.jsonl")]
    assert all((row["inverted"], row["likeness"]) == verdict(row["text"]) for row in judged)
    assert not any(row["turn"] == 0 for row in judged)  # the opener is the scenario's

    # A second time nobody is asked anything and nothing changes.
    before = {path: path.read_bytes() for path in out.rglob("*.jsonl")}
    loopback.requests.clear()
    assert pipeline(values, review="optional", eval_share=0.3).run()
    assert not loopback.requests
    assert {path: path.read_bytes() for path in out.rglob("*.jsonl")} == before


def test_stages_alone_and_in_their_order_only(values: dict[str, Any], tmp_path: Path) -> None:
    for stage, missing in [("judge", "rollout"), ("review", "rollout"), ("export", "rollout")]:
        with pytest.raises(InputError, match=f"has not been run. Run --stage {missing} first"):
            pipeline(values).run(stage)
    assert not (tmp_path / "out").exists()
    pipeline(values).run("rollout")
    with pytest.raises(InputError, match=r"pair works on what judge leaves, .* Run --stage judge"):
        pipeline(values).run("pair")
    for stage in ("judge", "pair", "augment"):
        pipeline(values).run(stage)
    with pytest.raises(InputError, match=r"has been accepted. Run --stage review first"):
        pipeline(values).run("export")
    with pytest.raises(InputError, match=r"`margin` was 2 and is 5. Run --stage pair first"):
        pipeline(values, margin=5).run("augment")
    with pytest.raises(InputError, match="the recipe names no writer"):
        pipeline(values, writer=None).run("augment")
    (tmp_path / "out" / "pairs.jsonl").unlink()
    with pytest.raises(InputError, match=r"pairs.jsonl is missing. Run --stage pair first"):
        pipeline(values).run("review")


@pytest.mark.parametrize("damaged", ["", "[]", "{}", '{"settings": {}}'])
def test_a_stage_with_a_damaged_summary_is_not_done(
    damaged: str, values: dict[str, Any], tmp_path: Path, loopback: Loopback
) -> None:
    assert pipeline(values).run()
    summary = tmp_path / "out" / "augment.summary.json"
    summary.write_text(damaged, encoding="utf-8")
    with pytest.raises(InputError, match=r"it has not been run. Run --stage augment first"):
        pipeline(values).run("export")
    loopback.requests.clear()
    assert pipeline(values).run()
    assert not loopback.requests  # its journal holds
    assert read_json(summary)["stage"] == "augment"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rounds": 4}, r"rollout/journal.jsonl: .*`recipe.rounds` was 5 and is 4"),
        ({"judge_attempts": 2}, r"judged.journal.jsonl: .*`judge_attempts` was 3 and is 2"),
        ({"candidates": 5}, r"pairs.journal.jsonl: .*`candidates` was 4 and is 5"),
    ],
)
def test_a_changed_recipe_is_refused_and_named(
    values: dict[str, Any], loopback: Loopback, changes: dict[str, Any], said: str
) -> None:
    pipeline(values).run()
    loopback.requests.clear()
    with pytest.raises(InputError, match=said):
        pipeline(values, **changes).run()
    assert not loopback.requests


def test_thresholds_may_change_and_ask_nobody_anew(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    pipeline(values, writer=None, margin=2).run()
    many = read_pairs(tmp_path / "out" / "pairs.jsonl")
    loopback.requests.clear()
    pipeline(values, writer=None, margin=6).run()
    few = read_pairs(tmp_path / "out" / "pairs.jsonl")
    assert not loopback.requests
    assert 0 < len(few) < len(many)
    assert [p.id for p in few] == [p.id for p in many if p.margin >= 6]
    assert [p.margin for p in many] == sorted((p.margin for p in many), reverse=True)


def test_what_cannot_be_read_is_unscored_counted_and_no_pair(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    def mumbling(body: dict[str, Any]) -> str:
        zh = "有人在一段" in body["messages"][0]["content"]
        return "Rather good!" if body["model"] == "judge" and zh else voices(body)

    loopback.reply = mumbling
    assert pipeline(values, writer=None).run()  # a judge's verdict that there is none
    out = tmp_path / "out"
    summary = read_json(out / "judge.summary.json")
    unscored = [r for _, r in read_jsonl(out / "judged.jsonl") if r["likeness"] is None]
    assert len(unscored) == summary["unscored"] > 0
    assert all("no judgement in 3 answers" in row["reason"] for row in unscored)
    dropped = read_json(out / "pair.summary.json")["without_a_pair"]
    assert dropped["the turn is unscored"] == len(unscored)
    assert {p.language for p in read_pairs(out / "pairs.jsonl")} == {"en"}


def test_failures_are_no_data_and_tried_again(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    rng, broken = random.Random(0), {"seller": 0.2, "judge": 0.1, "writer": 0.3}
    loopback.fault_of = lambda body: (
        Fault(status=400) if rng.random() < broken[body["model"]] else None
    )
    out = tmp_path / "out"
    assert not pipeline(values).run()
    stages = ("rollout", "judge", "pair", "augment")
    failed = [read_json(out / f"{stage}.summary.json")["failed"] for stage in stages]
    assert all(failed), failed
    assert len(read_dialogues(out / "rollout" / "dialogues.jsonl")) == 12 - failed[0]
    loopback.fault_of = lambda body: None
    assert pipeline(values).run()
    calm = str(tmp_path / "calm")
    pipeline(values, output_dir=calm).run()
    for name in ("judged.jsonl", "pairs.jsonl", "augmented.jsonl"):
        assert (out / name).read_bytes() == (Path(calm) / name).read_bytes()


def test_decisions_rule_the_export(values: dict[str, Any], tmp_path: Path) -> None:
    pipeline(values).run()
    out = tmp_path / "out"
    assert not (out / "train.jsonl").exists()  # a person has to look first
    first, second, third, *_ = pairs = read_pairs(out / "augmented.jsonl")
    with Decisions(out / "decisions.jsonl") as decisions:
        decisions.put(first, decided(first, "accept", "my own words"))
        decisions.put(second, decided(second, "reject", second.chosen))
        decisions.put(third, decided(third, "accept", third.chosen))
    pipeline(values).run("export")
    rows = [row for _, row in read_jsonl(out / "train.jsonl")]
    assert [row["reviewed_id"] for row in rows] == [first.id, third.id]
    assert rows[0]["chosen"][0]["content"] == "my own words"
    assert (rows[0]["chosen_by"], rows[0]["verdicts"]["chosen"]) == ("reviewer", None)
    assert rows[0]["id"] != first.id
    assert rows[1]["review"] == {"choice": "accept", "comment": ""}
    pipeline(values, review="optional").run("export")
    rows = [row for _, row in read_jsonl(out / "train.jsonl")]
    assert {row["reviewed_id"] for row in rows} == {p.id for p in pairs} - {second.id}
    pipeline(values, review="optional", max_pairs=3).run("export")
    assert len(list(read_jsonl(out / "train.jsonl"))) == 3
    pipeline(values, overwrite=True).run()  # everything anew but what people decided
    with Decisions(out / "decisions.jsonl") as decisions:
        assert decisions.counts(pairs)["accept"] == 1


def test_an_export_edited_by_hand_is_left_alone(values: dict[str, Any], tmp_path: Path) -> None:
    pipeline(values, review="optional").run()
    path = tmp_path / "out" / "train.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    edited = path.read_bytes()
    with pytest.raises(InputError, match=r"train.jsonl: it has been edited since it was exported"):
        pipeline(values, review="optional").run()
    assert path.read_bytes() == edited


def test_an_export_killed_between_its_files_is_finished(
    values: dict[str, Any], tmp_path: Path
) -> None:
    values |= {"review": "optional", "eval_share": 0.3}
    pipeline(values).run()
    names = ("train.jsonl", "eval.jsonl", "export.summary.json")
    files = [tmp_path / "out" / name for name in names]
    whole = [path.read_bytes() for path in files[:2]]
    for path in files:
        path.unlink()
    config = tmp_path / "recipe.yaml"
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    code = """if True:
        import os, runpy, signal, sys
        from salesllm.preferences import export
        write_text = export.write_text
        def and_die(*arguments):
            write_text(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)
        export.write_text = and_die
        runpy.run_path(sys.argv.pop(1), run_name="__main__")
    """
    script = str(Path(__file__).parents[2] / "data_prep" / "preferences.py")
    killed = subprocess.run([sys.executable, "-c", code, script, "--config", str(config)])
    assert killed.returncode == -signal.SIGKILL
    assert [path.exists() for path in files] == [True, False, False]
    pipeline(values).run()
    assert [path.read_bytes() for path in files[:2]] == whole


def test_too_few_scenarios_for_two_parts(values: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"too few to hold a share of 0.99 out"):
        pipeline(values, review="optional", eval_share=0.99).run()
    assert not (tmp_path / "out" / "train.jsonl").exists()


def test_a_prompt_that_does_not_fit_stops_before_the_first_call(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "turn_judge.j2").write_text("{{ nonsense }}", encoding="utf-8")
    with pytest.raises(InputError, match="'nonsense' is undefined"):
        pipeline(values, prompts_dir=str(tmp_path)).run()
    assert not loopback.requests


def test_the_judges_prompt_shows_the_turn_in_its_place(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    pipeline(values, writer=None).run("rollout")
    loopback.requests.clear()
    pipeline(values, writer=None).run("judge")
    texts = [body["messages"][0]["content"] for body in loopback.requests]
    rows = [row for _, row in read_jsonl(tmp_path / "out" / "judged.jsonl")]
    dialogues = {d.id: d for d in read_dialogues(tmp_path / "out/rollout/dialogues.jsonl")}
    assert asked(loopback)["judge"] == len(set(texts)) <= len(rows)
    for row in rows:
        history = dialogues[row["dialogue_id"]].turns[: row["turn"]]
        (shown,) = [t for t in texts if f"[{len(history)}]" in t and row["text"] in t
                    and all(turn.text in t for turn in history)][:1]  # fmt: skip
        assert f"[{len(history) + 1}]" not in shown


def test_an_endpoint_that_is_not_there_is_told_from_no_pairs(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    loopback.fault_of = lambda body: Fault(status=403)
    with pytest.raises(InputError, match=r"dialogues.jsonl: all that rollout tried has failed"):
        pipeline(values).run()
    loopback.fault_of = lambda body: None
    with pytest.raises(
        InputError, match=r"there is no pair to export \(0 rejected\). Lower margin"
    ):
        pipeline(values, margin=10, writer=None).run()
    assert not (tmp_path / "out" / "train.jsonl").exists()


def test_it_imports_without_torch() -> None:
    code = "import sys, salesllm.preferences.pipeline; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
