"""Pages as a browser reads them, as far as a test needs it."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Page(HTMLParser):
    """Start tags with their attributes, text without that of style sheets, and open elements."""

    VOID = ("meta", "link", "img", "br", "input")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.open = "", list[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def svgs(html: str) -> list[str]:
    """The outermost `<svg>` elements."""
    found, depth, start = [], 0, 0
    for match in re.finditer(r"<svg\b|</svg>", html):
        if match[0] == "</svg>":
            depth -= 1
            if not depth:
                found.append(html[start : match.end()])
        else:
            start = start if depth else match.start()
            depth += 1
    return found
