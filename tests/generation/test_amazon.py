"""Amazon-Reviews-2023 metadata: what is read, what is skipped, and who is drawn."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.errors import InputError
from salesllm.generation.amazon import Item, category_of, parse_item, sample_items

ROW: dict[str, Any] = {
    "main_category": "Pet Supplies", "title": "Slow  feeder bowl", "average_rating": 4.5,
    "features": ["Holds 500 ml", " ", "Dishwasher safe"], "description": ["For dogs", "that gulp"],
    "price": 12.5, "images": [], "store": "Somebody", "categories": ["Pet Supplies", "Dogs"],
    "details": {"Colour": "blue", "Weight": 300, "Nested": {"x": 1}},
}  # fmt: skip


def write(path: Path, rows: list[Any]) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_an_item() -> None:
    item = parse_item(json.dumps(ROW))
    assert item == Item(
        title="Slow feeder bowl",
        category="Pet Supplies",
        categories=("Pet Supplies", "Dogs"),
        features=("Holds 500 ml", "Dishwasher safe"),
        description="For dogs that gulp",
        details={"Colour": "blue", "Weight": "300"},
        price="$12.50",
        store="Somebody",
    )
    assert item.text().splitlines()[:5] == [
        "Slow feeder bowl", "Pet Supplies", "Pet Supplies > Dogs", "$12.50", "Somebody",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("price", "expected"),
    [(None, None), ("None", None), ("", None), ("—", None), (0, None), (True, None),
     ("12.99", "$12.99"), ("from 14.99", "from 14.99"), ("$1,299.00", "$1,299.00"),
     (1299, "$1,299.00"), (10**400, None), (1e300, None)],
)  # fmt: skip
def test_prices(price: Any, expected: str | None) -> None:
    item = parse_item(json.dumps(ROW | {"price": price}))
    assert isinstance(item, Item)
    assert item.price == expected


def test_details_may_be_a_json_string_or_nothing() -> None:
    for details, expected in (('{"Size": "L"}', {"Size": "L"}), ("{", {}), (None, {}), ([], {})):
        item = parse_item(json.dumps(ROW | {"details": details}))
        assert isinstance(item, Item)
        assert item.details == expected


@pytest.mark.parametrize("name", ["meta_Pet_Supplies.jsonl", "meta_Pet_Supplies.jsonl.gz"])
def test_a_sample_is_seeded_and_says_what_was_skipped(name: str, tmp_path: Path) -> None:
    rows = [ROW | {"title": f"Item {n}"} for n in range(50)]
    path = write(tmp_path / name, [*rows, ROW | {"title": "None"}, ROW | {"features": []}, 7])
    assert category_of(path) == "Pet_Supplies"
    sample = sample_items(path, 8, seed=1)
    assert sample.read == 53
    assert sample.skipped == {"no title": 1, "no features": 1, "not an object": 1}
    assert len({item.title for item in sample.items}) == 8
    assert sample_items(path, 8, seed=1) == sample
    assert sample_items(path, 8, seed=2) != sample
    assert [i.title for i in sample_items(path, 99, seed=1).items] == [r["title"] for r in rows]


def test_everybody_has_the_same_chance(tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", [ROW | {"title": str(n)} for n in range(10)])
    drawn = Counter(i.title for seed in range(1000) for i in sample_items(path, 3, seed).items)
    assert all(abs(n - 300) < 60 for n in drawn.values())  # four standard deviations


def test_what_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        sample_items(tmp_path / "absent.jsonl", 1, 0)
    with pytest.raises(InputError, match="none of its 1 lines"):
        sample_items(write(tmp_path / "m.jsonl", [{}]), 1, 0)
    whole = write(tmp_path / "m.jsonl.gz", [ROW | {"title": str(n)} for n in range(500)])
    whole.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(InputError, match="not a whole gzip file"):
        sample_items(whole, 1, 0)
    (tmp_path / "n.jsonl.gz").write_bytes(b"{}\n")
    with pytest.raises(InputError, match="not a whole gzip file"):
        sample_items(tmp_path / "n.jsonl.gz", 1, 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*ROW]), JSON))
def test_any_row_is_an_item_or_skipped(row: dict[str, Any]) -> None:
    item = parse_item(json.dumps(ROW | row))
    assert isinstance(item, str) or item.text().encode()
