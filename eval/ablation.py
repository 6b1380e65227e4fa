"""The user-model ablation: how close simulated customers come to people (Tables 3 and 6).

    python eval/ablation.py --config recipes/ablation/tiny.yaml

Another held-out set, another folder:

    python eval/ablation.py --config recipes/ablation/tiny.yaml \
        --dialogues data/dialogues/test.jsonl --output_dir outputs/ablation/mine

Writes to `output_dir`: `predictions.jsonl` (every predicted turn beside the true one, with its
scores), `simulated_turns.jsonl` where the recipe names simulated dialogues, `detector.npz` (the
speaker detector), `run.json` (recipe, versions, fingerprints), `table.md`, `summary.json`.
"""

from __future__ import annotations

from rich.console import Console

from salesllm.chat.base import Sampling
from salesllm.chat.providers import open_chat
from salesllm.dialogue import read_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.fidelity.ablation import (
    DETECTOR,
    PROMPTS,
    AblationRecipe,
    generated_turns,
    judged,
    read_detector_train,
    score,
    summary_of,
    system_prompt_of,
)
from salesllm.fidelity.inversion import SpeakerDetector
from salesllm.fidelity.predict import find_targets, predict
from salesllm.fidelity.similarity import Embedder
from salesllm.fidelity.table import table_of
from salesllm.files import claim_folder, sha256, write_json, write_jsonl, write_text
from salesllm.progress import progress
from salesllm.prompts import prompt_versions
from salesllm.provenance import provenance
from salesllm.recipe import load_recipe
from salesllm.scenario import read_scenarios_by_id


@entry_point
def main() -> None:
    recipe = load_recipe(AblationRecipe, doc=__doc__)
    console = Console()

    # Data: held-out dialogues of people, and their customer turns to predict
    held_out = read_dialogues(recipe.dialogues)
    scenarios = read_scenarios_by_id(recipe.scenarios)
    targets = find_targets(held_out, max_turns=recipe.max_turns, seed=recipe.seed)
    if not targets:
        raise InputError("no customer turn follows a salesperson's", path=recipe.dialogues)

    # Detector: fitted elsewhere, measured here
    detector = SpeakerDetector.fit(read_detector_train(recipe.detector_train, held_out))
    trust = detector.evaluate(held_out)
    simulated = {s.customer: generated_turns(s.path, s.customer) for s in recipe.simulated}
    simulated_rows = list(judged(simulated, detector))
    embedder = Embedder(recipe.embedding_model) if recipe.embedding_model else None
    summary_file = claim_folder(recipe.output_dir, recipe.overwrite)
    detector.save(recipe.output_dir / DETECTOR)

    # Predict and score, one customer after the other
    sampling = Sampling(recipe.temperature, recipe.top_p, recipe.max_tokens, recipe.seed)
    rows = []
    for customer in recipe.customers:
        with progress(console, f"{customer.name}: turns predicted", len(targets)) as advance:
            predictions = predict(
                open_chat(customer),
                targets,
                scenarios,
                system_prompt_of(customer, recipe.prompts_dir),
                sampling,
                batch_size=recipe.batch_size,
                advance=advance,
            )
        rows += score(customer.name, predictions, detector, embedder, recipe.max_short_chars)
        write_jsonl(recipe.output_dir / "predictions.jsonl", rows)

    # Report
    if simulated_rows:
        write_jsonl(recipe.output_dir / "simulated_turns.jsonl", simulated_rows)
    summary = summary_of(recipe, rows, simulated, targets, detector, trust)
    table = table_of(summary)
    write_text(recipe.output_dir / "table.md", table)
    files = [recipe.dialogues, recipe.scenarios, recipe.detector_train]
    files += [each.path for each in recipe.simulated]
    record = provenance(
        recipe=recipe.model_dump(mode="json"),
        prompts=prompt_versions(PROMPTS, {d.language for d in held_out}, recipe.prompts_dir),
        data_sha256={str(path): sha256(path) for path in files if path},
    )
    write_json(recipe.output_dir / "run.json", record)
    write_json(summary_file, summary)  # last: it marks the run as finished
    console.print(table, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
