from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from salesllm.dialogue import Dialogue, Speaker, write_dialogues
from salesllm.errors import InputError
from salesllm.fidelity.ablation import (
    AblationRecipe,
    CustomerRecipe,
    generated_turns,
    likeness_change,
    read_detector_train,
    score,
    summary_of,
    system_prompt_of,
)
from salesllm.fidelity.inversion import SpeakerDetector
from salesllm.fidelity.predict import Prediction, Target, find_targets
from salesllm.fidelity.table import PAPER, table_of
from salesllm.files import write_json
from salesllm.recipe import validate_recipe
from salesllm.stats import wilson

MakeDialogues = Callable[..., list[Dialogue]]

CUSTOMER = {"name": "mine", "provider": "local", "model": "absent"}


def recipe(**changes: Any) -> AblationRecipe:
    values = {
        "name": "test", "output_dir": "out", "dialogues": "test.jsonl",
        "detector_train": "train.jsonl", "customers": [CUSTOMER],
    }  # fmt: skip
    return validate_recipe(AblationRecipe, values | changes, "r.yaml", {})


def detector_for(make_dialogues: MakeDialogues) -> SpeakerDetector:
    return SpeakerDetector.fit(
        [*make_dialogues("en", 80, seed=1), *make_dialogues("zh", 80, seed=1)]
    )


def repeating(speaker: Speaker, targets: list[Target]) -> list[Prediction]:
    """Predictions in the words of one side: the true turn, or the salesperson's before it."""
    shift = 0 if speaker is Speaker.CUSTOMER else -1
    return [Prediction(t, t.dialogue.turns[t.turn + shift].text, t.ends, "stop") for t in targets]


def test_a_perfect_and_an_inverted_customer(make_dialogues: MakeDialogues) -> None:
    held_out = [*make_dialogues("en", 30, seed=2), *make_dialogues("zh", 30, seed=2)]
    detector, targets = detector_for(make_dialogues), find_targets(held_out)
    rows = []
    for name, speaker in (("exact", Speaker.CUSTOMER), ("inverted", Speaker.SALESPERSON)):
        rows += score(name, repeating(speaker, targets), detector, None, max_short_chars=5)
    config = recipe(customers=[CUSTOMER | {"name": "exact"}, CUSTOMER | {"name": "inverted"}])
    summary = summary_of(config, rows, {}, targets, detector, detector.evaluate(held_out))

    perfect, inverted = (summary["customers"][name] for name in ("exact", "inverted"))
    for group in ("overall", "en", "zh"):
        floor = summary["reference"][group]["role_inversion"]
        assert perfect[group]["role_inversion"]["predicted"] == floor
        assert inverted[group]["role_inversion"]["predicted"]["low"] > 2 * floor["high"]
        assert perfect[group]["likeness"]["rougeL"]["mean"] == pytest.approx(1)
        assert inverted[group]["likeness"]["rougeL"]["mean"] < 0.4
        assert "cosine" not in perfect[group]["likeness"]
        assert perfect[group]["ending"] == {
            "predicted": pytest.approx(1 / 3), "true": pytest.approx(1 / 3), "agreement": 1.0,
        }  # fmt: skip
        # Targets are the turns 2, 4 and 6 of every dialogue.
        assert perfect[group]["history_length"] == pytest.approx(4, abs=0.1)
    assert perfect["overall"]["turns"] == perfect["en"]["turns"] + perfect["zh"]["turns"] == 180
    assert perfect["zh"]["corpus_bleu4"] == pytest.approx(1)
    assert "corpus_bleu4" not in perfect["overall"]  # two tokenizers have no common n-grams


