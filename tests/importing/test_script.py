"""`data_prep/dialogues.py`: from a log to parts and reports, or one line that says why not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from exports import write_chats, write_csv

from salesllm.dialogue import Dialogue, Speaker, read_dialogues
from salesllm.files import read_jsonl, write_jsonl
from salesllm.scenarios.grammar import sample_dialogues
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.training.labels import read_labelled

SCRIPT = Path(__file__).parents[2] / "data_prep" / "dialogues.py"
PHONE = "13800138000"


def run(folder: Path, log: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--dialogues", log, "--output_dir", "out", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def dialogues() -> list[Dialogue]:
    return sample_dialogues(sample_scenarios("zh", 30), seed=0, split="train")


def test_a_log_becomes_parts_and_reports(tmp_path: Path) -> None:
    given = dialogues()
    write_csv(tmp_path / "log.csv", given)
    with (tmp_path / "log.csv").open("a", encoding="utf-8") as file:
        file.write("lost,bot,hi,zh,s,l,,,,\n")
        for row in (
            f"customer,我要这个，电话{PHONE}",
            "salesperson,好的，您看今天方便过来签合同吗",
        ):
            file.write("".join(f"{name},{row},zh,shop,Fund,,,,\n" for name in ("one", "two")))
    parts = ("--parts", "a=0.5", "b=0.5")
    shown = run(tmp_path, "log.csv", "--dry_run", *parts)
    assert shown.returncode == 0, shown.stderr
    assert "turns.0.text: PHONE: 我要这个，电话13********0" in shown.stdout
    assert PHONE not in shown.stdout
    assert not (tmp_path / "out").exists()

    done = run(tmp_path, "log.csv", *parts)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    records = summary["records"]
    assert records["read"] == len(given) + 3
    assert records["read"] == records["kept"] + records["rejected"] + records["duplicates"]
    assert summary["masked"] == {"PHONE": 2}
    kept = read_dialogues(out / "a.jsonl") + read_dialogues(out / "b.jsonl")
    (rejected,) = (row for _, row in read_jsonl(out / "rejected.jsonl"))
    repeated = [row["id"] for _, row in read_jsonl(out / "duplicates.jsonl")]
    assert rejected["reason"].startswith("unknown speaker 'bot'. Say who that is")
    assert {d.id for d in kept} | {*repeated, "lost"} == {d.id for d in given} | {
        "lost", "one", "two",
    }  # fmt: skip
    assert "two" in repeated
    assert len(kept) == records["kept"] == sum(summary["parts"].values())
    assert PHONE not in "".join(path.read_text(encoding="utf-8") for path in out.iterdir())
    assert summary["languages"]["zh"]["dialogues"] == len(kept)


def test_reasons_are_counted_without_their_places(tmp_path: Path) -> None:
    rows = [f"{name},customer,hi,en,s,l\n{name},Bot {PHONE},yo,en,s,l\n" for name in "abc"]
    header = "dialogue_id,speaker,text,language,source,product_line\n"
    (tmp_path / "log.csv").write_text(header + "".join(rows) + "z,customer,hi,en,s,l\n" * 2)
    done = run(tmp_path, "log.csv", "--dry_run", "--parts", "a=1")
    assert done.stdout.splitlines()[2:] == [
        "rejected 3, the first: log.csv:3: field `turns.1.speaker`: unknown speaker 'Bot [PHONE]'."
        " Say who that is, e.g. --speakers 'customer=Bot [PHONE]'.",
        "rejected 1, the first: log.csv:8: field `turns`: only the customer speaks;"
        " a dialogue needs both speakers. Remove the record.",
    ]

    good = dialogues()[0].model_dump(mode="json", exclude_defaults=True)
    rows = [json.dumps(good)] + [json.dumps(good | {"id": f"x{n}"}) for n in "12"] * 2
    (tmp_path / "log.jsonl").write_text("\n".join([*rows, "{", " {", f'{{"{PHONE}": 1}}']))
    done = run(tmp_path, "log.jsonl", "--dry_run", "--parts", "a=1")
    said = [line.partition(".jsonl:")[2] for line in done.stdout.splitlines()[2:]]
    assert said[0] == "4: field `id`: is already in log.jsonl:2. Make ids unique."
    assert said[1].startswith("6: not JSON: ")
    assert done.stdout.count("rejected 2, the first: ") == 2
    assert "None" not in done.stdout
    assert PHONE not in done.stdout


def test_chats_need_the_viewpoint(tmp_path: Path) -> None:
    write_chats(tmp_path / "log.json", dialogues(), Speaker.SALESPERSON, as_list=True)
    options = ("--format", "messages", "--parts", "a=1")
    done = run(tmp_path, "log.json", *options)
    assert (done.returncode, done.stderr) == (
        2,
        "error: field `customer_role`: is missing. Say whose messages are the customer's, e.g."
        " --customer_role user.\n",
    )
    done = run(tmp_path, "log.json", *options, "--customer_role", "user")
    assert done.returncode == 0, done.stderr
    assert {d.id for d in read_dialogues(tmp_path / "out/a.jsonl")} <= {d.id for d in dialogues()}


def test_a_label_is_kept_by_the_record_that_has_it(tmp_path: Path) -> None:
    records = [one.model_dump(mode="json", exclude_defaults=True) for one in dialogues()]
    records[0]["label"] = "buy"
    write_jsonl(tmp_path / "log.jsonl", records)
    options = ("--near_duplicates", "none", "--parts", "a=1")
    done = run(tmp_path, "log.jsonl", *options)
    assert done.returncode == 0, done.stderr
    assert f"1 of {len(records)} dialogues have a label" in done.stderr
    kept = {row["id"]: row.get("label") for _, row in read_jsonl(tmp_path / "out/a.jsonl")}
    assert kept == {record["id"]: record.get("label") for record in records}


def test_a_label_of_a_chat_is_one_of_its_own_fields(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello!"}]
    write_jsonl(tmp_path / "log.jsonl", [{"messages": chat, "label": 5}, {"messages": chat}])
    fields = ("--fields", "language=en", "source=s", "product_line=p")
    options = ("--format", "messages", "--customer_role", "user", "--parts", "a=1", *fields)
    done = run(tmp_path, "log.jsonl", *options)
    assert (done.returncode, done.stderr) == (0, "")
    (kept,) = read_dialogues(tmp_path / "out/a.jsonl")
    assert kept.context == {"label": 5}
    done = run(tmp_path, "log.jsonl", *options, "label=buy", "--output_dir", "labelled")
    assert (done.returncode, done.stderr) == (0, "")
    (labelled,) = read_labelled(tmp_path / "labelled/a.jsonl")
    assert (labelled.label, labelled.context) == ("buy", {"label": 5})


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("no.csv", None, (), "no.csv: no such file"),
        ("a.csv", "", (), "a.csv: the file is empty"),
        ("a.csv", "dialogue_id,speaker,text\n", (), "a.csv: there is no record in it"),
        ("a.csv", "x,y\n1,2\n", (), "a.csv:1: field `dialogue_id`: there is no column"),
        ("a.csv", b"\xff\xfe\x00", (), "a.csv: not UTF-8"),
        ("a.jsonl", '{"id": "d"}\n', (), "a.jsonl:1: field `language`: none of 1 records is a"),
        ("a.jsonl", "{}", ("--fields", "turns=1"), "field `fields`: unknown field 'turns'"),
        ("a.jsonl", "{}", ("--near_duplicates", "2"), "field `near_duplicates`: '2' is no thr"),
        ("a.jsonl", "{}", ("--parts", "rejected=1"), "field `parts`: 'rejected' is the name of"),
        ("a.jsonl", "{}", ("--parts", "summary=1"), "field `parts`: 'summary' is the name of"),
        ("a.jsonl", "{}", ("--parts", "../zz=1"), "field `parts`: '../zz' is no name"),
        ("a.jsonl", "{}", ("--parts", "=1"), "field `parts`: '=1' is no pair"),
        ("a.jsonl", "{}", ("--parts", "a=0.5", "a=0.5"), "field `parts`: 'a' is given twice"),
        ("a.jsonl", "{}", ("--parts", "a=half"), "field `parts`: a=half is no share"),
        ("a.csv", "{}", ("--speakers", "x"), "field `speakers`: 'x' names no speaker"),
    ],
)
def test_bad_input_is_one_line(
    name: str, content: Any, options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
    done = run(tmp_path, name, *options)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"error: {said}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
