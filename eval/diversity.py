"""How diverse scenarios are: distinct-2, self-BLEU, embedding distance, and the paper's Figure 3.

    python eval/diversity.py --scenarios outputs/scenarios/zh/scenarios.jsonl \
        --reference data/dialogues/test.jsonl --output_dir outputs/diversity/zh

Measured on what is a customer's own in its script (its private block and its opener). The
reference is what the customers of recorded dialogues said, a text a dialogue. Self-BLEU depends on
the number and length of the texts: `--n` of each are compared, and the mean length is shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from salesllm.dialogue import Speaker, read_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.fidelity.diversity import distinct_n, mean_pairwise_distance, self_bleu
from salesllm.fidelity.similarity import Embedder, tokenize
from salesllm.files import claim_folder, write_json, write_text
from salesllm.provenance import provenance
from salesllm.report.factors import factors_by_age, factors_svg
from salesllm.scenario import read_scenarios
from salesllm.scenarios.scripts import customer_information


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", type=Path, required=True)
    parser.add_argument("--reference", type=Path, help="dialogues of people")
    parser.add_argument("--embedding_model", help="sentence encoder; left out without one")
    parser.add_argument("--n", type=int, default=500, help="texts drawn from each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--overwrite", type=lambda text: text == "true", default=False)
    return parser.parse_args()


@entry_point
def main() -> None:
    args = parse()
    if args.n < 2:
        problem = f"is {args.n}, and texts are compared with one another"
        raise InputError(problem, field="n", fix="Write --n 2 or more")
    summary_file = claim_folder(args.output_dir, args.overwrite)
    scenarios = read_scenarios(args.scenarios)
    texts = {"scenarios": [customer_information(scenario) for scenario in scenarios]}
    if args.reference:
        texts["reference"] = [
            "\n".join(turn.text for turn in dialogue.turns if turn.speaker is Speaker.CUSTOMER)
            for dialogue in read_dialogues(args.reference)
        ]
    embedder = Embedder(args.embedding_model) if args.embedding_model else None
    result = {
        name: measure(some, args.n, args.seed, embedder, name) for name, some in texts.items()
    }
    write_text(args.output_dir / "factors.svg", factors_svg(factors_by_age(scenarios)))
    summary = result | provenance(
        scenarios=str(args.scenarios),
        reference=args.reference and str(args.reference),
        embedding_model=args.embedding_model,
        seed=args.seed,
    )
    write_json(summary_file, summary)
    for name, figures in result.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))


def measure(
    texts: Sequence[str], n: int, seed: int, embedder: Embedder | None, name: str
) -> dict[str, Any]:
    """The figures of `n` of the texts."""
    if len(texts) < n:
        problem = f"there are {len(texts)} texts in the {name}"
        raise InputError(problem, field="n", fix=f"Write --n {len(texts)} or less")
    drawn = Random(seed).sample(texts, n)
    figures: dict[str, Any] = {
        "n": n,
        "mean_tokens": round(sum(len(tokenize(text)) for text in drawn) / n, 1),
        "distinct_2": round(distinct_n(drawn), 4),
        "self_bleu": round(self_bleu(drawn), 4),
    }
    if embedder:
        figures["mean_pairwise_distance"] = round(mean_pairwise_distance(drawn, embedder), 4)
    return figures


if __name__ == "__main__":
    main()
