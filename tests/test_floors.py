"""A room of `salesllm/` imports only from floors below its own (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[1] / "salesllm"
FLOORS = (
    {"dedup", "errors", "loop", "progress", "provenance", "quantities", "stats"},
    {"files", "journal"},
    {"dialogue", "sheets"},
    {"scenario", "recipe", "splits"},
    {"prompts", "catalog"},
    {"scenarios", "importing"},
    {"chat"},
    {"simulate", "scoring", "fidelity"},
    {"benchmark", "training"},
    {"preferences", "generation", "inspect_bridge"},
    {"report"},
    {"quickstart"},
    {"cli"},
)
ROOMS = {p.stem for p in LIBRARY.iterdir() if not p.name.startswith("__")}
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def imports(file: Path) -> set[str]:
    """Rooms that a module imports from, also inside functions."""
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("salesllm"):
            _, _, rest = (node.module or "").partition(".")
            rooms |= {rest.split(".")[0]} if rest else {alias.name for alias in node.names}
    return rooms


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_imports_point_down(room: str) -> None:
    path = LIBRARY / room
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    for file in files:
        above = {r for r in imports(file) - {room} if FLOOR_OF[r] >= FLOOR_OF[room]}
        assert not above, f"{file.name} imports {above}"
