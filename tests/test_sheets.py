"""CSV for spreadsheets: what is written comes back, and what cannot be read is named."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.errors import InputError
from salesllm.sheets import read_sheet, write_sheet

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"))
formulas = st.sampled_from(["=1+1", "-5%吧", "+86", "@me", "'=x", "''", "'tis", "=", 'a,b\n"c"'])


@given(st.lists(st.tuples(texts | formulas, texts | formulas), max_size=6))
def test_there_and_back(rows: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.csv"
        write_sheet(path, ("a", "b"), [{"a": a, "b": b} for a, b in rows])
        read = [(row["a"], row["b"]) for _, row in read_sheet(path, ("b", "a"))]
        assert read == [(a.strip(), b.strip()) for a, b in rows if a.strip() or b.strip()]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", r": the file is empty"),
        (b",,\n", r":1: field `id`: there is no such column"),
        (b"id,label\n", None),
        (b"id\nx\n", r":1: field `label`: there is no such column. Name the columns id, label"),
        (b"id,label,id\n", r":1: field `id`: is there twice"),
        (b"id,label\nx,y\nx,y,z\n", r":3: the row has 3 cells, the header 2"),
        (b'id,label\nx,"y\n', r":2: not CSV: "),
        ("id,label\n好,y\n".encode("gb18030"), r": not UTF-8: .* Save it as UTF-8"),
    ],
)
def test_bad_sheets(content: bytes, said: str | None, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes(content)
    if said is None:
        assert list(read_sheet(path, ("id", "label"))) == []
        return
    with pytest.raises(InputError, match=rf"sheet\.csv{said}"):
        list(read_sheet(path, ("id", "label")))
    with pytest.raises(InputError, match="no such file"):
        list(read_sheet(tmp_path / "absent.csv", ("id",)))


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_as_spreadsheets_of_other_countries_write_it(
    delimiter: str, quote: str, tmp_path: Path
) -> None:
    path = tmp_path / "sheet.csv"
    rows = [["ID", " Label "], ["1", "yes, and no; so\tso"]]
    quoted = [[f'"{cell}"' if quote or cell[0] == "y" else cell for cell in row] for row in rows]
    path.write_text("\n".join(map(delimiter.join, quoted)), encoding="utf-8")
    assert list(read_sheet(path, ("id", "label"))) == [(2, {"id": "1", "label": rows[1][1]})]


def test_lines_are_where_rows_begin(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text('\ufeffid,label\n1,"a\nb"\n\n2,c\n3\n', encoding="utf-8")
    found = [(line, row["id"], row["label"]) for line, row in read_sheet(path, ("id", "label"))]
    assert found == [(2, "1", "a\nb"), (5, "2", "c"), (6, "3", "")]
