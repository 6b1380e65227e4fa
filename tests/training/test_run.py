"""A run's folder: which checkpoint a run continues from, and what overwriting takes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from salesllm.errors import InputError
from salesllm.files import read_json, write_json, write_text
from salesllm.training.run import Run, last_checkpoint


def _run(folder: Path, **recipe: object) -> Run:
    write_text(folder.parent / "data.jsonl", "{}\n")
    files = {"train": str(folder.parent / "data.jsonl"), "eval": None}
    overwrite = bool(recipe.pop("overwrite", False))
    return Run(folder, {"seed": 0, "learning_rate": 0.1} | recipe, files, overwrite=overwrite)


def test_a_torn_checkpoint_is_passed_over(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    for step in (9, 10, 100):
        write_json(tmp_path / f"checkpoint-{step}" / "trainer_state.json", {"global_step": step})
    (tmp_path / "checkpoint-200").mkdir()  # killed before the state was written
    write_text(tmp_path / "checkpoint-300" / "trainer_state.json", '{"global_st')  # or half-way
    write_json(tmp_path / "checkpoint-best" / "trainer_state.json", {})
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-100")


def test_a_run_continues_only_itself(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run = _run(folder)
    assert run.resume_from is None
    assert not folder.exists()
    run.begin()
    write_json(folder / "checkpoint-5" / "trainer_state.json", {})
    assert _run(folder).resume_from == str(folder / "checkpoint-5")
    assert _run(folder, report_to=["wandb"]).resume_from == str(folder / "checkpoint-5")
    with pytest.raises(InputError, match=r"another recipe \(learning_rate: 0.1 is now 0.2\)"):
        _run(folder, learning_rate=0.2)
    record = read_json(folder / "run.json")
    write_json(folder / "run.json", record | {"data_sha256": {"train": "other"}})
    with pytest.raises(InputError, match="the data files"):
        _run(folder)


def test_a_run_that_never_reached_a_checkpoint_is_begun_anew(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    _run(folder).begin()
    write_text(folder / ".scratch" / "train" / "rows", "of the old recipe")
    (folder / "checkpoint-5").mkdir()  # torn
    run = _run(folder, learning_rate=0.2)
    assert run.resume_from is None
    run.begin()
    assert [path.name for path in folder.iterdir()] == ["run.json"]
    assert read_json(folder / "run.json")["recipe"]["learning_rate"] == 0.2


def test_overwriting_leaves_no_weights_of_the_old_run(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    _run(folder).begin()
    old = ["model.safetensors", "model-00001-of-2.safetensors", "adapter_config.json"]
    for name in [*old, "checkpoint-5/trainer_state.json", "notes.txt"]:
        write_text(folder / name, "{}")
    run = _run(folder, overwrite=True)
    assert (folder / "model.safetensors").exists()  # until the new run begins
    run.begin()
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "run.json"]
    run.scratch.mkdir()
    run.finish({"steps": 1})
    assert not run.scratch.exists()
    with pytest.raises(InputError, match="already holds a finished run"):
        _run(folder)


def test_the_base_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`output_dir`: the output folder is the base's own"):
        _run(tmp_path / "base", model_name_or_path=str(tmp_path / "x" / ".." / "base"))
