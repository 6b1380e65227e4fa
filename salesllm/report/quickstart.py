"""What the quickstart's report is made from: the files that its stages left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from salesllm.dialogue import Dialogue, Speaker, read_dialogues
from salesllm.fidelity.ablation import DETECTOR
from salesllm.fidelity.inversion import THRESHOLD, CustomerTurn, SpeakerDetector
from salesllm.files import read_json, read_jsonl
from salesllm.provenance import provenance
from salesllm.report.data import Curve, ReportData, Sample, SampleTurn
from salesllm.report.figures import LANGUAGES, METRICS, STAGES
from salesllm.scenario import Scenario, read_scenarios

SAMPLES_PER_LANGUAGE = 2

Point = tuple[float, float]


def summary_of(folder: Path, *, seconds: float) -> dict[str, Any]:
    """The quickstart's `summary.json`: every figure of its stages, under fixed keys."""
    ablation = read_json(folder / "ablation" / "summary.json")
    benchmark = read_json(folder / "benchmark" / "summary.json")
    customers = {stage: ablation["customers"][stage]["overall"] for stage in STAGES}
    rates = {stage: customers[stage]["role_inversion"]["simulated"] for stage in STAGES}
    trained = {stage: read_json(folder / stage / "summary.json") for stage in STAGES}
    return {
        "seconds": round(seconds, 1),
        "role_inversion": rates | {"reference": ablation["reference"]["overall"]["role_inversion"]},
        "floor_in_training_phrasings": _floor_in_training_phrasings(folder),
        "likeness": {stage: _likeness(customers[stage]) for stage in STAGES},
        "intent": {
            language: read_json(folder / f"intent_{language}" / "summary.json")["test"]
            for language in LANGUAGES
        },
        "benchmark": {stage: _scores(benchmark, stage) for stage in STAGES},
        "rater": benchmark["rater"],
        "alpha": benchmark["alpha"],
        "detector": ablation["detector"],
        "training": trained,
        **provenance(),
    }


def _likeness(customer: Mapping[str, Any]) -> dict[str, Any]:
    """Means, their intervals, and the paired change from the base on the same turns."""
    metrics = customer["likeness"]
    figures: dict[str, Any] = {m: metrics[m]["mean"] if m in metrics else None for m in METRICS}
    figures["interval"] = {m: [v["low"], v["high"]] for m, v in metrics.items()}
    change = customer.get("likeness_change", {})
    figures["change"] = {m: change[m] for m in METRICS if m in change}
    return figures | {
        "distinct": customer["distinct"],
        "distinct_true": customer["distinct_true"],
        "ending": customer["ending"],
    }


def _floor_in_training_phrasings(folder: Path) -> dict[str, Any]:
    """The rate that people get in the phrasings that customers and detector learned from.

    The ablation's floor is people in unseen phrasings. The trained customers speak in those of the
    training split, as does the detector's training file, where it errs less.
    """
    detector = SpeakerDetector.load(folder / "ablation" / DETECTOR)
    turns = [
        CustomerTurn(dialogue.id, dialogue.language, turn.text)
        for dialogue in read_dialogues(folder / "train.jsonl")
        for turn in dialogue.turns
        if turn.speaker is Speaker.CUSTOMER
    ]
    return detector.inversion_rate(turns).as_dict("rate", "turns")


def _scores(benchmark: Mapping[str, Any], customer: str) -> dict[str, Any]:
    """Scores of the only salesperson with this customer, over both languages."""
    (customers,) = benchmark["results"].values()
    return {name: customers[customer]["overall"][name] for name in ("buying", "selling", "final")}


def report_of(folder: Path, summary: Mapping[str, Any]) -> ReportData:
    """Everything that `report.html` shows."""
    return ReportData(
        title="CustomerLM, trained and measured on a laptop",
        lead=(
            "A small Qwen3 with random weights first learns to talk like a salesperson, as general "
            "chat models do when told to be the customer. SFT on sample dialogues and DPO on pairs "
            "of its own answers then make it a customer. Role inversion, likeness, intent and "
            "benchmark are measured on products and phrasings that no training file has."
        ),
        summary=dict(summary),
        curves=list(_curves(folder)),
        samples=list(_samples(folder)),
        facts=list(_facts(folder, summary)),
        notes=[
            *_readings(summary),
            "The dialogues are generated sample data. They exercise the code; they are not the "
            "benchmark, and no figure here says anything of a real salesperson.",
            "A model of two million parameters has no world knowledge: expect the right role and "
            "tone, and often no sense.",
            "The selling score comes from rules that count evidence, a stand-in for an LLM judge. "
            "The two are never averaged. Name a judge in the benchmark recipe to use one.",
        ],
    )


