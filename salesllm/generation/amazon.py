"""Products of Amazon-Reviews-2023: metadata files, a JSON object a line, plain or gzipped.

The files have millions of lines; nothing of them is kept but a sample.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import IO, Any, cast

from salesllm.errors import InputError

_FEATURES, _DETAILS, _LETTERS = 8, 12, 600
"""How much of an item is shown: a prompt has room for six of them."""
_HIGHEST = 1e9
"""No product costs more, in dollars."""


@dataclass(frozen=True)
class Item:
    """A product on sale.

    Attributes:
        price: As it is written; None where there is none.
    """

    title: str
    category: str
    categories: tuple[str, ...]
    features: tuple[str, ...]
    description: str
    details: dict[str, str]
    price: str | None
    store: str | None

    def text(self) -> str:
        """What a prompt shows of it, a line a field."""
        lines = [self.title, self.category, " > ".join(self.categories), self.price, self.store]
        lines += [f"{name}: {value}" for name, value in [*self.details.items()][:_DETAILS]]
        lines += [f"- {feature}" for feature in self.features[:_FEATURES]]
        return "\n".join(line for line in (*lines, self.description) if line)


@dataclass(frozen=True)
class Sample:
    """Items drawn from one file.

    Attributes:
        read: Lines of the file.
        skipped: How many of them are of no use, and why.
    """

    items: list[Item]
    read: int
    skipped: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Its figures and fingerprint, for a summary."""
        items = json.dumps([asdict(item) for item in self.items])
        return {
            "read": self.read,
            "skipped": self.skipped,
            "sampled": len(self.items),
            "sha256": hashlib.sha256(items.encode()).hexdigest(),
        }


def sample_items(path: str | Path, n: int, seed: int | str) -> Sample:
    """Draws `n` items, each with the same chance (reservoir sampling), in the file's order.

    Raises:
        InputError: The file is not there, damaged, or holds no item.
    """
    rng, skipped = Random(f"amazon {seed}"), Counter[str]()
    chosen: list[tuple[int, Item]] = []
    read = usable = 0
    with _lines(Path(path)) as lines:
        for read, line in enumerate(lines, 1):
            item = parse_item(line)
            if isinstance(item, str):
                skipped[item] += 1
                continue
            place = usable if usable < n else rng.randrange(usable + 1)
            usable += 1
            if place < len(chosen):
                chosen[place] = (read, item)
            elif place < n:
                chosen.append((read, item))
    if not usable:
        problem = f"none of its {read} lines is an item with a title and features"
        raise InputError(problem, path=path, fix="Give a meta_*.jsonl file of Amazon-Reviews-2023")
    items = [item for _, item in sorted(chosen, key=lambda pair: pair[0])]
    return Sample(items, read, dict(skipped.most_common()))


def parse_item(line: str | bytes) -> Item | str:
    """The item of a line, or why it is of no use."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return "not JSON"
    if not isinstance(row, dict):
        return "not an object"
    title, features = _text(row.get("title")), _texts(row.get("features"))
    if not title or not features:
        return "no title" if not title else "no features"
    return Item(
        title=title,
        category=_text(row.get("main_category")),
        categories=_texts(row.get("categories")),
        features=features,
        description=" ".join(_texts(row.get("description")))[:_LETTERS],
        details=_details(row.get("details")),
        price=_price(row.get("price")),
        store=_text(row.get("store")) or None,
    )


def category_of(path: str | Path) -> str:
    """`meta_Pet_Supplies.jsonl.gz` to `Pet_Supplies`."""
    return Path(path).name.partition(".")[0].removeprefix("meta_")


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[bytes]]:
    if not path.is_file():
        raise InputError("no such file", path=path, fix="Check the path")
    try:
        with cast(IO[bytes], gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as file:
            yield (line for line in file if line.strip())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        fix = "Download it again"
        raise InputError(f"not a whole gzip file: {error}", path=path, fix=fix) from None


def _text(value: Any) -> str:
    """A text on one line; empty for anything else, and for what says that there is nothing."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    text = text.encode(errors="ignore").decode()  # half of a surrogate pair fits in no file
    return "" if text.casefold() in ("none", "null", "nan", "n/a") else text


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(text for item in values if (text := _text(item)))


def _details(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    if not isinstance(value, dict):
        return {}
    pairs = (
        (_text(k), _text(str(v))) for k, v in value.items() if isinstance(v, str | int | float)
    )
    return {name: text[:_LETTERS] for name, text in pairs if name and text}


def _price(value: Any) -> str | None:
    """`12.99` and `"$12.99"` as `$12.99`; None without a figure."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"${value:,.2f}" if 0 < value < _HIGHEST else None
    text = _text(value)
    if not any(c.isdecimal() for c in text):
        return None
    return f"${text}" if text[0].isdecimal() else text
