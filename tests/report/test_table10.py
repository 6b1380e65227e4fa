"""Table 10: the marks, the three formats, and what others published."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_made import leaderboard

from salesllm.report.scores import NONE, places, published, table_of
from salesllm.report.table10 import as_latex, as_markdown, write_tables
from salesllm.sheets import read_sheet


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({"a": 6.5, "b": 6.1, "c": 7.0, "d": 1.0}, {"a": 2, "b": 3, "c": 1}),
        ({"a": 6.504, "b": 6.496, "c": 6.0}, {"a": 1, "b": 1, "c": 3}),  # both print 6.50
        ({"a": 6.0, "b": 5.0, "c": 5.0, "d": 5.0, "e": 4.0}, {"a": 1, "b": 2, "c": 2, "d": 2}),
        ({"a": 6.001, "b": 6.002}, {}),
        ({"a": 6.0}, {}),
        ({}, {}),
    ],
)
def test_places_go_by_the_printed_figures(
    means: dict[str, float], expected: dict[str, int]
) -> None:
    assert places(means) == expected


@given(st.dictionaries(st.text(min_size=1), st.floats(0, 10), min_size=2))
def test_a_better_mean_has_never_the_lower_place(means: dict[str, float]) -> None:
    found = places(means)
    for one, other in itertools.permutations(means, 2):
        if means[one] > means[other] and other in found:
            assert found.get(one, 9) <= found[other]


MARKDOWN = r"""## Run

| Salesperson | GPT-4o, ZH | GPT-4o, EN | GPT-4o, all | CustomerLM, ZH | CustomerLM, EN | CustomerLM, all |
| --- | --: | --: | --: | --: | --: | --: |
| vendor/A\_1 | **6.50** | **6.10** | **6.30** | **5.00** | 5.00 | **5.00** |
| B & Co | **6.50** | 5.20 † | <ins>5.85</ins> | — | 5.00 | **5.00** |
| C | 5.00 † | <ins>5.90</ins> | 5.45 † | <ins>4.00</ins> | 5.00 | 4.50 † |

Best in bold, second underlined, third with †.
"""  # noqa: E501


def test_markdown() -> None:
    text = as_markdown(table_of(leaderboard(), "Run"))
    assert text.startswith(MARKDOWN)
    details = text.removeprefix(MARKDOWN).splitlines()
    assert (
        r"| vendor/A\_1 | 6.50 [6.30–6.70] | 2 (1–2) | 10 of 10 | 6.10 [5.90–6.30] | 1 | 10 of 10 |"
        " 6.30 [6.10–6.50] | 1 | 10 of 10 | 10.0% [5.0–20.0], 2 unscored |" in details
    )
    nothing = "| B & Co | — | — | 0 of 10 |"
    assert any(line.startswith(nothing) for line in details)


LATEX = r"""% Run. Best in bold, second underlined, third with †.
% \usepackage{booktabs}
\begin{tabular}{lrrrrrr}
\toprule
Salesperson & \multicolumn{3}{c}{GPT-4o} & \multicolumn{3}{c}{CustomerLM} \\
\cmidrule(lr){2-4}\cmidrule(lr){5-7}
 & ZH & EN & all & ZH & EN & all \\
\midrule
vendor/A\_1 & \textbf{6.50} & \textbf{6.10} & \textbf{6.30} & \textbf{5.00} & 5.00 & \textbf{5.00} \\
 & {\scriptsize 6.30--6.70} & {\scriptsize 5.90--6.30} & {\scriptsize 6.10--6.50} & {\scriptsize 4.80--5.20} & {\scriptsize 4.80--5.20} & {\scriptsize 4.80--5.20} \\
B \& Co & \textbf{6.50} & 5.20$^{\dagger}$ & \underline{5.85} & --- & 5.00 & \textbf{5.00} \\
 & {\scriptsize 6.30--6.70} & {\scriptsize 5.00--5.40} & {\scriptsize 5.65--6.05} &  & {\scriptsize 4.80--5.20} & {\scriptsize 4.80--5.20} \\
C & 5.00$^{\dagger}$ & \underline{5.90} & 5.45$^{\dagger}$ & \underline{4.00} & 5.00 & 4.50$^{\dagger}$ \\
 & {\scriptsize 4.80--5.20} & {\scriptsize 5.70--6.10} & {\scriptsize 5.25--5.65} & {\scriptsize 3.80--4.20} & {\scriptsize 4.80--5.20} & {\scriptsize 4.30--4.70} \\
\bottomrule
\end{tabular}
"""  # noqa: E501


def test_latex() -> None:
    assert as_latex(table_of(leaderboard(), "Run")) == LATEX


def test_the_sheet_has_every_score_with_its_source(tmp_path: Path) -> None:
    paths = write_tables(tmp_path, leaderboard(), "Run")
    assert [path.name for path in paths] == ["table10.md", "table10.tex", "table10.csv"]
    rows = [row for _, row in read_sheet(paths[-1], ["source", "salesperson", "mean"])]
    run = [row for row in rows if row["source"] == "run"]
    assert len(run) == 3 * 2 * 3
    first = {k: v for k, v in run[0].items() if v}
    assert first == {
        "source": "run", "salesperson": "vendor/A_1", "customer": "GPT-4o", "language": "zh",
        "mean": "6.5", "low": "6.3", "high": "6.7", "scored": "10", "unscored": "0", "rank": "2",
        "rank_low": "1", "rank_high": "2", "place": "1",
    }  # fmt: skip
    (whole,) = [r for r in run if (r["salesperson"], r["unauthorised"]) == ("vendor/A_1", "0.1")]
    assert (whole["customer"], whole["language"]) == ("GPT-4o", "overall")
    (lost,) = [row for row in run if not row["mean"]]
    assert (lost["salesperson"], lost["scored"], lost["unscored"]) == ("B & Co", "0", "10")
    assert {row["source"] for row in rows} == {"run", "paper", "authors' repository"}


def test_published_figures_are_labelled_and_apart() -> None:
    paper, repository = published()
    gpt = ("GPT-4o", "zh")
    assert paper.rows["GPT-4o"][gpt].text == "6.16"
    assert repository.rows["GPT-4o"][gpt].text == "5.72"
    assert paper.rows["Human Group"].get(("custom user model", "en"), NONE).text == "—"
    assert {n for n, row in paper.rows.items() if row[gpt].place == 1} == {
        "DeepSeek-Chat (V3.1)", "GLM-4.6",
    }  # fmt: skip
    assert paper.rows["Gemini-3"][gpt].place == 3  # as the paper marks it: two share the first
    run = table_of(leaderboard(), "Run")
    assert not set(run.rows) & set(paper.rows)
    text = as_markdown(paper)
    assert "## The paper's Table 10" in text
    assert "Rank" not in text
    assert len(paper.rows) == 16
    assert len(repository.rows) == 11