def _readings(summary: Mapping[str, Any]) -> Iterator[str]:
    """What the figures would hide, in sentences made from them."""
    floor, dpo = summary["floor_in_training_phrasings"], summary["likeness"]["dpo"]
    yield (
        "The detector's training dialogues share no scenario with the customer's, but they share "
        f"phrasings. In those it flags {100 * floor['rate']:.1f} % of people's turns; the floor in "
        "the chart is people in phrasings new to it. Compare the trained customers with both."
    )
    yield (
        f"On the same held-out turns DPO's customer says {dpo['distinct']} different things, "
        f"people {dpo['distinct_true']}. It ends the dialogue at "
        f"{100 * dpo['ending']['predicted']:.0f} % of them, people at "
        f"{100 * dpo['ending']['true']:.0f} %."
    )


def _curves(folder: Path) -> Iterator[Curve]:
    for stage, title in (("base", "Base: an assistant's habits"), ("sft", "SFT")):
        yield Curve(
            title, "Step", "Loss", {"training": _logged(folder / stage, "loss"),
                                    "held out": _logged(folder / stage, "eval_loss")},
        )  # fmt: skip
    dpo = folder / "dpo"
    yield Curve("DPO", "Step", "Loss", {"training": _logged(dpo, "loss"),
                                        "held out": _logged(dpo, "eval_loss")},
                "It starts at ln 2 = 0.693, where policy and reference are the same.")  # fmt: skip
    yield Curve("Intent scorers: F1 on validation dialogues", "Epoch", "F1",
                {name: _logged(folder / f"intent_{language}", "eval_f1", "epoch")
                 for language, name in LANGUAGES.items()})  # fmt: skip


def _logged(folder: Path, name: str, x: str = "step") -> list[Point]:
    history = read_json(folder / "trainer_state.json")["log_history"]
    return [(entry[x], entry[name]) for entry in history if name in entry]


def _samples(folder: Path) -> Iterator[Sample]:
    """The first scenarios of each language, as every stage played them: not a choice of ours."""
    scenarios = read_scenarios(folder / "test_scenarios.jsonl")
    played: dict[tuple[str, str], Dialogue] = {}
    for dialogue in read_dialogues(folder / "benchmark" / "dialogues.jsonl"):
        played[str(dialogue.scenario_id), dialogue.context["customer"]] = dialogue
    flagged = {
        (row["dialogue_id"], row["text"])
        for _, row in read_jsonl(folder / "ablation" / "simulated_turns.jsonl")
        if row["p_salesperson"] >= THRESHOLD
    }
    for language in LANGUAGES:
        found = [s for s in scenarios if s.language == language
                 and all((s.id, stage) in played for stage in STAGES)]  # fmt: skip
        for scenario in found[:SAMPLES_PER_LANGUAGE]:
            dialogues = {stage: played[scenario.id, stage] for stage in STAGES}
            yield _sample(scenario, dialogues, flagged)


def _sample(
    scenario: Scenario, dialogues: Mapping[str, Dialogue], flagged: set[tuple[str, str]]
) -> Sample:
    def turns(dialogue: Dialogue) -> list[SampleTurn]:
        return [
            SampleTurn(
                turn.speaker,
                turn.text,
                turn.speaker is Speaker.CUSTOMER and (dialogue.id, turn.text) in flagged,
            )
            for turn in dialogue.turns
        ]

    return Sample(
        scenario.language,
        scenario.product.name,
        scenario.difficulty.value.replace("_", " "),
        {stage: turns(dialogue) for stage, dialogue in dialogues.items()},
        {stage: _ending(dialogue) for stage, dialogue in dialogues.items()},
    )


def _ending(dialogue: Dialogue) -> str:
    words = {"customer_ended": "the customer ended it", "round_limit": "cut off at the round limit"}
    reason = str(dialogue.context["termination"])
    return words.get(reason, reason.replace("_", " "))


def _facts(folder: Path, summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    counts = {n: _lines(folder / f"{n}.jsonl") for n in ("train", "detector", "test")}
    sft, dpo = summary["training"]["sft"], summary["training"]["dpo"]
    yield "Training dialogues", f"{counts['train']}, half of them in each language"
    yield "Held-out dialogues", f"{counts['test']}, other products and phrasings"
    yield "Speaker detector", f"fitted to {counts['detector']} dialogues nobody was trained on"
    yield (
        "Base",
        f"{summary['training']['base']['steps']} steps on all tokens, as the salesperson sees them",
    )
    yield "SFT", f"{sft['steps']} steps, {sft['supervised_tokens']:,} tokens in the loss"
    yield "DPO", f"{dpo['steps']} steps on {dpo['train_pairs']} pairs"
    yield "Final score", f"{summary['alpha']} × buying + {1 - summary['alpha']:g} × selling"
    versions = summary["packages"]
    names: Sequence[str] = ("torch", "transformers", "trl")
    yield "Packages", ", ".join(f"{name} {versions[name]}" for name in names if name in versions)
    if commit := summary["git"]["commit"]:
        yield "Code", f"commit {commit[:10]}" + (", changed" if summary["git"]["dirty"] else "")
    yield "Machine", f"{summary['platform']}, Python {summary['python']}"


def _lines(path: Path) -> int:
    return sum(1 for _ in read_jsonl(path))
