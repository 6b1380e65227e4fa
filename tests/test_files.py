"""Whole files: claimed, written at once, kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from salesllm.errors import InputError
from salesllm.files import claim_folder, write_json


def test_a_finished_run_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    summary = claim_folder(tmp_path, overwrite=False)
    write_json(summary, {})
    with pytest.raises(InputError, match=r"finished run.*--overwrite true"):
        claim_folder(tmp_path, overwrite=False)
    assert claim_folder(tmp_path, overwrite=True) == summary
    assert not summary.exists()
