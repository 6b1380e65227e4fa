"""CSV with one turn a row, as shops and call centres export it."""

from __future__ import annotations

from pathlib import Path

import pytest

from salesllm.dialogue import Dialogue, Speaker
from salesllm.errors import InputError
from salesllm.importing import options
from salesllm.importing.readers import Rejected, accept
from salesllm.importing.table import Table

HEADER = "dialogue_id,speaker,text,language,source,product_line,context\n"


def table(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path: Path, layout: Table | None = None) -> tuple[list[Dialogue], list[Rejected]]:
    accepted, rejected = accept((layout or Table()).read(path), Dialogue)
    return [dialogue for _, dialogue in accepted], rejected


def test_rows_of_dialogues_may_be_mixed(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "\ufeff" + HEADER + "a,customer,hi,en,shop,lamps,\n"
        'b,customer,"well,\nhello",en,shop,lamps,"{""x"": 1}"\n'
        "\n,,,,,,\n"
        "a,salesperson,yes?,,,,\na,salesperson,still there?,,,,\n"
        "b,salesperson,yes,en,shop,lamps,\n",
    )
    dialogues, rejected = read(path)
    assert not rejected
    assert [d.id for d in dialogues] == ["a", "b"]
    assert [t.text for t in dialogues[0].turns] == ["hi", "yes?", "still there?"]
    assert (dialogues[1].turns[0].text, dialogues[1].context) == ("well,\nhello", {"x": 1})


def test_columns_and_speakers_have_other_names(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "when;who;conv;said;lang;shop;line\n1;买家;a;hi;en;s;l\n2;agent;a;yes?;en;s;l\n"
        "3;buyer;a;how much;en;s;l\n",
    )
    layout = options.table(
        ["dialogue_id=conv,speaker=who,text=said", "language=lang,source=shop,product_line=line"],
        ["customer=buyer,customer=买家", "salesperson=agent"],
    )
    (dialogue,), rejected = read(path, layout)
    assert not rejected
    assert [t.speaker for t in dialogue.turns] == [
        Speaker.CUSTOMER, Speaker.SALESPERSON, Speaker.CUSTOMER,
    ]  # fmt: skip
    assert layout.ignored(path) == ["when"]


def test_every_cell_may_be_quoted(tmp_path: Path) -> None:
    header = ";".join(f'"{name}"' for name in HEADER.strip().split(","))
    path = table(tmp_path, f"{header}\na;customer;hi;en;s;l;\na;salesperson;yo;en;s;l;\n")
    dialogues, rejected = read(path)
    assert [d.id for d in dialogues] == ["a"]
    assert not rejected


@pytest.mark.parametrize(
    ("rows", "line", "name", "field", "reason"),
    [
        ("a,bot,hi,en,s,l,\n", 2, "a", "turns.0.speaker", "e.g. --speakers customer=bot"),
        ("a,,hi,en,s,l,\n", 2, "a", "turns.0.speaker", "e.g. --speakers customer=WORD"),
        ("a,customer,hi,en,s\n", 2, "a", "turns.0", "has 5 cell(s), the header 7"),
        ("a,customer,hi,en,s,l,\na,customer\n", 3, "a", "turns.1", "has 2 cell(s), the header 7"),
        ("a,customer,hi,en,s,l,,,\n", 2, "a", "turns.0", "has 9 cell(s)"),
        ("a,customer,hi,en,s,l,\n", 2, "a", "turns", "only the customer speaks"),
        ("a,customer,,en,s,l,\n", 2, "a", "turns.0.text", "is empty"),
        ("a,customer,hi,en,s,l,{\n", 2, "a", "context", "not JSON"),
        ("a,customer,hi,en,s,l,\na,salesperson,yo,zh,s,l,\n", 2, "a", "language", "has 2 values"),
        (" ,customer,hi,en,s,l,\n", 2, None, "dialogue_id", "is empty"),
    ],
)
def test_what_is_no_dialogue_is_rejected(
    rows: str, line: int, name: str | None, field: str, reason: str, tmp_path: Path
) -> None:
    good = "z,customer,hi,en,s,l,\nz,salesperson,yo,en,s,l,\n"
    dialogues, rejected = read(table(tmp_path, HEADER + rows + good))
    assert [d.id for d in dialogues] == ["z"]
    (one,) = rejected
    assert (one.place.line, one.id, one.field) == (line, name, field)
    assert reason in one.reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        (",,,\n", "no column 'dialogue_id'"),
        ("a,b\n1,2\n", "line|no column 'dialogue_id'"),
        (HEADER.replace("context", "text"), "more than one column 'text'"),
        (HEADER + 'a,customer,"hi\n', "log.csv:2: not CSV: unexpected end of data"),
        (HEADER + 'a,customer,"hi" there,en,s,l,\n', "log.csv:2: not CSV"),
        ((HEADER + "a,customer,你好").encode("gb18030"), "not UTF-8"),
        ((HEADER + "a,customer,hi").encode("utf-16"), "not UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(text: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said.replace("line|", "")):
        read(table(tmp_path, text))


def test_a_very_long_cell_and_a_nul(tmp_path: Path) -> None:
    long = "x" * 300_000
    rows = f"a,customer,{long},en,s,l,\na,salesperson,y\0o,en,s,l,\n"
    (dialogue,), rejected = read(table(tmp_path, HEADER + rows))
    assert not rejected
    assert [t.text for t in dialogue.turns] == [long, "y\0o"]


@pytest.mark.parametrize(
    ("columns", "speakers", "said"),
    [
        (["conv=id"], [], "unknown field 'conv'"),
        (["speaker"], [], "'speaker' is no pair"),
        ([], ["buyer=customer"], "'buyer=customer' names no speaker"),
        ([], ["customer=x,salesperson=x"], "'salesperson=x' names no speaker"),
    ],
)
def test_options_that_say_nothing(columns: list[str], speakers: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        options.table(columns, speakers)
