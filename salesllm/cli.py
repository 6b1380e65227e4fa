"""The `salesllm` command."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from salesllm.errors import entry_point

SCALE = "how much sample data, 1 by default; the figures of a small fraction mean nothing"


def _scale(text: str) -> float:
    value = float(text)
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not in (0, 100]")
    return value


def parser() -> argparse.ArgumentParser:
    main = argparse.ArgumentParser(
        prog="salesllm", description="Train and measure both sides of a sales conversation."
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="command")

    command = commands.add_parser(
        "quickstart",
        help="train and measure a tiny CustomerLM on sample data, and write a report",
        description="Every stage on a laptop: data, base, SFT, preference pairs, DPO, intent "
        "scorers, benchmark, ablation, report. Called again, it goes on where it was cut off.",
    )
    command.add_argument("--output_dir", type=Path, default=Path("outputs/quickstart"))
    command.add_argument(
        "--embedding_model",
        help="sentence encoder (folder or Hub id) for the cosine; without one it is left out",
    )
    command.add_argument("--scale", type=_scale, default=1.0, help=SCALE)

    command = commands.add_parser(
        "tiny",
        help="write the sample data and untrained models that the tiny recipes start from",
        description="Sample dialogues and scenarios in both languages, intent labels, and small "
        "models with random weights: what recipes/*/tiny*.yaml name under outputs/tiny.",
    )
    command.add_argument("--output_dir", type=Path, default=Path("outputs/tiny"))
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--scale", type=_scale, default=1.0, help=SCALE)

    command = commands.add_parser(
        "preflight",
        help="check a training recipe and its data without training",
        description="Reads the recipe, the data and the tokenizer as train/*.py would, and says "
        "what would be trained on. Any key of the recipe may be overridden, as in training.",
    )
    command.add_argument("--config", required=True, help="a recipe of train/*.py")
    command.add_argument("--job", choices=["sft", "dpo", "intent"], help="told from the recipe")
    command.add_argument(
        "--show-mask", type=int, nargs="?", const=2, default=0, metavar="ROWS",
        help="print rows with the tokens that bear loss in colour",
    )  # fmt: skip

    command = commands.add_parser(
        "report",
        help="write the tables and the HTML report of a finished benchmark run",
        description="Writes table10.md, table10.tex, table10.csv and report/index.html into the "
        "run's folder. eval/benchmark.py does so by itself; an older run's are written anew.",
    )
    command.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="output_dir of the run")
    command.add_argument("--open", action="store_true", help="open the report in a browser")

    command = commands.add_parser(
        "lint",
        help="find faults in a file of scenarios",
        description="Our scenarios, or rows of the paper's released benchmark. The exit code is 0 "
        "for a clean file, 1 for one with faults, 2 for what is no such file.",
    )
    command.add_argument("file", type=Path, help="JSONL, one scenario a line")
    command.add_argument(
        "--language",
        choices=["zh", "en"],
        help="of the run that released rows are meant for; by default what each row says",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_argument("--all", action="store_true", help="print every finding")
    command.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    return main


@entry_point
def main(argv: Sequence[str] | None = None) -> None:
    arguments, rest = parser().parse_known_args(argv)
    if rest and arguments.command != "preflight":
        parser().error(f"unknown argument {rest[0]}")
    if arguments.command == "quickstart":
        from salesllm.quickstart import StageError, run

        try:
            run(arguments.output_dir, arguments.embedding_model, arguments.scale)
        except StageError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
    elif arguments.command == "tiny":
        from salesllm.training.tiny import prepare

        prepare(arguments.output_dir, seed=arguments.seed, scale=arguments.scale)
        print(f"{arguments.output_dir}: sample data and untrained models for recipes/*/tiny*")
    elif arguments.command == "report":
        from salesllm.report.benchmark import publish

        written = publish(arguments.run_dir)
        for path in written:
            print(path)
        if arguments.open:
            webbrowser.open(written[-1].resolve().as_uri())
    elif arguments.command == "lint":
        from salesllm.scenarios.lint import lint
        from salesllm.scenarios.lint.show import as_json, as_text

        report = lint(arguments.file, arguments.language)
        show = as_json(report) if arguments.json else as_text(report, everything=arguments.all)
        print(show)
        sys.exit(1 if report.count("error") or (arguments.strict and report.findings) else 0)
    else:
        from salesllm.training.preflight import preflight

        preflight(arguments.config, rest, job=arguments.job, show_mask=arguments.show_mask)


if __name__ == "__main__":
    main()
