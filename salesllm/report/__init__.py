"""The report of a training run: one self-contained HTML file, and a picture for a README."""

from salesllm.report.data import Curve, ReportData, Sample, SampleTurn
from salesllm.report.html import render, write_report
from salesllm.report.picture import role_inversion_svg

__all__ = [
    "Curve",
    "ReportData",
    "Sample",
    "SampleTurn",
    "render",
    "role_inversion_svg",
    "write_report",
]
