"""A linter's report for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

from salesllm.scenarios.lint import Finding, Report

FIRST = 5
"""Findings of a rule that are printed unless all are asked for."""


def as_json(report: Report) -> str:
    """One object: counts, and every finding."""
    return json.dumps(
        {
            "scenarios": report.scenarios,
            "errors": report.count("error"),
            "warnings": report.count("warning"),
            "rules": Counter(finding.rule for finding in report.findings),
            "findings": [asdict(finding) for finding in report.findings],
        },
        ensure_ascii=False,
    )


def as_text(report: Report, *, everything: bool = False) -> str:
    """Findings by rule, errors first."""
    rules: dict[tuple[str, str], list[Finding]] = {}
    for finding in sorted(report.findings, key=lambda finding: finding.severity):
        rules.setdefault((finding.severity, finding.rule), []).append(finding)
    lines = []
    for (severity, rule), findings in rules.items():
        lines.append(f"{severity}: {rule} ({len(findings):,})")
        shown = findings if everything else findings[:FIRST]
        lines += (f"  {_line(finding)}" for finding in shown)
        if len(shown) < len(findings):
            lines.append(f"  and {len(findings) - len(shown):,} more: --all prints them")
        lines += (f"  -> {fix}." for fix in dict.fromkeys(finding.fix for finding in shown))
    counts = ", ".join(_counts(report))
    return "\n".join([*lines, f"{report.scenarios:,} scenarios: {counts or 'clean'}"])


def _line(finding: Finding) -> str:
    where = f"line {finding.line}"
    if finding.scenario:
        where += f", {finding.scenario}"
    field = f" `{finding.field}`" if finding.field else ""
    return f"{where}:{field} {finding.message}"


def _counts(report: Report) -> Iterator[str]:
    for severity in ("error", "warning"):
        if count := report.count(severity):
            yield f"{count:,} {severity}{'' if count == 1 else 's'}"
