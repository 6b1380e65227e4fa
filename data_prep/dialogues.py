"""From raw logs to the parts that training and measuring need.

    python data_prep/dialogues.py --dialogues mine.jsonl --output_dir data/dialogues
    python data_prep/dialogues.py --dialogues logs.csv --output_dir data/dialogues \
        --columns dialogue_id=conv,speaker=who --speakers customer=buyer,salesperson=agent \
        --fields language=en source=shop product_line=Banking
    python data_prep/dialogues.py --dialogues runs.jsonl --output_dir data/runs \
        --format messages --customer_role user --fields language=zh source=runs product_line=Fund

Reads CSV (one turn a row), dialogue records, ShareGPT or `messages`; masks personal data; checks
the language; removes duplicates; splits so that no two parts share a scenario, a worker (where
recorded) or a dialogue. What was left out is in rejected.jsonl and duplicates.jsonl with its place
and reason, all figures in summary.json. `--dry_run` shows what would be masked and writes nothing.
What each part is for: docs/own_data.md.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from salesllm.dialogue import Dialogue, write_dialogues
from salesllm.errors import InputError, entry_point
from salesllm.files import all_or_none, refuse_existing, sha256, write_json, write_jsonl
from salesllm.importing import options
from salesllm.importing.cleaning import clean, rejected_row
from salesllm.importing.readers import Draft, Rejected, accept, read_messages, read_records
from salesllm.importing.statistics import languages, product_lines
from salesllm.importing.table import Table
from salesllm.provenance import provenance
from salesllm.splits import largest_group, split_dialogues
from salesllm.training.labels import LabelledDialogue

PARTS = ("train=0.7", "dev=0.05", "preference=0.08", "detector=0.09", "test=0.08")
REPORTS = ("rejected", "duplicates")


@entry_point
def main() -> None:
    args = _arguments()
    shares = options.shares(args.parts, REPORTS)
    threshold = options.threshold(args.near_duplicates)
    fields, table = options.fields(args.fields), options.table(args.columns, args.speakers)
    outputs = [args.output_dir / f"{name}.jsonl" for name in (*shares, *REPORTS)]
    files = [*outputs, args.output_dir / "summary.json"]
    for path in () if args.dry_run else files:
        refuse_existing(path, "output_dir")

    drafts = list(_read(args, table))
    labelled = any(isinstance(draft, Draft) and "label" in draft.fields for draft in drafts)
    model = LabelledDialogue if labelled else Dialogue
    accepted, rejected = accept(drafts, model, fields)
    result = clean(accepted, masking=not args.keep_personal_data, threshold=threshold)
    rejected += result.rejected
    read, kept, repeated = len(drafts), len(result.kept), len(result.repeated)
    assert read == kept + len(rejected) + repeated, "a record is lost"
    if args.dry_run:
        for place, one in result.masked:
            print(f"{place.file}:{place.line}: {one.field}: {one.kind}: {one.shown}")
    print(f"{read} read = {kept} kept + {len(rejected)} rejected + {repeated} duplicates")
    masked = dict(sorted(Counter(one.kind.value for _, one in result.masked).items()))
    print("masked:", ", ".join(f"{n} {kind}" for kind, n in masked.items()) or "nothing")
    for reason, count in Counter(f"{one.field}: {one.reason}" for one in rejected).most_common(5):
        print(f"rejected {count}: {reason}")
    if not kept:
        raise _nothing_left(args.dialogues[0], rejected)
    if args.dry_run:
        return

    parts = split_dialogues(result.kept, shares, args.seed)
    largest = largest_group(result.kept) / kept
    _warn(result.named, largest, max(shares.values()))
    summary = {
        "records": {"read": read, "kept": kept, "rejected": len(rejected), "duplicates": repeated},
        "masked": masked,
        "personal_data_in_ids": result.named,
        "parts": {name: len(part) for name, part in parts.items()},
        "largest_group": round(largest, 4),
        "product_lines": product_lines(result.kept),
        "languages": languages(result.kept),
        "provenance": provenance(
            inputs={str(path): sha256(path) for path in args.dialogues},
            options={k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()
                     if k != "dialogues"},
        ),
    }  # fmt: skip
    with all_or_none(files):
        for path, part in zip(outputs, parts.values(), strict=False):
            write_dialogues(path, part)
        write_jsonl(args.output_dir / "rejected.jsonl", map(rejected_row, rejected))
        write_jsonl(args.output_dir / "duplicates.jsonl", result.repeated)
        write_json(args.output_dir / "summary.json", summary)
    for table in (summary["product_lines"], summary["languages"]):
        for name, figures in table.items():
            shown = ", ".join(f"{key} {value}" for key, value in figures.items() if value)
            print(f"{name or '(no product line)'}: {shown}")
    for path, part in zip(outputs, parts.values(), strict=False):
        counts = Counter(dialogue.language for dialogue in part)
        spoken = ", ".join(f"{count} {language}" for language, count in sorted(counts.items()))
        print(f"{path}: {spoken}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--dialogues", type=Path, required=True, nargs="+", help="files of one format")
    add("--output_dir", type=Path, required=True)
    add("--format", choices=["jsonl", "csv", "sharegpt", "messages"], help="default: by suffix")
    add("--customer_role", help="sharegpt, messages: whose role is the customer's (user, human...)")
    add("--columns", nargs="+", default=[], help="CSV: FIELD=COLUMN,... where they differ")
    add("--speakers", nargs="+", default=[], help="CSV: customer=WORD,salesperson=WORD,...")
    add("--fields", nargs="+", default=[], metavar="FIELD=VALUE", help="what all records get")
    add("--near_duplicates", default="0.8", help="Jaccard index from which to drop, or none")
    add("--keep_personal_data", action="store_true")
    add("--dry_run", action="store_true", help="show what would be masked, write nothing")
    add("--parts", nargs="+", default=PARTS, metavar="NAME=SHARE")
    add("--seed", type=int, default=0)
    return parser.parse_args()


def _read(args: argparse.Namespace, table: Table) -> Iterator[Draft | Rejected]:
    for path in args.dialogues:
        kind = args.format or ("csv" if path.suffix.lower() in (".csv", ".tsv") else "jsonl")
        if kind == "csv":
            if ignored := table.ignored(path):
                print(f"{path}: columns not read: {', '.join(ignored)}", file=sys.stderr)
            yield from table.read(path)
        elif kind == "jsonl":
            yield from read_records(path)
        elif args.customer_role is None:
            fix = "Say whose messages are the customer's, e.g. --customer_role user"
            raise InputError("is missing", field="customer_role", fix=fix)
        else:
            yield from read_messages(path, args.customer_role)


def _nothing_left(path: Path, rejected: Sequence[Rejected]) -> InputError:
    fix = "Check --format and --fields"
    if not rejected:
        return InputError("there is no record in it", path=path, fix=fix)
    first = rejected[0]
    problem = f"none of {len(rejected)} records is a dialogue; this one: {first.reason}"
    return InputError(problem, path=first.place.file, line=first.place.line, field=first.field,
                      fix=fix)  # fmt: skip


def _warn(named: Sequence[str], largest: float, share: float) -> None:
    if named:
        print(f"warning: {len(named)} dialogues have personal data in an id, which is not masked,"
              f" the first {named[0]!r}", file=sys.stderr)  # fmt: skip
    if largest > share:
        linked = f"{largest:.0%} of the dialogues are linked by workers, scenarios or texts"
        print(f"warning: {linked} and stay in one part, larger than its share", file=sys.stderr)


if __name__ == "__main__":
    main()
