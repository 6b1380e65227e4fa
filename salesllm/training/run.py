"""A training run's folder: refused, resumed or begun; and what is saved beside the weights."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salesllm.chat.providers import CUSTOMER_CARD
from salesllm.errors import InputError
from salesllm.files import finished_run, read_json, sha256, write_json
from salesllm.provenance import provenance

RECORD, SUMMARY = "run.json", "summary.json"
SCRATCH = ".scratch"

# These may differ between a run and its continuation without changing what is trained.
_FREE = {
    "output_dir", "overwrite", "resume_from_checkpoint", "report_to", "run_name", "local_rank",
    "disable_tqdm", "log_level", "log_level_replica", "logging_dir", "push_to_hub", "hub_model_id",
    "save_total_limit", "dataloader_num_workers", "project",
}  # fmt: skip


class Run:
    """The output folder of one training run.

    A folder is finished (it has `summary.json`), unfinished (it has `run.json` and a whole
    checkpoint) or fresh: a run that failed before its first checkpoint left nothing to continue.
    The same command continues an unfinished run from its last whole checkpoint.

    Raises:
        InputError: The folder holds a finished run, an unfinished one of another recipe, or the
            base itself.
    """

    def __init__(
        self,
        output_dir: str | Path,
        recipe: Mapping[str, Any],
        files: Mapping[str, str | None],
        *,
        overwrite: bool = False,
        is_main: bool = True,
    ) -> None:
        self.path = Path(output_dir)
        self.is_main = is_main
        if (base := recipe.get("model_name_or_path")) and Path(
            base
        ).resolve() == self.path.resolve():
            problem = "the output folder is the base's own, which the run would write over"
            fix = "Choose another output_dir"
            raise InputError(problem, path=self.path, field="output_dir", fix=fix)
        data = {name: sha256(path) for name, path in files.items() if path}
        self.record: dict[str, Any] = {"recipe": _plain(recipe), "data_sha256": data}
        self.resume_from = None if overwrite else self._check()

    def _check(self) -> str | None:
        if (self.path / SUMMARY).exists():
            raise finished_run(self.path)
        checkpoint = last_checkpoint(self.path)
        if checkpoint is None or not (self.path / RECORD).exists():
            return None
        old = read_json(self.path / RECORD)
        changed = [
            f"{key}: {old['recipe'].get(key)!r} is now {value!r}"
            for key, value in self.record["recipe"].items()
            if key not in _FREE and old["recipe"].get(key) != value
        ]
        if old["data_sha256"] != self.record["data_sha256"]:
            changed.append("the data files")
        if changed:
            raise InputError(
                f"the folder holds an unfinished run of another recipe ({changed[0]})",
                path=self.path,
                field="output_dir",
                fix="Undo the change, choose another output_dir, or pass --overwrite true",
            )
        return checkpoint

    @property
    def scratch(self) -> Path:
        """For what the processes of the run share; gone when it finishes."""
        return self.path / SCRATCH

    def begin(self) -> None:
        """Writes `run.json`, in place of a run that is not continued: the folder is this run's."""
        if not self.is_main:
            return
        if self.resume_from is None:
            _clear(self.path)
        os.environ.setdefault("WANDB_DIR", str(self.path))  # a tracker's files belong to the run
        os.environ.setdefault("WANDB_PROJECT", "salesllm")
        seed = self.record["recipe"].get("seed")
        write_json(self.path / RECORD, {**self.record, **provenance(seed=seed)})

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Writes `summary.json`, which marks the run as finished."""
        if self.is_main:
            shutil.rmtree(self.scratch, ignore_errors=True)
            write_json(self.path / SUMMARY, _plain(summary))


def last_checkpoint(folder: Path) -> str | None:
    """The newest `checkpoint-N` that was saved whole.

    A save is not atomic; `trainer_state.json` is written last, so a folder without it, or with a
    part of it, is torn.
    """
    found = [
        (int(match[1]), path)
        for path in folder.glob("checkpoint-*")
        if (match := re.fullmatch(r"checkpoint-(\d+)", path.name))
        and _is_json(path / "trainer_state.json")
    ]
    return str(max(found)[1]) if found else None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _clear(folder: Path) -> None:
    """Removes what a training run wrote here, and nothing else."""
    if not (folder / RECORD).exists() and not (folder / SUMMARY).exists():
        return
    for pattern in (RECORD, SUMMARY, CUSTOMER_CARD, "model*.safetensors*", "adapter_*"):
        for file in folder.glob(pattern):
            file.unlink()
    for checkpoint in folder.glob("checkpoint-*"):
        shutil.rmtree(checkpoint)
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
