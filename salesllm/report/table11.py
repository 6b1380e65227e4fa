"""Table 11: trained scorers beside LLM judges, with the paper's own rows below ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PAPER: tuple[dict[str, Any], ...] = (
    {"language": "zh", "rater": "GPT-4o", "accuracy": 0.696, "f1": 0.73},
    {"language": "zh", "rater": "trained encoder", "accuracy": 0.9351, "f1": 0.93},
    {"language": "en", "rater": "GPT-4o", "accuracy": 0.6885, "f1": 0.72},
    {"language": "en", "rater": "trained encoder", "accuracy": 0.9294, "f1": 0.93},
)
"""The paper's figures, on its own annotated dialogues; it does not say how its F1 is averaged."""

COLUMNS = (
    "language", "rater", "source", "n", "answered", "accuracy", "accuracy_low", "accuracy_high",
    "f1", "f1_low", "f1_high", "f1_purchase", "f1_purchase_low", "f1_purchase_high",
)  # fmt: skip

_LANGUAGES = {"zh": "Chinese", "en": "English"}
_HEAD = ("Language", "Labelled by", "Accuracy (%)", "F1, macro", "F1, purchase", "Answered")


def rows(summary: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """`table.csv`: a row for everybody who labels each language, and the paper's."""
    for language, found in summary["languages"].items():
        for rater, figures in found["raters"].items():
            row = {"language": language, "rater": rater, "source": "measured"}
            row |= {key: str(figures[key]) for key in ("n", "answered")}
            for name in ("accuracy", "f1", "f1_purchase"):
                values = figures[name]
                row[name] = _number(values["value"])
                row |= {f"{name}_{end}": _number(values[end]) for end in ("low", "high")}
            yield row
        for row in summary["paper"]:
            if row["language"] == language:
                told = {name: _number(row[name]) for name in ("accuracy", "f1")}
                yield dict.fromkeys(COLUMNS, "") | row | told | {"source": "paper"}


def table(summary: Mapping[str, Any]) -> str:
    """`table.md`: Table 11, the encoder's lead, the confusions and the calibration."""
    lines = [f"# Intent scorers: {summary['name']}", ""]
    lines += [_line(_HEAD), _line(["---"] * len(_HEAD))]
    for language, found in summary["languages"].items():
        for rater, figures in found["raters"].items():
            cells = (_interval(figures[name], 1) for name in ("f1", "f1_purchase"))
            answered = f"{figures['answered']} of {figures['n']}"
            accuracy = _interval(figures["accuracy"], 100)
            lines.append(_line([_LANGUAGES[language], rater, accuracy, *cells, answered]))
        majority = f"{100 * found['majority']:.1f}"
        lines.append(
            _line([_LANGUAGES[language], "*always the commonest label*", majority, "–", "–", "–"])
        )
        for row in summary["paper"]:
            if row["language"] == language:
                told = [f"{100 * row['accuracy']:.2f}".rstrip("0"), f"{row['f1']:.2f}", "–", "–"]
                lines.append(_line([_LANGUAGES[language], f"*{row['rater']}, paper*", *told]))
    lines.append("")
    for language, found in summary["languages"].items():
        lines += [f"## {_LANGUAGES[language]}", "", *_details(found), ""]
    return "\n".join([*lines, *(f"- {note}" for note in summary["notes"])]) + "\n"


def _details(found: Mapping[str, Any]) -> Iterator[str]:
    for rater, lead in found["lead"].items():
        if lead["n"]:
            yield (
                f"- The encoder's accuracy minus that of {rater}: "
                f"{_interval(lead | {'value': lead['difference']}, 100)} points, "
                f"p = {lead['p_value']:.3g}, on {lead['n']} dialogues that both have labelled."
            )
    fitted = found["calibration"]
    yield (
        f"- Temperature {fitted['temperature']:.3f}, fitted on {fitted['fitted_on']} dialogues and "
        f"measured on {fitted['measured_on']} others, for P({found['purchase']}):"
    )
    yield from ("", _line(["", "ECE", "ECE by chance", "Brier", "Log loss"]), _line(["---"] * 5))
    for when in ("before", "after"):
        names = ("ece", "ece_by_chance", "brier", "log_loss")
        yield _line([when, *(f"{fitted[when][name]:.4f}" for name in names)])
    labels = found["labels"]
    for rater, figures in found["raters"].items():
        yield from ("", _line([f"true, down; {rater}, across", *labels]))
        yield _line(["---"] * (len(labels) + 1))
        for label, counts in zip(labels, figures["confusion"], strict=True):
            yield _line([label, *map(str, counts)])


def _interval(values: Mapping[str, Any], unit: int) -> str:
    if values["value"] is None:
        return "–"
    digits = 1 if unit == 100 else 3
    value, low, high = (f"{unit * values[k]:.{digits}f}" for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
