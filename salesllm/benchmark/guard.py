"""The live guard of a run: a saved speaker detector that judges customers' drafts.

`eval/ablation.py` saves the detector that it fits (`detector.npz`). A detector of other dialogues
than those under test is the one to use: the rate after guarding is by the guard's own judgement,
and says nothing about what another detector or a judge would find.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from salesllm.benchmark.recipe import GuardRecipe
from salesllm.dialogue import Language, Turn
from salesllm.errors import InputError
from salesllm.fidelity.inversion import THRESHOLD, SpeakerDetector
from salesllm.stats import Interval, proportion


class DetectorGuard:
    """Flags drafts that a detector takes for a salesperson's (`salesllm.simulate.Guard`).

    Args:
        threshold: P(salesperson) from which a draft is flagged.
        redraws: As in `Guard`.
    """

    def __init__(
        self, detector: SpeakerDetector, *, threshold: float = THRESHOLD, redraws: int = 2
    ) -> None:
        self.detector, self.threshold, self.redraws = detector, threshold, redraws

    @classmethod
    def load(
        cls,
        path: str | Path,
        languages: Collection[Language],
        *,
        threshold: float = THRESHOLD,
        redraws: int = 2,
    ) -> DetectorGuard:
        """Opens a saved detector for dialogues in these languages.

        Raises:
            InputError: The file is none, or it knows nothing of one of the languages.
        """
        detector = SpeakerDetector.load(path)
        if unknown := sorted(set(languages) - set(detector.languages)):
            problem = f"the speaker detector was fitted to no dialogue in {unknown[0]!r}"
            raise InputError(problem, path=path, fix="Fit one to dialogues in all languages")
        return cls(detector, threshold=threshold, redraws=redraws)

    def flags(self, turns: Sequence[Turn], draft: str, language: Language) -> bool:
        return self.detector.p_salesperson(draft, language) >= self.threshold


def guard_rates(counts: Iterable[Mapping[str, Any]]) -> dict[str, Interval]:
    """A guard's rates over dialogues, with 95 % intervals that resample whole dialogues.

    Args:
        counts: `GuardCounts.as_dict()` of each dialogue.

    Returns:
        Flagged turns / turns: `before`, of first drafts, and `after`, of what was said.
    """
    rows = list(counts)
    dialogues = [number for number, row in enumerate(rows) for _ in range(row["turns"])]
    return {
        name: proportion(
            [turn < row[column] for row in rows for turn in range(row["turns"])], dialogues
        )
        for name, column in (("before", "flagged"), ("after", "kept_flagged"))
    }


def open_guard(recipe: GuardRecipe, languages: Collection[Language]) -> DetectorGuard:
    """The guard of a recipe, for dialogues in these languages."""
    settings = recipe.model_dump(exclude={"detector"})
    return DetectorGuard.load(recipe.detector, languages, **settings)
