"""Automatic scores beside human ratings: do they rank dialogues and salespeople as people do?

    python eval/agreement.py --run outputs/benchmark/paper --ratings ratings.csv \
        --output_dir outputs/agreement/paper

The ratings are CSV or JSONL with `dialogue_id`, `rater` and `score` (0-10); docs/agreement.md says
how to collect them. Writes to `output_dir`: `table.md`, `table.csv` and `scatter.svg` (Figure 6),
`summary.json`. Rated dialogues without an automatic score are left out, and counted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from salesllm.benchmark.agreement import agreement_of, read_ratings, read_scored
from salesllm.errors import entry_point
from salesllm.files import claim_folder, sha256, write_json, write_text
from salesllm.provenance import provenance
from salesllm.report.agreement import agreement_csv, agreement_svg, agreement_table


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", type=Path, required=True, help="folder of a benchmark run")
    parser.add_argument("--ratings", type=Path, required=True, help="human ratings (CSV, JSONL)")
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--overwrite", type=lambda text: text == "true", default=False)
    return parser.parse_args()


@entry_point
def main() -> None:
    args = parse()
    scores = args.run / "scores.jsonl"
    run = read_scored(scores)
    summary = agreement_of(run, read_ratings(args.ratings, run))
    summary_file = claim_folder(args.output_dir, args.overwrite)
    table = agreement_table(summary)
    write_text(args.output_dir / "table.md", table)
    write_text(args.output_dir / "table.csv", agreement_csv(summary))
    write_text(args.output_dir / "scatter.svg", agreement_svg(summary))
    files = (scores, args.ratings)
    record = provenance(data_sha256={str(path): sha256(path) for path in files})
    write_json(summary_file, summary | {"provenance": record})  # last: it marks it as finished
    print(table, end="")


if __name__ == "__main__":
    main()