def test_what_cannot_be_judged_is_counted_and_not_scored(make_dialogues: MakeDialogues) -> None:
    detector = detector_for(make_dialogues)
    targets = find_targets(make_dialogues("en", 2, seed=2))
    assert len(targets) == 6
    texts = ["ok i'll take it", "", None, None, "sounds pricey", "is that firm?"]
    predictions = [
        Prediction(t, x, error=None if x is not None else "timeout")
        for t, x in zip(targets, texts, strict=True)
    ]
    longest = max(len(t.text) for t in targets)
    rows = score("mine", predictions, detector, None, max_short_chars=5)
    summary = summary_of(recipe(), rows, {}, targets, detector, {})["customers"]["mine"]["en"]
    assert (summary["turns"], summary["failed"], summary["empty"], summary["short"]) == (6, 2, 1, 0)
    assert summary["likeness"]["rouge1"]["n"] == 4  # an empty answer is an answer, and scores 0
    assert rows[1]["rouge1"] == rows[1]["bleu4"] == 0
    assert "p_salesperson" not in rows[1]
    assert summary["role_inversion"]["predicted"] == wilson(0, 2).as_dict("rate", "turns") | {
        "turns": 3
    }

    rows = score("mine", predictions, detector, None, max_short_chars=longest)
    summary = summary_of(recipe(), rows, {}, targets, detector, {})["customers"]["mine"]["en"]
    assert summary["short"] == 6
    assert summary["likeness"]["bleu4"] == {
        "mean": None, "sd": None, "n": 0, "low": None, "high": None,
    }  # fmt: skip
    assert summary["role_inversion"]["predicted"]["turns"] == 3  # short turns can invert, too


def test_simulated_dialogues_have_their_own_rate(
    make_dialogues: MakeDialogues, tmp_path: Path
) -> None:
    simulated = make_dialogues("en", 10, seed=5)
    write_dialogues(tmp_path / "dialogues.jsonl", simulated)
    turns = generated_turns(tmp_path / "dialogues.jsonl", "mine")
    assert len(turns) == 30  # the four customer turns of each, less the scripted opener
    assert simulated[0].turns[0].text not in [t.text for t in turns if t.dialogue_id == "en-5-0"]
    detector, targets = detector_for(make_dialogues), find_targets(make_dialogues("en", 3, seed=2))
    rows = score("mine", repeating(Speaker.CUSTOMER, targets), detector, None, 5)
    summary = summary_of(recipe(), rows, {"mine": turns}, targets, detector, {})
    inversion = summary["customers"]["mine"]["en"]["role_inversion"]
    assert inversion["simulated"] == detector.inversion_rate(turns).as_dict("rate", "turns")
    assert inversion["predicted"]["turns"] == 9


def test_a_benchmark_file_holds_several_customers(
    make_dialogues: MakeDialogues, tmp_path: Path
) -> None:
    path, dialogues = tmp_path / "dialogues.jsonl", make_dialogues("en", 4, seed=5)
    named = [
        d.model_copy(update={"context": {"customer": "ours" if i else "theirs"}})
        for i, d in enumerate(dialogues)
    ]
    write_dialogues(path, named)
    assert {t.dialogue_id for t in generated_turns(path, "theirs")} == {dialogues[0].id}
    assert {t.dialogue_id for t in generated_turns(path, "ours")} == {d.id for d in dialogues[1:]}
    with pytest.raises(InputError, match=r"no dialogue is of customer 'mine'.*ours, theirs"):
        generated_turns(path, "mine")


