"""What people see of a benchmark run: Table 10 in three formats, and a report to read in a browser.

    salesllm report outputs/benchmark/paper

`report/index.html` shows its tables and charts by itself, without a script. Beside it lie the
dialogues, which the page loads as somebody reads them: a whole Table 10 has 54,150.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import salesllm
from salesllm.benchmark.run import SUMMARY
from salesllm.files import read_json
from salesllm.report import board
from salesllm.report.html import ENVIRONMENT
from salesllm.report.scores import NONE, OVERALL, languages, published, table_of, whole
from salesllm.report.table10 import DAGGER, rate_text, write_tables
from salesllm.report.transcripts import write_transcripts

REPORT = "report"
_READER = "reader.js"


def publish(run_folder: Path) -> list[Path]:
    """Writes all that people see of a finished run into its folder.

    Returns:
        `table10.md`, `.tex` and `.csv`, unless the run is from before there was a leaderboard, and
        `report/index.html`.

    Raises:
        InputError: The folder holds no finished run, or a damaged one.
    """
    summary = read_json(run_folder / SUMMARY)
    tables = []
    if summary.get("leaderboard"):
        tables = write_tables(run_folder, summary["leaderboard"], _title(summary))
    return [*tables, write_report(run_folder)]


def is_published(run_folder: Path) -> bool:
    """Whether `publish` has come to its end since the run did: it may have been killed."""
    report = run_folder / REPORT / "index.html"
    made = (run_folder / SUMMARY).stat().st_mtime_ns
    return report.exists() and report.stat().st_mtime_ns >= made


def write_report(run_folder: Path) -> Path:
    """Writes `report/`, which replaces an older one only once it is complete.

    Returns:
        Its `index.html`.

    Raises:
        InputError: The folder holds no finished run, or a damaged one.
    """
    summary = read_json(run_folder / SUMMARY)
    with _replaced(run_folder / REPORT) as folder:
        data = folder / "data"
        data.mkdir()
        rows = write_transcripts(run_folder, data)
        reader = Path(__file__).with_name("templates") / _READER
        shutil.copyfile(reader, folder / _READER)
        (folder / "index.html").write_text(render_benchmark(summary, rows), encoding="utf-8")
    return run_folder / REPORT / "index.html"


def render_benchmark(summary: Mapping[str, Any], rows: int) -> str:
    """The page. What a run did not measure is left out.

    Args:
        rows: How many dialogues there are to read.
    """
    leaderboard = summary.get("leaderboard")
    return ENVIRONMENT.get_template("benchmark.html.jinja").render(
        summary={
            "results": {},
            "terminations": {},
            "usage": {},
            "cost": {},
            "unscored": {},
            "notes": [],
            **summary,
        },
        leaderboard=leaderboard,
        table=table_of(leaderboard, _title(summary)) if leaderboard else None,
        published=published(),
        rows=rows,
        languages=languages(leaderboard) if leaderboard else [],
        whole=whole(leaderboard) if leaderboard else None,
        board=board,
        rate_text=rate_text,
        DAGGER=DAGGER,
        NONE=NONE,
        OVERALL=OVERALL,
        version=salesllm.__version__,
    )


def _title(summary: Mapping[str, Any]) -> str:
    return (
        f"{summary['name']}: SalesLLM score (0-10), buying weighs {summary['alpha']:g}, selling "
        f"rated by {summary['rater']}"
    )


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """An empty folder that takes this one's place when all has gone well."""
    fresh, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{end}") for end in ("tmp", "old"))
    fresh.mkdir()
    try:
        yield fresh
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
    finally:
        for each in (fresh, old):
            shutil.rmtree(each, ignore_errors=True)
