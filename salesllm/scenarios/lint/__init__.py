"""Finds faults in a file of scenarios: ours or rows of the paper's released benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from salesllm.dedup import near_duplicates
from salesllm.dialogue import Language
from salesllm.errors import InputError
from salesllm.files import json_object, read_lines
from salesllm.scenarios.lint.facts import contradictory_facts
from salesllm.scenarios.lint.fields import (
    blank_attribute,
    difficulty,
    language_mismatch,
    leak,
    missing_customer_block,
    missing_opener,
    missing_product,
    script_mismatch,
    unfilled_placeholder,
)
from salesllm.scenarios.lint.openers import opener_mismatch
from salesllm.scenarios.lint.rows import Finding, Row, read_row

__all__ = ["Finding", "Report", "lint"]

_RULES: tuple[Callable[[Row], Iterator[Finding]], ...] = (
    missing_product,
    missing_customer_block,
    missing_opener,
    blank_attribute,
    opener_mismatch,
    difficulty,
    language_mismatch,
    unfilled_placeholder,
    contradictory_facts,
    script_mismatch,
    leak,
)
THRESHOLD = 0.8
"""Jaccard index of 3-shingles from which two customers are near duplicates."""


@dataclass(frozen=True)
class Report:
    """What a file's linting came to.

    Attributes:
        scenarios: Lines that could be read.
        findings: In the order of the lines.
    """

    scenarios: int
    findings: Sequence[Finding]

    def count(self, severity: str) -> int:
        return sum(finding.severity == severity for finding in self.findings)


def lint(path: str | Path, language: Language | None = None) -> Report:
    """Reads every line and applies every rule; a line that cannot be read is a finding.

    Args:
        language: Of the run that released rows are meant for; by default each row's own, which is
            often wrong. Only for these: our scenarios say theirs.

    Raises:
        InputError: The file is missing, empty, not UTF-8 or one JSON list, or `language` is given
            for scenarios of ours.
    """
    rows: list[Row] = []
    findings: list[Finding] = []
    ends = ""
    for number, text in read_lines(path):
        ends = (ends or text.lstrip())[:1] + text.rstrip()[-1:]
        try:
            row = read_row(number, json_object(text), language)
        except InputError as error:
            findings.append(_unreadable(number, error))
            continue
        rows.append(row)
        for rule in _RULES:
            findings += rule(row)
    if ends == "[]":
        raise InputError("one JSON list", path=path, fix="Write one JSON object a line, no list")
    if language is not None and rows and not any(row.authors for row in rows):
        problem = "these scenarios say their language themselves"
        raise InputError(problem, path=path, field="language", fix="Leave out --language")
    findings += _duplicate_ids(rows)
    findings += _near_duplicates(rows)
    return Report(len(rows), sorted(findings, key=lambda finding: finding.line))


def _unreadable(line: int, error: InputError) -> Finding:
    field, fix = error.field or "", error.fix or "Correct it"
    missing = {"product": "missing-product", "persona": "missing-customer-block",
               "attributes": "missing-customer-block"}  # fmt: skip
    rule = missing.get(field, "unreadable") if error.problem == "is missing" else "unreadable"
    return Finding(rule, "error", line, "", field, error.problem, fix)


def _duplicate_ids(rows: Sequence[Row]) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for row in rows:
        if not row.id:
            yield row.found("duplicate-id", "id", "has no id", "Give it one of its own")
        elif row.id in seen:
            message = f"{row.id!r} is already on line {seen[row.id]}"
            yield row.found("duplicate-id", "id", message, "Make ids unique")
        else:
            seen[row.id] = row.line


def _near_duplicates(rows: Sequence[Row]) -> Iterator[Finding]:
    """Customers that say almost the same."""
    known = [row for row in rows if row.customer.strip()]
    for duplicate in near_duplicates([row.customer for row in known], THRESHOLD):
        row, other = known[duplicate.index], known[duplicate.of]
        message = f"the customer is {duplicate.similarity:.0%} that of line {other.line}"
        fix = "Remove one, or write another customer"
        yield row.found("near-duplicate", "", message, fix, "warning")
