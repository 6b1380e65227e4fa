"""What `eval/intent.py` measures: labels beside the true ones, and calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from salesllm.files import read_json, write_json
from salesllm.scoring import accuracy, calibration
from salesllm.scoring.ending import IntentSettings
from salesllm.splits import split_dialogues
from salesllm.training.validation import ENCODER, Held, ValidationRecipe


def compared(held: Held, guesses: Mapping[str, Sequence[str | None]]) -> dict[str, Any]:
    """Figures of all who have labelled, the encoder among them, and its lead over the others."""
    settings, truth, clusters = held.settings, held.truth, held.clusters
    labels, purchase = list(settings.labels), settings.purchase
    by = "product_line" if held.by_product_line else "dialogue"
    return {
        "schema": held.schema,
        "labels": labels,
        "purchase": purchase,
        "majority": max(truth.count(label) for label in labels) / len(truth),
        "clusters": {"by": by, "n": len(set(clusters))},
        "raters": {
            name: accuracy.figures(truth, guess, clusters, labels, purchase)
            for name, guess in guesses.items()
        },
        "lead": {
            name: accuracy.lead(truth, guesses[ENCODER], guess, clusters, labels, purchase)
            for name, guess in guesses.items()
            if name != ENCODER
        },
        "training_records": {"compared": held.compared, "not_compared": held.not_compared},
    }


def calibrated(
    held: Held, probabilities: Sequence[Mapping[str, float]], recipe: ValidationRecipe
) -> dict[str, Any]:
    """How far the scorer's P(purchase) can be believed, without a temperature and with one.

    It is fitted on the validation dialogues, or on one part of the test dialogues, and measured on
    the others. `temperature` is the whole one, the scorer's own included; it is None, as is
    `after`, where none could be fitted.

    Raises:
        InputError: The test dialogues cannot be parted: they share one scenario.
    """
    fit, measured, labels = held.validation, held.test, list(held.settings.labels)
    said = {d.id: list(p.values()) for d, p in zip(held.test, probabilities, strict=True)}
    if fit:
        scores = held.scorer.score(fit, exact=True)
        said_of_fit = [list(score.probabilities.values()) for score in scores]
    else:
        shares = {"fit": recipe.calibration_share, "measure": 1 - recipe.calibration_share}
        fit, measured = split_dialogues(held.test, shares, recipe.seed).values()
        said_of_fit = [said[d.id] for d in fit]
    factor = calibration.fit_temperature(said_of_fit, [labels.index(d.label) for d in fit])
    clusters = dict(zip(said, held.clusters, strict=True))
    p, truth = [said[d.id] for d in measured], [labels.index(d.label) for d in measured]

    def figures(p: Any) -> dict[str, Any]:
        purchase, of = labels.index(held.settings.purchase), [clusters[d.id] for d in measured]
        return calibration.figures(p, truth, purchase, of, recipe.bins)

    fitted = not math.isnan(factor)
    return {
        "temperature": held.settings.temperature * factor if fitted else None,
        "fitted_on": len(fit),
        "measured_on": len(measured),
        "before": figures(p),
        "after": figures(calibration.tempered(p, factor)) if fitted else None,
    }


def save_temperature(scorer: Path, settings: IntentSettings, temperature: float) -> None:
    """Writes it into the checkpoint's `config.json`, of which nothing else changes."""
    config = scorer / "config.json"
    settings = replace(settings, temperature=temperature)
    write_json(config, read_json(config) | {"salesllm_intent": asdict(settings)})
