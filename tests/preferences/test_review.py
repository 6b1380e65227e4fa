"""Decisions about pairs: at a terminal, and by way of a spreadsheet."""

from __future__ import annotations

import csv
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pairs_made import pair
from rich.console import Console

from salesllm.errors import InputError
from salesllm.preferences.decisions import (
    COLUMNS,
    Decision,
    Decisions,
    decided,
    export_sheet,
    import_sheet,
)
from salesllm.preferences.review import Terminal, review

ROOT = Path(__file__).parents[2]
PAIRS = [pair(number) for number in range(4)]


class Keys:
    """A person whose keys and edits are known beforehand."""

    def __init__(self, keys: str, *edits: str) -> None:
        self.keys, self.edits = iter(keys), iter(edits)

    def key(self) -> str:
        return next(self.keys, "")

    def edit(self, text: str) -> str:
        return next(self.edits)


@pytest.fixture
def decisions(tmp_path: Path) -> Iterator[Decisions]:
    with Decisions(tmp_path / "decisions.jsonl") as opened:
        yield opened


def go(decisions: Decisions, keys: str, *edits: str) -> str:
    """Reviews with these keys and returns what was on the screen."""
    console = Console(width=80, record=True, quiet=False, file=open(os.devnull, "w"))  # noqa: SIM115
    review(PAIRS, decisions, Keys(keys, *edits), console)
    return console.export_text()


def choices(decisions: Decisions) -> list[str | None]:
    found = [decisions.get(p) for p in PAIRS]
    return [decision.choice if decision else None for decision in found]


def test_one_key_a_decision(decisions: Decisions) -> None:
    shown = go(decisions, "aresq", "well, I'd pay 2")
    assert choices(decisions) == ["accept", "reject", "edit", None]
    assert decisions.get(PAIRS[2]) == Decision("edit", "well, I'd pay 2")
    assert "1 accept, 1 edit, 1 reject, 1 open" in shown
    for part in ("Salesperson: Very. Shall I reserve it?", PAIRS[0].chosen, PAIRS[0].rejected,
                 "in role, 8/10: bargains", "inverted, 1/10: offers", "1 of 4"):  # fmt: skip
        assert part in shown


def test_back_goes_to_the_one_before_and_may_change_it(decisions: Decisions) -> None:
    shown = go(decisions, "bsabrq")
    assert "This is the first one." in shown
    assert "So far: accept" in shown
    assert choices(decisions) == [None, "reject", None, None]


def test_only_open_pairs_are_shown_and_other_keys_explain(decisions: Decisions) -> None:
    go(decisions, "a")
    shown = go(decisions, "xr")
    assert "1 of 4" not in shown
    assert "2 of 4" in shown
    assert choices(decisions)[:2] == ["accept", "reject"]


def test_an_edit_that_cannot_be_is_refused_and_asked_again(decisions: Decisions) -> None:
    shown = go(decisions, "eeea", " ", PAIRS[0].rejected.upper(), "so [END] what")
    for problem in ("is empty", "says the same as the rejected", "has [END] in its middle"):
        assert problem in shown
    assert choices(decisions) == ["accept", None, None, None]


def test_every_key_is_on_the_disk_at_once(tmp_path: Path, decisions: Decisions) -> None:
    path = tmp_path / "decisions.jsonl"
    sizes = []

    class Watching(Keys):
        def key(self) -> str:
            sizes.append(len(path.read_bytes().splitlines()))
            return super().key()

    review(PAIRS, decisions, Watching("arar"), Console(quiet=True))
    assert sizes == [1, 2, 3, 4]  # the header first


def test_a_decision_belongs_to_the_words_of_its_pair(decisions: Decisions) -> None:
    decisions.put(PAIRS[0], decided(PAIRS[0], "accept", PAIRS[0].chosen))
    assert decisions.get(PAIRS[0].model_copy(update={"chosen": "other words"})) is None
    assert decisions.counts(PAIRS) == {"accept": 1, "edit": 0, "reject": 0, "open": 3}
    decisions.put(PAIRS[0], None)
    assert decisions.counts(PAIRS)["open"] == 4


