"""Table 10 of a run: salespeople by customers and languages, as Markdown, LaTeX and CSV.

What others published stands in tables of its own below: other customers, other judges, other
scorers, so no row of theirs is ever ranked among a run's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from salesllm.files import write_text
from salesllm.report.figures import Estimate, interval, percent
from salesllm.report.scores import ABSENT, NONE, OVERALL, Table, published, table_of
from salesllm.sheets import write_sheet

DAGGER = "\N{DAGGER}"
LEGEND = f"Best in bold, second underlined, third with {DAGGER}"


def write_tables(folder: Path, leaderboard: Mapping[str, Any], title: str) -> list[Path]:
    """Writes `table10.md`, `table10.tex` and `table10.csv`; returns their paths."""
    tables = [table_of(leaderboard, title), *published()]
    markdown, latex, sheet = (folder / f"table10.{kind}" for kind in ("md", "tex", "csv"))
    write_text(markdown, "\n".join(as_markdown(table) for table in tables))
    write_text(latex, "\n".join(as_latex(table) for table in tables))
    write_sheet(sheet, SHEET, (row for table in tables for row in as_rows(table)))
    return [markdown, latex, sheet]


def as_markdown(table: Table) -> str:
    """The table; a run's is followed by its intervals, ranks, coverage and grounding."""
    mark = {1: "**{}**", 2: "<ins>{}</ins>", 3: f"{{}} {DAGGER}", None: "{}"}
    header = ["Salesperson", *(f"{c}, {_head(g)}" for c, g in table.columns)]
    lines = [f"## {table.title}", "", *_markdown_head([_plain(name) for name in header])]
    for name, row in table.rows.items():
        scores = [row.get(column, NONE) for column in table.columns]
        shown = [mark[score.place].format(score.text) for score in scores]
        lines.append(_markdown_row([_plain(name), *shown]))
    lines += ["", f"{LEGEND}. {table.note}".rstrip(), ""]
    if table.source == "run":
        lines += _markdown_details(table)
    return "\n".join(lines)


def _markdown_details(table: Table) -> Iterator[str]:
    for customer, groups in table.customers.items():
        yield f"### Customer: {_plain(customer)}"
        yield ""
        measures = [m for g in groups for m in (f"{_head(g)} [95 %]", "rank", "scored")]
        yield from _markdown_head(["Salesperson", *measures, "Unauthorised concessions"])
        for name, row in table.rows.items():
            cells = [_plain(name)]
            for group in groups:
                score = row.get((customer, group), NONE)
                span = f" [{score.interval}]" if score.interval else ""
                cells += [score.text + span, score.rank_text, score.coverage]
            rate = table.unauthorised.get((name, customer))
            yield _markdown_row([*cells, rate_text(rate)])
        yield ""
    yield (
        "Scored: dialogues with a score, of all there are; what could not be scored is in no mean. "
        "A rank's interval is what resampling makes of it: ranks that overlap are not told apart."
    )
    yield ""


def as_latex(table: Table) -> str:
    """A `booktabs` tabular; intervals, where there are some, stand below the scores."""
    mark = {1: r"\textbf{{{}}}", 2: r"\underline{{{}}}", 3: r"{}$^{{\dagger}}$", None: "{}"}
    groups, rules, start = [], [], 2
    for customer, languages in table.customers.items():
        end = start + len(languages) - 1
        groups.append(rf"\multicolumn{{{len(languages)}}}{{c}}{{{_tex(customer)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{end}}}")
        start = end + 1
    comment = f"% {table.title}. {LEGEND}. {table.note}".rstrip()
    lines = [
        " ".join(comment.split()),
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["Salesperson", *groups]) + r" \\",
        "".join(rules),
        " & ".join(["", *(_tex(_head(group)) for _, group in table.columns)]) + r" \\",
        r"\midrule",
    ]
    for name, row in table.rows.items():
        scores = [row.get(column, NONE) for column in table.columns]
        shown = [mark[score.place].format(score.text).replace(ABSENT, "---") for score in scores]
        lines.append(" & ".join([_tex(name), *shown]) + r" \\")
        spans = [score.interval.replace("\N{EN DASH}", "--") for score in scores]
        if any(spans):
            small = [rf"{{\scriptsize {span}}}" if span else "" for span in spans]
            lines.append(" & ".join(["", *small]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


SHEET = (
    "source", "salesperson", "customer", "language", "mean", "low", "high", "scored", "unscored",
    "rank", "rank_low", "rank_high", "place", "unauthorised", "unauthorised_low",
    "unauthorised_high",
)  # fmt: skip
"""The columns of `table10.csv`, which has a row a score; what is absent is empty."""


def as_rows(table: Table) -> Iterator[dict[str, object]]:
    """The rows of `table10.csv`."""
    for name, row in table.rows.items():
        for customer, language in table.columns:
            score = row.get((customer, language), NONE)
            if table.source != "run" and score.mean is None:
                continue
            # A rate is over all languages, and belongs to the row that is.
            whole = language == OVERALL or len(table.customers[customer]) == 1
            rate = table.unauthorised.get((name, customer)) if whole else None
            mean, ranks = score.mean, score.ranks or (None, None, None)
            values = [
                table.source, name, customer, language,
                *((mean.value, mean.low, mean.high) if mean else (None,) * 3),
                score.scored, None if score.scored is None else score.unscored,
                *ranks, score.place,
                *((rate.value, rate.low, rate.high) if rate else (None,) * 3),
            ]  # fmt: skip
            yield {
                key: "" if value is None else value
                for key, value in zip(SHEET, values, strict=True)
            }


def rate_text(rate: Estimate | None) -> str:
    """`4.1% [3.2-5.3]`, with what could not be checked."""
    if rate is None:
        return ABSENT
    span = interval(rate, digits=1, scale=100)
    unscored = f", {rate.unscored:,} unscored" if rate.unscored else ""
    return percent(rate.value) + (f" [{span}]" if span else "") + unscored


def _head(group: str) -> str:
    return "all" if group == OVERALL else group.upper()


def _markdown_head(cells: Sequence[str]) -> list[str]:
    rule = ["---", *["--:"] * (len(cells) - 1)]
    return [_markdown_row(cells), _markdown_row(rule)]


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A name that Markdown takes for nothing but a name."""
    return "".join(f"\\{c}" if c in r"\`*_[]<>|~" else c for c in " ".join(text.split()))


_TEX = str.maketrans(
    {c: rf"\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _tex(text: str) -> str:
    return " ".join(text.split()).translate(_TEX)
