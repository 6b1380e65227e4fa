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
from salesllm.importing.cleaning import Clean, clean, rejected_row
from salesllm.importing.readers import Draft, Rejected, accept, read_messages, read_records
from salesllm.importing.statistics import languages, product_lines
from salesllm.importing.table import Table
from salesllm.provenance import provenance
from salesllm.splits import largest_group, split_dialogues
from salesllm.training.labels import LabelledDialogue

PARTS = ("train=0.7", "dev=0.05", "preference=0.08", "detector=0.09", "test=0.08")
REPORTS = ("rejected.jsonl", "duplicates.jsonl", "summary.json")


@entry_point
def main() -> None:
    args = _arguments()
    shares = options.shares(args.parts, [Path(name).stem for name in REPORTS])
    threshold = options.threshold(args.near_duplicates)
    fields, table = options.fields(args.fields), options.table(args.columns, args.speakers)
    outputs = [args.output_dir / f"{name}.jsonl" for name in shares]
    reports = [args.output_dir / name for name in REPORTS]
    for path in () if args.dry_run else (*outputs, *reports):
        refuse_existing(path, "output_dir")

    drafts = list(_read(args, table))
    accepted, rejected = accept(drafts, Dialogue, fields, labelled=LabelledDialogue)
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
    first = {one.kind: one for one in reversed(rejected)}
    for kind, count in Counter(one.kind for one in rejected).most_common(5):
        print(f"rejected {count}, the first: {_error(first[kind])}")
    if not kept:
        raise _nothing_left(args.dialogues[0], rejected)
    if args.dry_run:
        return

    parts = split_dialogues(result.kept, shares, args.seed)
    largest = largest_group(result.kept) / kept
    _warn(result, largest, max(shares.values()))
    figures = {
        "product_lines": product_lines(result.kept),
        "languages": languages(result.kept),
    }
    summary = {
        "records": {"read": read, "kept": kept, "rejected": len(rejected), "duplicates": repeated},
        "masked": masked,
        "personal_data_in_ids": result.named,
        "parts": {name: len(part) for name, part in parts.items()},
        "largest_group": round(largest, 4),
        **figures,
        "provenance": provenance(
            inputs={str(path): sha256(path) for path in args.dialogues},
            options={k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()
                     if k != "dialogues"},
        ),
    }  # fmt: skip
    with all_or_none([*outputs, *reports]):
        for path, part in zip(outputs, parts.values(), strict=True):
            write_dialogues(path, part)
        write_jsonl(reports[0], map(rejected_row, rejected))
        write_jsonl(reports[1], result.repeated)
        write_json(reports[2], summary)
    for group in figures.values():
        for name, values in group.items():
            shown = ", ".join(f"{key} {value}" for key, value in values.items() if value)
            print(f"{name or '(no product line)'}: {shown}")
    for path, part in zip(outputs, parts.values(), strict=True):
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
    first = _error(rejected[0])
    problem = f"none of {len(rejected)} records is a dialogue; this one: {first.problem}"
    return InputError(problem, path=first.path, line=first.line, field=first.field, fix=fix)


def _error(rejected: Rejected) -> InputError:
    row = rejected_row(rejected)  # masked
    return InputError(row["reason"], path=row["file"], line=row["line"], field=row["field"])


def _warn(result: Clean[Dialogue], largest: float, share: float) -> None:
    if result.named:
        print(f"warning: {len(result.named)} dialogues have personal data in an id, which is not"
              f" masked, the first {result.named[0]!r}", file=sys.stderr)  # fmt: skip
    labelled = sum(isinstance(dialogue, LabelledDialogue) for dialogue in result.kept)
    if 0 < labelled < len(result.kept):
        print(f"warning: {labelled} of {len(result.kept)} dialogues have a label; what reads the"
              " parts takes all or none", file=sys.stderr)  # fmt: skip
    if largest > share:
        linked = f"{largest:.0%} of the dialogues are linked by workers, scenarios or texts"
        print(f"warning: {linked} and stay in one part, larger than its share", file=sys.stderr)


if __name__ == "__main__":
    main()