def test_no_terminal_is_said_politely() -> None:
    with open(os.devnull) as nothing, pytest.raises(InputError, match="needs a terminal"):
        Terminal(nothing, nothing)


# Run in a terminal of its own: a review of two pairs with the real keyboard.
_SCRIPT = """
import sys
from pathlib import Path
from rich.console import Console
from pairs_made import pair
from salesllm.preferences.decisions import Decisions
from salesllm.preferences.review import Terminal, review
with Decisions(Path(sys.argv[1])) as decisions:
    review([pair(n) for n in range(4)], decisions, Terminal(), Console())
"""


def test_a_real_terminal_killed_and_resumed(tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho "from the editor" > "$1"\n')
    editor.chmod(0o755)
    path = tmp_path / "decisions.jsonl"
    environment = {k: v for k, v in os.environ.items() if k != "VISUAL"}
    tests = str(Path(__file__).parents[1])
    environment |= {"EDITOR": str(editor), "TERM": "dumb", "PYTHONPATH": tests}
    ours, theirs = pty.openpty()
    seen = ""

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _SCRIPT, str(path)]
        ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        return subprocess.Popen(command, env=environment, start_new_session=True, **ends)

    def until(text: str) -> None:
        """Waits for it to be shown, beyond what has been waited for before."""
        nonlocal seen
        while text not in seen:
            ready, _, _ = select.select([ours], [], [], 20)
            assert ready, seen
            seen += os.read(ours, 4096).decode(errors="ignore")
        seen = seen.partition(text)[2]

    process = start()
    until("[q]uit")
    os.write(ours, b"\x1b[A")  # an arrow up, whose code ends in A
    for key, number in ((b"a", 2), (b"e", 3)):
        until("[q]uit")
        os.write(ours, key)
        until(f"{number} of 4")
    process.kill()
    process.wait(20)
    process = start()
    until("3 of 4")
    os.write(ours, b"r")
    until("4 of 4")
    os.write(ours, b"q")
    until("1 accept, 1 edit, 1 reject, 1 open")
    assert process.wait(20) == 0
    with Decisions(path) as decisions:
        assert choices(decisions) == ["accept", "edit", "reject", None]
        assert decisions.get(PAIRS[1]) == Decision("edit", "from the editor")


