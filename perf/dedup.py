"""Near duplicates among all scripts: ours against datasketch, with the same duplicates planted.

    python perf/dedup.py --scenarios outputs/scenarios/zh/scenarios.jsonl

Both get the same texts (what is a customer's own in its script), shingles, permutations and bands,
and the exact Jaccard index decides about the candidates of both. The scenarios hold no near
duplicates but those planted, so recall and precision are of the pairs. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from datasketch import MinHash, MinHashLSH

from salesllm.dedup import PERMUTATIONS, bands, jaccard, near_duplicates, shingles
from salesllm.errors import InputError, entry_point
from salesllm.scenario import iter_scenarios
from salesllm.scenarios.scripts import customer_information

THRESHOLD = 0.8


def with_datasketch(texts: Sequence[str]) -> set[tuple[int, int]]:
    """(index, the earlier text it is a near duplicate of), as a careful user would write it."""
    index = MinHashLSH(params=bands(THRESHOLD), num_perm=PERMUTATIONS)
    found = set()
    for number, text in enumerate(texts):
        sketch = MinHash(num_perm=PERMUTATIONS)
        sketch.update_batch([shingle.encode() for shingle in shingles(text)])
        near = [(jaccard(text, texts[other]), -other) for other in index.query(sketch)]
        similarity, of = max(near, default=(0.0, 0))
        if similarity >= THRESHOLD:
            found.add((number, -of))
        else:
            index.insert(number, sketch)
    return found


def with_ours(texts: Sequence[str]) -> set[tuple[int, int]]:
    return {(d.index, d.of) for d in near_duplicates(texts, THRESHOLD)}


def plant(texts: Sequence[str], count: int, rng: Random) -> tuple[list[str], set[tuple[int, int]]]:
    """The texts with edited copies among them, and which of those are near duplicates."""
    planted = [(text, None) for text in texts]
    for source in rng.sample(range(len(texts)), count):
        characters = list(texts[source])
        for _ in range(rng.randint(0, 6)):
            characters[rng.randrange(len(characters))] = rng.choice("abcdefgh的了是不一")
        planted.append(("".join(characters), texts[source]))
    rng.shuffle(planted)
    mixed = [text for text, _ in planted]
    place = {text: number for number, (text, source) in enumerate(planted) if source is None}
    pairs = {
        (max(number, place[source]), min(number, place[source]))
        for number, (text, source) in enumerate(planted)
        if source is not None and jaccard(text, source) >= THRESHOLD
    }
    return mixed, pairs


def measure(
    find: Callable[[Sequence[str]], set[tuple[int, int]]],
    texts: Sequence[str],
    pairs: set[tuple[int, int]],
) -> tuple[set[tuple[int, int]], dict[str, float]]:
    began = time.perf_counter()
    found = find(texts)
    seconds = time.perf_counter() - began
    return found, {
        "seconds": round(seconds, 2),
        "found": len(found),
        "recall": round(len(found & pairs) / len(pairs), 4),
        "precision": round(len(found & pairs) / max(1, len(found)), 4),
    }


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenarios", type=Path, required=True)
    parser.add_argument("--planted", type=int, default=1000)
    args = parser.parse_args()
    texts = [customer_information(scenario) for scenario in iter_scenarios(args.scenarios)]
    if not 0 < args.planted <= len(texts):
        problem = f"is {args.planted}, of {len(texts)} texts"
        raise InputError(problem, field="planted", fix="Plant at least 1, and no more than that")
    mixed, pairs = plant(texts, args.planted, Random(0))
    found, ours = measure(with_ours, mixed, pairs)
    others, theirs = measure(with_datasketch, mixed, pairs)
    began = time.perf_counter()
    near_duplicates(texts, THRESHOLD)
    alone = time.perf_counter() - began
    result = {
        "texts": len(texts),
        "planted": len(pairs),
        "seconds_without_planted": round(alone, 2),
        "ours": ours,
        "datasketch": theirs,
        "same_duplicates": found == others,
        "times_faster": round(theirs["seconds"] / ours["seconds"], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
