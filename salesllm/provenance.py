"""What a result was made with: code, packages, machine. Saved beside every result."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = (
    "salesllm-trainer", "torch", "transformers", "trl", "peft", "accelerate", "datasets",
    "tokenizers", "numpy", "scikit-learn", "sacrebleu", "rouge-score", "sentence-transformers",
)  # fmt: skip


def provenance(**extra: Any) -> dict[str, Any]:
    """Git commit and dirty flag, package versions, Python, platform, time; `extra` goes along."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": git_state(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name))},
        "python": platform.python_version(),
        "platform": platform.platform(),
        **extra,
    }


def git_state() -> dict[str, Any]:
    """Commit and whether the tree differs from it; None for both outside a repository."""
    root = Path(__file__).resolve().parents[1]
    commit = _git(root, "rev-parse", "HEAD")
    status = _git(root, "status", "--porcelain")
    return {"commit": commit, "dirty": None if status is None else bool(status)}


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
