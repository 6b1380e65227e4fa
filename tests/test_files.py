"""Whole files: claimed, written at once, kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from salesllm.errors import InputError
from salesllm.files import all_or_none, claim_folder, write_json


def test_a_finished_run_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    summary = claim_folder(tmp_path, overwrite=False)
    write_json(summary, {})
    with pytest.raises(InputError, match=r"finished run.*--overwrite true"):
        claim_folder(tmp_path, overwrite=False)
    assert claim_folder(tmp_path, overwrite=True) == summary
    assert not summary.exists()


def test_all_files_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"

    def write(value: object) -> None:
        with all_or_none([first, second]):
            write_json(first, 1)
            write_json(second, value)

    with pytest.raises(TypeError):
        write(object())
    assert not list(tmp_path.iterdir())
    write(2)
    assert sorted(tmp_path.iterdir()) == [first, second]
