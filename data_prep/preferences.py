"""Preference pairs for `train/dpo.py`, from the SFT checkpoint's own answers.

    python data_prep/preferences.py --config recipes/preferences/tiny.yaml

Writes the pairs (JSONL: `prompt`, `chosen`, `rejected`, and P(salesperson) of both sides, widest
margin first, ready for people to look through) and, beside them, `<name>.summary.json`.
"""

from __future__ import annotations

from rich.console import Console

from salesllm.chat.local import LocalChat
from salesllm.chat.providers import open_chat
from salesllm.dialogue import read_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.fidelity.inversion import SpeakerDetector
from salesllm.files import refuse_existing, sha256, write_json, write_jsonl
from salesllm.progress import progress
from salesllm.provenance import provenance
from salesllm.recipe import load_recipe
from salesllm.scenario import read_scenarios_by_id
from salesllm.training.model import read_customer
from salesllm.training.pairs import PairRecipe, find_points, mine, sample_points
from salesllm.training.rows import View


@entry_point
def main() -> None:
    recipe = load_recipe(PairRecipe, doc=__doc__)
    refuse_existing(recipe.output, "output")
    console = Console()

    # Data: points where the customer speaks
    view = View.from_card(read_customer(recipe.customer.model))
    dialogues = read_dialogues(recipe.dialogues)
    scenarios = read_scenarios_by_id(recipe.scenarios)
    found = list(find_points(dialogues, scenarios, view))
    points = sample_points(found, recipe.max_points, recipe.seed)
    if not points:
        raise InputError("no customer turn follows a salesperson's", path=recipe.dialogues)

    # Mine
    detector = SpeakerDetector.fit(read_dialogues(recipe.detector_train))
    customer = open_chat(recipe.customer)
    assert isinstance(customer, LocalChat)  # PairRecipe allows nothing else
    with progress(console, "points tried", len(points)) as advance:
        pairs, dropped = mine(points, customer, detector, recipe, advance)
    if not pairs:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.most_common())
        raise InputError(
            f"none of {len(points)} points gave a pair ({reasons})",
            path=recipe.dialogues,
            field="margin",
            fix="Lower margin, draw more candidates, or give more dialogues",
        )

    # Save
    files = [recipe.dialogues, recipe.scenarios, recipe.detector_train]
    write_jsonl(recipe.output, (pair.as_dict() for pair in pairs))
    summary = {
        "pairs": len(pairs),
        "points": len(points),
        "without_a_pair": dict(dropped),
        "mean_p_salesperson": {
            "chosen": sum(pair.p_chosen for pair in pairs) / len(pairs),
            "rejected": sum(pair.p_rejected for pair in pairs) / len(pairs),
        },
        **provenance(
            recipe=recipe.model_dump(mode="json"),
            data_sha256={str(path): sha256(path) for path in files if path},
            seed=recipe.seed,
        ),
    }
    write_json(recipe.output.with_suffix(".summary.json"), summary)
    console.print(f"{recipe.output}: {len(pairs)} pairs from {len(points)} points", markup=False)


if __name__ == "__main__":
    main()