def test_the_table_shows_floor_intervals_detector_and_the_papers_rows(
    make_dialogues: MakeDialogues,
) -> None:
    held_out = make_dialogues("en", 10, seed=2)
    detector, targets = detector_for(make_dialogues), find_targets(held_out)
    rows = score("mine", repeating(Speaker.CUSTOMER, targets), detector, None, 5)
    summary = summary_of(recipe(), rows, {}, targets, detector, detector.evaluate(held_out))
    table = table_of(summary)
    rate = summary["reference"]["en"]["role_inversion"]
    shown = f"{100 * rate['rate']:.1f} [{100 * rate['low']:.1f}, {100 * rate['high']:.1f}]"
    lines = table.splitlines()
    (floor, _) = (line for line in lines if line.startswith("| *people (the floor)*"))
    assert shown in floor
    assert "| *CustomerLM, paper* | 0.1218 ± 0.1749 |" in table
    assert "| *UserLM, paper* | 0.06 | 0.08 | 0.01 | 0.06 | 0.50 | – | 21.6 |" in table
    assert "The cosine is left out" in table
    assert "## Chinese" not in table
    rows_of_table = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in rows_of_table}) == 1
    assert sum("paper*" in line for line in lines) == len(PAPER)


def test_the_prompt_is_that_of_the_checkpoints_training(
    make_dialogues: MakeDialogues, tmp_path: Path
) -> None:
    dialogue = make_dialogues("en", 1, seed=1)[0].model_copy(
        update={"context": {"title": "Kettle, like new", "list_price": 40}}
    )
    plain = system_prompt_of(CustomerRecipe(**CUSTOMER), None)(dialogue, None)
    assert "Kettle" not in plain
    card = {"script_style": "brief", "context_fields": ["title"], "prompts_dir": None}
    write_json(tmp_path / "customerlm.json", card)
    trained = CustomerRecipe(**CUSTOMER | {"model": str(tmp_path)})
    assert "title: Kettle, like new" in system_prompt_of(trained, None)(dialogue, None)
    told = trained.model_copy(update={"context_fields": ("list_price",)})
    shown = system_prompt_of(told, None)(dialogue, None)
    assert "list_price: 40" in shown
    assert "Kettle" not in shown


@pytest.mark.parametrize("shared", ["dialogue 'en-1-3'", "scenario 's4'"])
def test_a_detector_must_not_know_the_held_out_dialogues(
    make_dialogues: MakeDialogues, tmp_path: Path, shared: str
) -> None:
    train = make_dialogues("en", 6, seed=1)
    held_out = make_dialogues("en", 6, seed=2)
    if shared.startswith("dialogue"):
        held_out.append(train[3])
    else:
        train[4], held_out[0] = (
            d.model_copy(update={"scenario_id": "s4"}) for d in (train[4], held_out[0])
        )
    write_dialogues(tmp_path / "train.jsonl", train)
    with pytest.raises(InputError, match=f"{shared} is also among the held-out"):
        read_detector_train(tmp_path / "train.jsonl", held_out)
    assert read_detector_train(tmp_path / "train.jsonl", held_out[1:6]) == train


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"custommers": []}, r"custommers.*Did you mean `customers`"),
        ({"customers": []}, "customers"),
        ({"customers": [CUSTOMER, CUSTOMER]}, "^r.yaml: field `customers`: .*'mine' is taken"),
        ({"customers": [CUSTOMER | {"name": "people"}]}, "'people' is taken"),
        ({"simulated": [{"customer": "other", "path": "x"}]}, "no customer 'other'"),
        ({"max_turns": 0}, "max_turns"),
    ],
)
def test_recipes_that_cannot_be_run(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe(**changes)


def test_the_change_of_likeness_is_paired_by_turn() -> None:
    def rows(*values: float) -> list[dict[str, Any]]:
        return [
            {"dialogue_id": f"d{i // 2}", "turn": i % 2, "bleu4": value}
            for i, value in enumerate(values)
        ]

    change = likeness_change(rows(0.3, 0.4, 0.5, 0.6), rows(0.1, 0.2, 0.3, 0.4)[::-1])
    assert set(change) == {"bleu4"}
    assert change["bleu4"]["difference"] == pytest.approx(0.2)
    assert change["bleu4"]["low"] == pytest.approx(0.2)
    assert change["bleu4"]["n"] == 4
    assert change["bleu4"]["p_value"] == 0.5  # two dialogues prove nothing
    assert likeness_change(rows(0.3), []) == {}
