"""A user's mistake is one line on stderr and exit code 2; a fault of ours is a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from salesllm.errors import InputError, entry_point
from salesllm.files import require_model, write_text


def _message(capsys: pytest.CaptureFixture[str], job: Callable[[], object]) -> str:
    @entry_point
    def main() -> None:
        job()

    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def job() -> None:
        raise InputError("is missing", path="a.jsonl", line=3, field="id", fix="Add the field")

    assert _message(capsys, job) == "error: a.jsonl:3: field `id`: is missing. Add the field."


def test_a_refused_path_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    long = "x" * 300
    for job, path, said in (
        (lambda: write_text(file / "run.json", ""), file, "File exists"),
        (lambda: write_text(file / "a" / "run.json", ""), file / "a", "Not a directory"),
        (lambda: tmp_path.open(), tmp_path, "Is a directory"),
        (lambda: (tmp_path / long).touch(), tmp_path / long, "File name too long"),
    ):
        assert _message(capsys, job) == f"error: {path}: {said}. Choose another path."


def test_a_full_disk_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def job() -> None:
        with open("/dev/full", "w") as full:
            full.write("x")

    assert _message(capsys, job) == "error: No space left on device. Choose another path."


def test_a_fault_of_ours_keeps_its_traceback(tmp_path: Path) -> None:
    @entry_point
    def main() -> None:
        raise PermissionError("of no path")

    with pytest.raises(PermissionError):
        main()


def test_a_mistyped_folder_is_no_model_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outputs" / "sft").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for source in ("outputs/sft", "outputs", tmp_path / "outputs", "Qwen/Qwen3-8B"):
        require_model(source)
    for source in ("outputs/sfft", "sft", "./sft", "~/sft", "a/b/c", "Qwen/", tmp_path / "sft"):
        with pytest.raises(InputError, match=r"field `model`: no such folder\. Check the path"):
            require_model(source, "model")
