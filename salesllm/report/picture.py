"""The picture of role inversion for a README: an SVG file that follows the reader's theme."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from salesllm.report import figures
from salesllm.report.charts import element
from salesllm.report.html import inversion_plot

_WIDTH, _MARGIN, _HEAD = 680, 28, 76
_TEMPLATES = Path(__file__).with_name("templates")
_SHEETS = ("palette.css", "charts.css")

# An image in a README knows the reader's preference but not the page's theme, and the two may
# differ: it brings its own ground.
_STYLE = """
.sheet { fill: var(--panel); stroke: var(--line) }
svg .heading { font-size: 17px; font-weight: 650 }
svg .caption { fill: var(--muted) }
"""


def role_inversion_svg(summary: Mapping[str, Any]) -> str:
    """Role inversion of base, SFT and DPO with their intervals and people's own rate as the floor.

    Returns:
        A whole SVG document.
    """
    plot = inversion_plot(figures.role_inversion(summary))
    height = _HEAD + plot.height + 14
    caption = "Customer turns that a detector takes for a salesperson's, with 95% intervals"
    shared = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in _SHEETS)
    return element(
        "svg",
        element("title", plot.label),
        element("style", Markup("".join(shared) + _STYLE)),
        element("rect", class_="sheet", x=0.5, y=0.5, rx=10, width=_WIDTH - 1, height=height - 1),
        element("text", "Role inversion", class_="heading", x=_MARGIN, y=36),
        element("text", caption, class_="caption", x=_MARGIN, y=56),
        element("svg", plot.body, x=_MARGIN, y=_HEAD, width=_WIDTH - 2 * _MARGIN,
                height=plot.height, overflow="visible"),
        xmlns="http://www.w3.org/2000/svg", role="img", viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH, height=height,
    ) + "\n"  # fmt: skip
