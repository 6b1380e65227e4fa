"""Whatever a file holds, every record in it is accepted or rejected, or the file is refused.

FUZZ_CASES sets how many files each importer is given.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salesllm.dialogue import Dialogue
from salesllm.errors import InputError
from salesllm.files import write_jsonl
from salesllm.importing.cleaning import clean, rejected_row
from salesllm.importing.readers import Draft, Rejected, accept, read_messages, read_records
from salesllm.importing.table import Table

CASES = int(os.environ.get("FUZZ_CASES", "100"))
FIELDS = {"language": "en", "source": "s", "product_line": ""}
WORDS = ["customer", "salesperson", "user", "assistant", "system", "human", "gpt", "你好", "ok",
         "[END]", "a", "\ud800", "\0", '"', "13800138000", "", " ", "\n", "\ufeff"]  # fmt: skip
KEYS = ["id", "language", "source", "product_line", "turns", "messages", "conversations", "speaker",
        "text", "role", "content", "from", "value", "context", "outcome", "label"]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


def chats(role: str, text: str, sides: tuple[str, str]) -> st.SearchStrategy[Any]:
    """Records that are chats, or nearly so."""
    name = "messages" if role == "role" else "conversations"
    good = [{role: side, text: "hi"} for side in sides]
    message = st.sampled_from(good) | VALUES
    return st.fixed_dictionaries({name: st.just(good)}) | st.fixed_dictionaries(
        {name: st.lists(message, max_size=4)},
        optional={"id": SCALARS, "context": VALUES, "outcome": SCALARS, "x": VALUES},
    )


def records() -> st.SearchStrategy[Any]:
    """Records that are dialogues, or nearly so."""
    good = [{"speaker": speaker, "text": "hi"} for speaker in ("customer", "salesperson")]
    turns = st.just(good) | st.lists(st.sampled_from(good) | VALUES, max_size=4)
    fields = {"id": st.text("abcdef", min_size=1, max_size=2), "turns": turns}
    return st.fixed_dictionaries(fields) | st.fixed_dictionaries(
        fields, optional={"context": VALUES, "worker_id": SCALARS}
    )


def jsonl(items: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    texts = items.map(json.dumps) | (items | VALUES).map(json.dumps) | st.text(max_size=10)
    as_list = st.lists(items | VALUES, max_size=4).map(lambda rows: json.dumps(rows, indent=1))
    return st.lists(texts, max_size=6).map("\n".join) | as_list


def tables() -> st.SearchStrategy[str]:
    cell = st.sampled_from([*WORDS[:-1], "d1", "d2", '"x,\ny"', "{}", "[1]"]) | st.text(max_size=5)
    name = st.sampled_from(["d1", "d2", "d3", "d4"])
    dialogue = name.map(lambda d: f"{d},customer,hi,\n{d},salesperson,hi,")
    turn = st.tuples(name | st.just(""), st.sampled_from(["customer", "bot"]), cell, cell)
    row = (st.lists(cell, max_size=6) | turn).map(",".join)
    header = "dialogue_id,speaker,text,context"
    rows = st.lists(dialogue | dialogue | row, max_size=6)
    return rows.map(lambda rows: "\n".join([header, *rows]))


IMPORTERS: dict[str, tuple[Callable[[Path], Iterable[Draft | Rejected]], Any]] = {
    "jsonl": (read_records, jsonl(records())),
    "messages": (
        lambda path: read_messages(path, "user"),
        jsonl(chats("role", "content", ("user", "assistant"))),
    ),
    "sharegpt": (
        lambda path: read_messages(path, "gpt"),
        jsonl(chats("from", "value", ("human", "gpt"))),
    ),
    "csv": (Table().read, tables()),
}


@st.composite
def damaged(draw: st.DrawFn, contents: st.SearchStrategy[str]) -> bytes:
    """A file, sometimes with some of its bytes replaced."""
    content = draw(contents).encode("utf-8", "replace")
    if draw(st.integers(0, 3)) or not content:
        return content
    start, length = draw(st.integers(0, len(content))), draw(st.integers(0, 9))
    return content[:start] + draw(st.binary(max_size=6)) + content[start + length :]


def items(content: bytes) -> int:
    """How many records a JSON file has: the items of a list, or the lines that are not blank."""
    text = content.decode("utf-8-sig")
    if text.lstrip().startswith("["):
        try:
            return len(json.loads(text))
        except ValueError:
            pass
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig")
    return sum(bool(line.strip()) for line in lines)


def rows(content: bytes) -> int:
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    return sum(any(map(str.strip, row)) for row in csv.reader(lines)) - 1


@pytest.mark.parametrize("name", IMPORTERS)
def test_nothing_is_lost(name: str, tmp_path: Path) -> None:
    read, contents = IMPORTERS[name]
    path = tmp_path / "log"
    became: Counter[str] = Counter()

    @settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(damaged(contents))
    def check(content: bytes) -> None:
        became["file"] += 1
        path.write_bytes(content)
        try:
            drafts = list(read(path))
        except InputError:
            return
        accepted, rejected = accept(drafts, Dialogue, FIELDS)
        became["read"] += bool(drafts)
        became["accepted"] += bool(accepted)
        assert len(accepted) + len(rejected) == len(drafts)
        if name == "csv":
            turns = sum(len(dialogue.turns) for _, dialogue in accepted)
            lost = [json.loads(one.raw) for one in rejected]
            turns += sum(len(raw) if isinstance(raw[0], list) else 1 for raw in lost)
            assert turns == rows(content)
        else:
            assert len(drafts) == items(content)
        result = clean(accepted)
        gone = len(result.rejected) + len(result.repeated)
        assert len(result.kept) + gone == len(accepted)
        write_jsonl(tmp_path / "rejected", map(rejected_row, [*rejected, *result.rejected]))

    check()
    assert became["read"] >= 0.25 * became["file"], became
    assert became["accepted"] >= 0.1 * became["file"], became
