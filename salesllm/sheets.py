"""CSV as spreadsheets read and write it: UTF-8 with a byte order mark, so that Chinese survives."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from salesllm.errors import InputError
from salesllm.files import atomic_open

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula; an apostrophe before it says text."""


def read_sheet(path: str | Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (1-based line on which the row begins, its cells without blanks around them).

    Args:
        columns: Must be there; any other column goes along. Rows without any text are passed over.

    Raises:
        InputError: The file is missing, not UTF-8, has no such column or one of them twice, or a
            row with more cells than the header.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("no such file", path=path, fix="Check the path")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            for name in columns:
                if header.count(name) != 1:
                    problem = "is there twice" if name in header else "there is no such column"
                    fix = f"Name the columns {', '.join(columns)} in the first line"
                    raise InputError(problem, path=path, line=1, field=name, fix=fix)
            line = reader.line_num + 1
            for cells in reader:
                if len(cells) > len(header):
                    problem = f"the row has {len(cells)} cells, the header {len(header)}"
                    fix = "Put texts with commas in quotation marks"
                    raise InputError(problem, path=path, line=line, fix=fix)
                texts = [_read(cell) for cell in cells] + [""] * (len(header) - len(cells))
                if any(texts):
                    yield line, dict(zip(header, texts, strict=True))
                line = reader.line_num + 1
    except UnicodeDecodeError as error:
        fix = "Save it as CSV UTF-8"
        raise InputError(f"not UTF-8: {error.reason}", path=path, fix=fix) from None
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", path=path, line=reader.line_num) from None


def write_sheet(
    path: str | Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]
) -> None:
    """Writes rows that `read_sheet` gives back, whatever a spreadsheet makes of `=1+1`."""
    with atomic_open(path) as file:
        file.write("\ufeff")
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([_write(str(row[name])) for name in columns] for row in rows)


def _write(text: str) -> str:
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text


def _read(cell: str) -> str:
    guarded = cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA)
    return (cell[1:] if guarded else cell).strip()
