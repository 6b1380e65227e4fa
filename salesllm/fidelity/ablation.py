"""The user-model ablation: which simulated customer is closest to people (Tables 3 and 6).

User-likeness compares predicted with true customer turns (`predict`, `similarity`); role inversion
asks a speaker detector (`inversion`). The rates of different detectors and judges cannot be
compared: set a rate beside the human row of the same table, never beside the paper's.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from salesllm.chat.providers import CUSTOMER_CARD, ChatSpec
from salesllm.dialogue import Dialogue, Language, NonBlank, Speaker, read_dialogues
from salesllm.errors import FieldError, InputError
from salesllm.fidelity.inversion import CustomerTurn, DetectorReport, SpeakerDetector
from salesllm.fidelity.predict import Prediction, SystemPrompt, Target
from salesllm.fidelity.similarity import (
    LEXICAL,
    METRICS,
    Embedder,
    corpus_bleu,
    is_short,
    mean_sd,
    turn_scores,
)
from salesllm.fidelity.table import PAPER, PEOPLE
from salesllm.files import read_json
from salesllm.recipe import Recipe
from salesllm.scenarios.scripts import system_prompt
from salesllm.stats import mean_interval, paired_difference

DETECTOR = "detector.npz"
PROMPTS = ("customer_script", "customer_brief", "customer_generic")
"""The templates that a customer's system prompt may come from."""


class CustomerRecipe(ChatSpec):
    """A customer to compare.

    Attributes:
        context_fields: None: those of the checkpoint's `customerlm.json`, else none.
    """

    name: NonBlank
    context_fields: tuple[str, ...] | None = None


class SimulatedRecipe(Recipe):
    """Dialogues that a customer of the recipe has already had.

    Attributes:
        path: `dialogues.jsonl` of a benchmark run, in which the customer has the same name, or a
            file of this customer's dialogues alone.
    """

    customer: str
    path: Path


class AblationRecipe(Recipe):
    """`recipes/ablation/*.yaml`.

    Attributes:
        dialogues: Held-out dialogues of people (JSONL): what the customers are compared with.
        scenarios: The scenarios those dialogues name, for their customer scripts.
        detector_train: Dialogues to fit the speaker detector to; none of the held-out ones, and
            none of their scenarios. They should also be none that a customer was trained on: a
            customer that repeats its training turns would meet a detector that knows them by heart.
        embedding_model: Sentence encoder for the cosine; None leaves the metric out.
        max_short_chars: True turns of at most so many characters are left out of the likeness.
        max_turns: At most so many predicted turns a language.
        temperature: 0, the default, is greedy.
        batch_size: Conversations in a batch, or calls in flight at once.
        simulated: Dialogues for the paper's protocol of role inversion.
    """

    name: str
    output_dir: Path
    overwrite: bool = False
    dialogues: Path
    scenarios: Path | None = None
    detector_train: Path
    customers: list[CustomerRecipe] = Field(min_length=1)
    simulated: list[SimulatedRecipe] = Field(default_factory=list)
    embedding_model: str | None = None
    max_short_chars: int = Field(default=5, ge=0)
    max_turns: int | None = Field(default=None, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=256, ge=1)
    batch_size: int = Field(default=32, ge=1)
    prompts_dir: Path | None = None
    seed: int = 0

    @model_validator(mode="after")
    def _names_fit(self) -> AblationRecipe:
        names = [customer.name for customer in self.customers]
        twice = [name for name, count in Counter([*names, PEOPLE]).items() if count > 1]
        if twice:
            problem = f"the name {twice[0]!r} is taken"
            raise FieldError(problem, field="customers", fix="Give each customer its own name")
        for simulated in self.simulated:
            if simulated.customer not in names:
                problem = f"there is no customer {simulated.customer!r}"
                raise FieldError(problem, field="simulated", fix=f"Name one of {', '.join(names)}")
        return self


def read_detector_train(path: Path, held_out: Sequence[Dialogue]) -> list[Dialogue]:
    """Dialogues to fit the detector to.

    Raises:
        InputError: One of them is held out, or one of their scenarios is.
    """
    dialogues = read_dialogues(path)
    ids, scenarios = {d.id for d in held_out}, {d.scenario_id for d in held_out} - {None}
    for dialogue in dialogues:
        shared = None
        if dialogue.id in ids:
            shared = f"dialogue {dialogue.id!r}"
        elif dialogue.scenario_id in scenarios:
            shared = f"scenario {dialogue.scenario_id!r}"
        if shared:
            raise InputError(
                f"{shared} is also among the held-out dialogues",
                path=path,
                field="detector_train",
                fix="Fit the detector to the training split, which shares nothing with them",
            )
    return dialogues


