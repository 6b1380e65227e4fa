"""CSV as spreadsheets read and write it: UTF-8 with a byte order mark, so that Chinese survives.

They write commas, semicolons or tabs between the cells; what is read here may have any of them.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from salesllm.errors import InputError
from salesllm.files import atomic_open, read_jsonl, read_lines

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula; an apostrophe before it says text."""

_DELIMITERS = (",", ";", "\t")
_LONGEST_CELL = 2**31 - 1


def find_delimiter(path: str | Path, columns: Collection[str]) -> str:
    """What stands between the cells: that by which the first line names most of these columns.

    Raises:
        InputError: The file is missing, empty or not UTF-8.
    """
    _, first = next(read_lines(path))
    wanted = {name.casefold() for name in columns}

    def named(delimiter: str) -> int:
        return len(wanted & {name.strip('" \n').casefold() for name in first.split(delimiter)})

    return max(_DELIMITERS, key=named)


def csv_rows(path: str | Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yields (1-based line on which it begins, cells) of every row with text, the header first.

    Raises:
        InputError: A quote is broken, or the file is not UTF-8.
    """
    csv.field_size_limit(_LONGEST_CELL)
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            fix = "Close every quote; a quote inside a quoted cell is doubled"
            raise InputError(f"not CSV: {error}", path=path, line=line, fix=fix) from None
        except UnicodeDecodeError as error:
            problem = f"not UTF-8: {error.reason}"
            raise InputError(problem, path=path, line=line, fix="Save it as UTF-8") from None


def read_sheet(path: str | Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (1-based line on which the row begins, its cells without blanks around them).

    Args:
        columns: Must be there, in small or capital letters; any other column goes along, its name
            in small letters. Rows without any text are passed over.

    Raises:
        InputError: The file is missing, empty, not UTF-8, has no such column or one of them twice,
            or a row with more cells than the header.
    """
    rows = csv_rows(path, find_delimiter(path, columns))
    line, names = next(rows, (1, []))
    header = [name.strip().casefold() for name in names]
    for name in columns:
        if header.count(name) != 1:
            problem = "is there twice" if name in header else "there is no such column"
            fix = f"Name the columns {', '.join(columns)} in the first line"
            raise InputError(problem, path=path, line=line, field=name, fix=fix)
    for line, cells in rows:
        if len(cells) > len(header):
            problem = f"the row has {len(cells)} cells, the header {len(header)}"
            fix = "Put texts with delimiters in quotation marks"
            raise InputError(problem, path=path, line=line, fix=fix)
        texts = [_read(cell) for cell in cells] + [""] * (len(header) - len(cells))
        if any(texts):
            yield line, dict(zip(header, texts, strict=True))


def read_opinions(
    path: str | Path, columns: tuple[str, str, str], dialogues: Container[str]
) -> Iterator[tuple[int, str, str, str]]:
    """Yields (line, dialogue, person, what it said of it): what several people say of dialogues.

    Args:
        path: A sheet; or, where its name ends in `.jsonl`, one object a line.
        columns: Those of the dialogue's id, the person and what it says, which may be blank.
        dialogues: Ids that there are.

    Raises:
        InputError: Names line and field of the first row with an unknown dialogue, nobody, or a
            person that has spoken of the dialogue before.
    """
    rows = read_sheet(path, columns)
    if Path(path).suffix == ".jsonl":
        rows = ((line, _texts(row, columns, path, line)) for line, row in read_jsonl(path))
    lines: dict[tuple[str, str], int] = {}
    for line, row in rows:
        dialogue, person, said = (row[name] for name in columns)
        problem = None
        if dialogue not in dialogues:
            problem, name = f"there is no dialogue {dialogue!r}", columns[0]
            fix = "Give the file of dialogues that this is about"
        elif not person:
            problem, name, fix = "is empty", columns[1], "Say who this is from"
        elif first := lines.get((dialogue, person)):
            problem, name = f"{person!r} has a row about {dialogue!r} on line {first}", columns[1]
            fix = "Keep one of the rows"
        if problem:
            raise InputError(problem, path=path, line=line, field=name, fix=fix)
        lines[dialogue, person] = line
        yield line, dialogue, person, said


def _texts(
    row: Mapping[str, object], columns: Sequence[str], path: str | Path, line: int
) -> dict[str, str]:
    for name in columns:
        if name not in row:
            fix = f"Give every line {', '.join(columns)}"
            raise InputError("is missing", path=path, line=line, field=name, fix=fix)
    return {name: "" if row[name] is None else str(row[name]).strip() for name in columns}


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
