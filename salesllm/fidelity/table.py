"""The ablation's `table.md`, with the paper's own rows below ours (Tables 3 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from salesllm.fidelity.similarity import LEXICAL

PEOPLE = "people"

PAPER: tuple[dict[str, Any], ...] = (
    {
        "customer": "GPT-4o",
        "bleu4": (0.1000, 0.1635), "rouge1": (0.0846, 0.1207), "rouge2": (0.0176, 0.0554),
        "rougeL": (0.0725, 0.1064), "cosine": (0.5682, 0.1182), "role_inversion": 0.1744,
    },
    {
        "customer": "UserLM", "bleu4": (0.06, None), "rouge1": (0.08, None),
        "rouge2": (0.01, None), "rougeL": (0.06, None), "cosine": (0.50, None),
        "role_inversion": 0.2155,
    },
    {
        "customer": "USP", "bleu4": (0.08, None), "rouge1": (0.09, None),
        "rouge2": (0.01, None), "rougeL": (0.08, None), "cosine": (0.52, None),
        "role_inversion": 0.1876,
    },
    {
        "customer": "CustomerLM",
        "bleu4": (0.1218, 0.1749), "rouge1": (0.1062, 0.1499), "rouge2": (0.0250, 0.0790),
        "rougeL": (0.0985, 0.1414), "cosine": (0.5922, 0.1266), "role_inversion": 0.088,
    },
)  # fmt: skip
"""The paper's own figures (mean, sd): Table 6 for GPT-4o and CustomerLM, Table 3 for the rest.

Role inversion is Table 3's, by a GPT-4o judge on simulated dialogues. The abstract gives another
pair for it: 0.1684 for GPT-4o and 0.0433 for CustomerLM.
"""

_COLUMNS = {
    "bleu4": "BLEU-4",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "cosine": "Cosine",
}
_GROUPS = {"overall": "All turns", "en": "English", "zh": "Chinese"}


def table_of(summary: Mapping[str, Any]) -> str:
    """`table.md`: a table a group of turns in the shape of Table 3, the paper's rows below ours."""
    lines = [f"# User-model ablation: {summary['name']}", ""]
    header = ["Customer", *_COLUMNS.values(), "Inversion, predicted turns (%)",
              "Inversion, simulated (%)", "Turns", "History"]  # fmt: skip
    for group in summary["reference"]:
        lines += [f"## {_GROUPS[group]}", "", _line(header), _line(["---"] * len(header))]
        for name, cells in summary["customers"].items():
            cell = cells[group]
            means = [cell["likeness"].get(key) for key in _COLUMNS]
            inversion = cell["role_inversion"]
            lines.append(
                _line(
                    [
                        name,
                        *(_mean_sd(m["mean"], m["sd"]) if m else "–" for m in means),
                        _rate(inversion["predicted"]),
                        _rate(inversion.get("simulated")),
                        str(cell["likeness"][LEXICAL[0]]["n"]),
                        "–" if cell["history_length"] is None else f"{cell['history_length']:.2f}",
                    ]
                )
            )
        floor = _rate(summary["reference"][group]["role_inversion"])
        lines.append(
            _line([f"*{PEOPLE} (the floor)*", *["–"] * len(_COLUMNS), floor, "–", "–", "–"])
        )
        for row in summary["paper"] if group == "overall" else ():
            means = [_mean_sd(*row[key]) for key in _COLUMNS]
            judged = f"{100 * row['role_inversion']:.1f}"
            lines.append(_line([f"*{row['customer']}, paper*", *means, "–", judged, "–", "–"]))
        lines.append("")
    for language, report in summary["detector"].items():
        accuracy = report["accuracy"]
        lines.append(
            f"- Speaker detector, {_GROUPS[language]}, held-out dialogues: accuracy "
            f"{accuracy['value']:.3f} [{accuracy['low']:.3f}, {accuracy['high']:.3f}] over "
            f"{accuracy['n']} turns of both sides (always the commoner side: "
            f"{report['majority']:.3f}), AUC {report['auc']:.3f}."
        )
    lines += [f"- {note}" for note in summary["notes"]]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _mean_sd(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.4f} ± {sd:.4f}" if sd is not None else f"{mean:.2f}"


def _rate(rate: Mapping[str, Any] | None) -> str:
    if rate is None or rate["rate"] is None:
        return "–"
    return f"{100 * rate['rate']:.1f} [{100 * rate['low']:.1f}, {100 * rate['high']:.1f}]"