def system_prompt_of(customer: CustomerRecipe, prompts_dir: Path | None) -> SystemPrompt:
    """How this customer's system prompt is made: as it was in training, unless the recipe says."""
    file = Path(customer.model or "") / CUSTOMER_CARD
    card = read_json(file) if file.is_file() else {}
    style, fields = customer.script_style, customer.context_fields
    return functools.partial(
        system_prompt,
        Speaker.CUSTOMER,
        style=card.get("script_style", "script") if style is None else style,
        context_fields=card.get("context_fields", ()) if fields is None else fields,
        prompts_dir=prompts_dir or card.get("prompts_dir"),
    )


def generated_turns(path: Path, customer: str) -> list[CustomerTurn]:
    """A customer's own turns of simulated dialogues: all but an opener, which is scripted.

    A file of a benchmark run holds the dialogues of all its customers, named in their `context`.

    Raises:
        InputError: None of the dialogues is this customer's.
    """
    dialogues = read_dialogues(path)
    own = [d for d in dialogues if d.context.get("customer", customer) == customer]
    if not own:
        names = ", ".join(sorted({str(d.context["customer"]) for d in dialogues}))
        problem = f"no dialogue is of customer {customer!r}"
        raise InputError(problem, path=path, field="simulated", fix=f"They are of: {names}")
    return [
        CustomerTurn(dialogue.id, dialogue.language, turn.text)
        for dialogue in own
        for turn in dialogue.turns[1:]
        if turn.speaker is Speaker.CUSTOMER
    ]


def judged(
    simulated: Mapping[str, Sequence[CustomerTurn]], detector: SpeakerDetector
) -> Iterator[dict[str, Any]]:
    """Rows of `simulated_turns.jsonl`: every simulated customer turn with its P(salesperson)."""
    for customer, turns in simulated.items():
        for turn, p in zip(turns, detector.judge(turns), strict=True):
            yield {"customer": customer, **turn._asdict(), "p_salesperson": float(p)}


def score(
    customer: str,
    predictions: Sequence[Prediction],
    detector: SpeakerDetector,
    embedder: Embedder | None,
    max_short_chars: int,
) -> list[dict[str, Any]]:
    """One row a prediction, with what can be said of it.

    `p_salesperson` is there wherever the customer said something; the likeness metrics wherever
    there is a prediction, if only an empty one, and the true turn is not a short one.
    """
    rows: list[dict[str, Any]] = []
    for prediction in predictions:
        row = {"customer": customer, **prediction.as_dict()}
        row["short"] = is_short(row["reference"], max_short_chars)
        if row["prediction"] is not None and not row["short"]:
            row |= turn_scores(row["prediction"], row["reference"], row["language"])
        rows.append(row)
    alike = [row for row in rows if LEXICAL[0] in row]
    if embedder is not None and alike:
        cosines = embedder.cosine(*([row[k] for row in alike] for k in ("prediction", "reference")))
        for row, cosine in zip(alike, cosines, strict=True):
            row["cosine"] = cosine
    spoken = [row for row in rows if row["prediction"]]
    for row, p in zip(spoken, detector.judge(_turns(spoken)), strict=True):
        row["p_salesperson"] = float(p)
    return rows


def summarise(
    rows: Sequence[Mapping[str, Any]],
    simulated: Sequence[CustomerTurn],
    detector: SpeakerDetector,
) -> dict[str, Any]:
    """One customer's figures over the given turns.

    Means come with the sample standard deviation over turns, as in Table 6, and a 95 % interval
    of the mean, clustered by dialogue. What could not be judged (failed calls, empty predictions,
    short true turns) is counted beside them.

    Args:
        rows: Of `score`.
        simulated: The customer's turns in simulated dialogues; none where there are no dialogues.
    """
    alike = [row for row in rows if LEXICAL[0] in row]
    answered = [row for row in rows if row["prediction"] is not None]
    spoken = [row for row in answered if row["prediction"]]
    clusters = [row["dialogue_id"] for row in alike]
    likeness = {}
    for name in METRICS:
        values = [row[name] for row in alike if name in row]
        if len(values) == len(alike):
            likeness[name] = mean_sd(values) | mean_interval(values, clusters).as_dict("mean")
    summary = {
        "likeness": likeness,
        "history_length": mean_sd([row["turn"] for row in alike])["mean"],
        "role_inversion": {
            "predicted": detector.inversion_rate(_turns(spoken)).as_dict("rate", "turns")
        },
        "ending": {
            "predicted": _share(row["ended"] for row in answered),
            "true": _share(row["reference_ends"] for row in answered),
            "agreement": _share(row["ended"] == row["reference_ends"] for row in answered),
        },
        "distinct": len({row["prediction"] for row in spoken}),
        "distinct_true": len({row["reference"] for row in spoken}),
        "turns": len(rows),
        "failed": len(rows) - len(answered),
        "empty": len(answered) - len(spoken),
        "short": sum(row["short"] for row in rows),
    }
    languages = {row["language"] for row in alike}
    if len(languages) == 1:
        predictions, references = ([r[k] for r in alike] for k in ("prediction", "reference"))
        summary["corpus_bleu4"] = corpus_bleu(predictions, references, languages.pop())
    if simulated:
        rate = detector.inversion_rate(simulated).as_dict("rate", "turns")
        summary["role_inversion"]["simulated"] = rate
    return summary


