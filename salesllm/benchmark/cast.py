"""Everybody who speaks in a run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from salesllm.benchmark.cell import Cell
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.chat.base import Chat
from salesllm.chat.providers import ChatSpec, check_chat, open_chat

Part = tuple[str, str]
"""A field of the recipe and the name of one of its speakers."""


class Cast:
    """The speakers and raters of a recipe.

    Endpoints are open throughout, which also finds a missing key before the first call. Local
    checkpoints are open only while their dialogues run: memory rarely holds two.
    """

    def __init__(self, recipe: BenchmarkRecipe) -> None:
        self._specs = {(side, spec.name): spec for side, spec in recipe.speakers()}
        for (side, _), spec in self._specs.items():
            check_chat(spec, side)
        self._open: dict[Part, Chat] = {
            key: open_chat(spec) for key, spec in self._specs.items() if spec.provider != "local"
        }
        self._raters = self._local([key for key in self._specs if key[0] in ("judge", "grounding")])

    def spec(self, side: str, name: str) -> ChatSpec:
        return self._specs[side, name]

    def chat(self, side: str, name: str) -> Chat:
        return self._open[side, name]

    def needed(self, cell: Cell, *, spoken: bool) -> tuple[Part, ...]:
        """Which local checkpoints a cell needs, whose dialogue may be there already."""
        sides = [("customers", cell.customer), ("salespeople", cell.salesperson)]
        return (*(() if spoken else self._local(sides)), *self._raters)

    def load(self, needed: Sequence[Part]) -> None:
        """Opens these local checkpoints and closes all others."""
        for key, spec in self._specs.items():
            if spec.provider == "local" and key not in needed:
                self._open.pop(key, None)
        gc.collect()
        if "torch" in sys.modules:
            import torch

            torch.cuda.empty_cache()
        for key in needed:
            if key not in self._open:
                self._open[key] = open_chat(self._specs[key])

    def _local(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(part for part in parts if self._specs[part].provider == "local")