def edit_sheet(path: Path, **cells: dict[int, str]) -> None:
    """Fills in columns by row number, as somebody with a spreadsheet would."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for column, texts in cells.items():
        for row, text in texts.items():
            rows[row][column] = text
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def test_there_and_back_by_spreadsheet(tmp_path: Path, decisions: Decisions) -> None:
    chinese = pair(7, language="zh", chosen="=便宜点，行不", rejected="我给您打个折")
    pairs = [*PAIRS, chinese]
    path = tmp_path / "pairs.csv"
    export_sheet(path, pairs, decisions)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    header, *_ = path.read_text(encoding="utf-8-sig").splitlines()
    assert header.startswith(",".join(COLUMNS))
    assert "'=便宜点，行不" in path.read_text(encoding="utf-8")  # no formula
    edit_sheet(
        path,
        decision={0: "Accept", 1: "reject", 2: "accept", 4: "accept"},
        chosen={2: "two dollars, then? [END]"},
        comment={1: "太假"},
    )
    assert import_sheet(path, pairs, decisions) == 4
    assert choices(decisions) == ["accept", "reject", "edit", None]
    assert decisions.get(PAIRS[1]) == Decision("reject", PAIRS[1].chosen, "太假")
    assert decisions.get(PAIRS[2]) == Decision("edit", "two dollars, then? [END]")
    assert decisions.get(chinese) == Decision("accept", "=便宜点，行不")

    again = tmp_path / "again.csv"
    export_sheet(again, pairs, decisions)
    before = (tmp_path / "decisions.jsonl").read_bytes()
    assert import_sheet(again, pairs, decisions) == 4
    assert (tmp_path / "decisions.jsonl").read_bytes() == before


def test_a_sheet_without_comments_leaves_those_there_are(
    tmp_path: Path, decisions: Decisions
) -> None:
    decisions.put(PAIRS[0], Decision("accept", PAIRS[0].chosen, "natural"))
    path = tmp_path / "pairs.csv"
    rows = [f'{pair.id};reject;"{pair.chosen}"' for pair in PAIRS[:2]]
    path.write_text("\n".join(["ID;Decision;Chosen", *rows]), encoding="utf-8")
    assert import_sheet(path, PAIRS, decisions) == 2
    assert decisions.get(PAIRS[0]) == Decision("reject", PAIRS[0].chosen, "natural")
    assert decisions.get(PAIRS[1]) == Decision("reject", PAIRS[1].chosen)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"decision": {2: "perhaps"}}, r":6: field `decision`: unknown decision 'perhaps'"),
        ({"id": {2: "beef"}}, r":6: field `id`: there is no pair 'beef'"),
        ({"id": {2: PAIRS[0].id}}, r":6: field `id`: .* is already on line 2"),
        ({"chosen": {2: " "}}, r":6: field `chosen`: is empty"),
        ({"chosen": {2: PAIRS[2].rejected}}, r":6: field `chosen`: says the same as the rejected"),
        ({"decision": {1: "no", 3: "nope"}}, r":4: .*'no' \(bad rows also on line 8"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_and_nothing_taken_over(
    tmp_path: Path, decisions: Decisions, cells: dict[str, dict[int, str]], said: str
) -> None:
    path = tmp_path / "pairs.csv"
    export_sheet(path, PAIRS, decisions)
    edit_sheet(path, decision=dict.fromkeys(range(4), "accept"))
    edit_sheet(path, **cells)  # a context takes two lines
    with pytest.raises(InputError, match=rf"pairs\.csv{said}"):
        import_sheet(path, PAIRS, decisions)
    assert choices(decisions) == [None] * 4


def test_the_script_reviews_by_spreadsheet_and_says_what_comes_next(
    values: dict[str, object], tmp_path: Path
) -> None:
    config, sheet = tmp_path / "recipe.yaml", tmp_path / "pairs.csv"
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    script = str(ROOT / "data_prep" / "preferences.py")

    def call(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, script, "--config", str(config), *options]
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    run = call()
    assert run.returncode == 0, run.stderr
    assert "Next: --stage review, or --export_csv FILE" in run.stdout
    refused = call("--stage", "review")
    assert refused.returncode == 2
    assert "field `stage`: a review needs a terminal. Run it in one, or use" in refused.stderr
    assert call("--export_csv", str(sheet)).returncode == 0
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        count = len(list(csv.reader(file))) - 1
    edit_sheet(sheet, decision=dict.fromkeys(range(count), "accept"))
    filled = sheet.read_bytes()
    again = call("--export_csv", str(sheet))
    assert f"{sheet}: field `export_csv`: the file exists" in again.stderr
    staged = call("--stage", "export", "--import_csv", str(sheet))
    assert "field `stage`: a sheet is written and read by a command without" in staged.stderr
    assert sheet.read_bytes() == filled
    taken = call("--import_csv", str(sheet), "--export_csv", str(sheet))
    assert f"{count} decisions taken over" in taken.stdout
    assert "Next: --stage export" in taken.stdout
    assert f"train.jsonl: {count} pairs" in call().stdout
    mining = call("--method", "mine", "--stage", "judge")
    assert "the command line: field `output_dir`" in mining.stderr or mining.returncode == 2
    unknown = call("--method", "magic")
    assert "field `method`: unknown value 'magic'. Write mine or rollout" in unknown.stderr