def likeness_change(
    rows: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, float]]:
    """How far likeness differs from another customer's on the same turns, metric by metric.

    Returns:
        Metric to mean difference, 95 % interval clustered by dialogue, and p-value, over the turns
        that both have.
    """
    other = {(row["dialogue_id"], row["turn"]): row for row in before}
    changes = {}
    for name in METRICS:
        pairs = [
            (row, other[row["dialogue_id"], row["turn"]])
            for row in rows
            if name in row and name in other.get((row["dialogue_id"], row["turn"]), {})
        ]
        if pairs:
            difference = paired_difference(
                [a[name] for a, _ in pairs],
                [b[name] for _, b in pairs],
                [a["dialogue_id"] for a, _ in pairs],
            )
            changes[name] = difference.as_dict("difference")
    return changes


def summary_of(
    recipe: AblationRecipe,
    rows: Sequence[Mapping[str, Any]],
    simulated: Mapping[str, Sequence[CustomerTurn]],
    targets: Sequence[Target],
    detector: SpeakerDetector,
    trust: Mapping[Language, DetectorReport],
) -> dict[str, Any]:
    """All of `summary.json`: every customer and the human row, overall and by language."""
    true_turns = [CustomerTurn(t.dialogue.id, t.language, t.text) for t in targets]
    groups: dict[str, set[str]] = {"overall": {turn.language for turn in true_turns}}
    groups |= {language: {language} for language in sorted(groups["overall"])}
    first = recipe.customers[0].name

    def rows_of(customer: str, among: set[str]) -> list[Mapping[str, Any]]:
        return [r for r in rows if r["customer"] == customer and r["language"] in among]

    def figures(customer: str, among: set[str]) -> dict[str, Any]:
        own = rows_of(customer, among)
        turns = [t for t in simulated.get(customer, ()) if t.language in among]
        found = summarise(own, turns, detector)
        if customer != first:
            change = likeness_change(own, rows_of(first, among))
            found["likeness_change"] = {"from": first, **change}
        return found

    return {
        "name": recipe.name,
        "customers": {
            customer.name: {group: figures(customer.name, among) for group, among in groups.items()}
            for customer in recipe.customers
        },
        "reference": {
            group: {
                "role_inversion": detector.inversion_rate(
                    [turn for turn in true_turns if turn.language in among]
                ).as_dict("rate", "turns")
            }
            for group, among in groups.items()
        },
        "detector": {language: report.as_dict() for language, report in trust.items()},
        "paper": PAPER,
        "notes": list(_notes(recipe)),
    }


def _notes(recipe: AblationRecipe) -> Iterable[str]:
    yield (
        "Role inversion is the share of customer turns that a speaker detector takes for a "
        "salesperson's. It errs on people too: the human row is its floor, and a customer below "
        "it is more stereotyped, not more human."
    )
    yield (
        "The paper's rows are other models on other dialogues, and its role inversion is by a "
        "GPT-4o judge: a reference for the order of magnitude only."
    )
    if recipe.embedding_model is None:
        yield "The cosine is left out: the recipe names no embedding_model."
    if not recipe.simulated:
        yield (
            "Role inversion is measured on predicted turns only: the recipe names no simulated "
            "dialogues, on which the paper measures it."
        )


def _turns(rows: Iterable[Mapping[str, Any]]) -> list[CustomerTurn]:
    return [CustomerTurn(r["dialogue_id"], r["language"], r["prediction"]) for r in rows]


def _share(flags: Iterable[bool]) -> float | None:
    flags = list(flags)
    return sum(flags) / len(flags) if flags else None
