"""The report of a benchmark run: every row can be read, nothing a model said becomes code."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pages import Page, svgs
from run_made import CUSTOMERS, HOSTILE, SALESPEOPLE, failed, leaderboard, row, write_run

from salesllm.cli import main
from salesllm.errors import InputError
from salesllm.report import transcripts
from salesllm.report.benchmark import publish, render_benchmark, write_report
from salesllm.report.cell import FLAGS, facts, flags, marks
from salesllm.report.transcripts import as_script, cells

CALL = re.compile(r'salesllm\("(\w+)",("(?:[^"\\]|\\.)*")\)\n', re.DOTALL)


def handed_over(script: str) -> tuple[str, Any]:
    """What a part of a report hands to the page, by a reader of its own."""
    call = CALL.fullmatch(script)
    assert call is not None, "one call with two strings"
    return call[1], json.loads(json.loads(call[2]))


def read_all(report: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The index, and what stands in the chunks, as the page finds it."""
    data = report / "data"
    name, index = handed_over((data / "index.js").read_text(encoding="utf-8"))
    assert name == "index"
    found: list[dict[str, Any]] = []
    for number, start in enumerate(index["chunks"]):
        assert start == len(found), "a row is looked for in the last chunk that begins before it"
        name, chunk = handed_over((data / f"{number}.js").read_text(encoding="utf-8"))
        assert name == str(number)
        found += chunk
    assert len(list(data.iterdir())) == len(index["chunks"]) + 1
    return index, found


def identity(index: dict[str, Any], number: int) -> str:
    """The id that the page makes of a row's columns."""
    rows, scenarios = index["rows"], index["scenarios"]
    names = [index["names"][n][rows[n][number]] for n in ("salesperson", "customer")]
    repeat = rows["repeat"][number]
    scenario = scenarios["scenario_id"][rows["scenario"][number]]
    return "::".join([*names, scenario, *([] if repeat is None else [str(repeat)])])


def test_every_row_can_be_reached_and_filtered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "CHUNK", 3000)
    grid = itertools.product(CUSTOMERS, SALESPEOPLE, range(20))
    rows = [
        (failed if number % 7 == 3 else row)(number, salesperson=who, customer=customer)
        for customer, who, number in grid
    ]
    said = {each["id"]: (f"What of {each['id']}?", "This.", "…") for each in rows}
    write_report(write_run(tmp_path, rows, said))
    index, found = read_all(tmp_path / "report")
    assert len(index["chunks"]) > 5
    assert len(found) == len(rows)
    for number, (each, there) in enumerate(zip(rows, found, strict=True)):
        assert identity(index, number) == each["id"]
        if each["failed"]:
            assert there["turns"] is None
            assert ["Error", "HTTP 500"] in there["facts"]
        else:
            assert there["turns"][0] == ["c", f"What of {each['id']}?"]
            assert [speaker for speaker, _ in there["turns"]] == ["c", "s", "c"]
        columns = index["rows"]
        scenario = columns["scenario"][number]
        for key in ("product_id", "language", "domain", "category", "difficulty"):
            assert index["scenarios"][key][scenario] == each[key]
        assert index["names"]["termination"][columns["termination"][number]] == each["termination"]
        for key in ("buying", "selling", "final", "turns"):
            assert columns[key][number] == each[key]
        assert columns["flags"][number] == (1 << list(FLAGS).index("unscored")) * each["failed"]
    assert index["flags"] == FLAGS


def test_what_a_model_says_stays_data_on_the_way(tmp_path: Path) -> None:
    evil = row(0, selling_reason=HOSTILE[0], selling_evidence=[
        {"quote": HOSTILE[1], "turn": 0, "kind": HOSTILE[0]}], product_id=HOSTILE[1])  # fmt: skip
    summary = {"notes": [HOSTILE[0]], "leaderboard": leaderboard()}
    write_report(write_run(tmp_path, [evil], {evil["id"]: HOSTILE}, **summary))
    index, (there,) = read_all(tmp_path / "report")
    assert [text for _, text in there["turns"]] == list(HOSTILE)
    assert ["Rater's reason", HOSTILE[0]] in there["facts"]
    assert index["scenarios"]["product_id"] == [HOSTILE[1]]
    for file in (tmp_path / "report" / "data").iterdir():
        script = file.read_text(encoding="utf-8")
        assert not re.search("[<>&\u2028\u2029]", script)
    html = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert html.count("<script") == 1
    assert Page(html).text.count(HOSTILE[0]) == 1


@pytest.mark.parametrize("text", [*HOSTILE, '"', "\\", "\n\r\0", "__proto__", "'"])
def test_a_script_hands_over_exactly_its_text(text: str) -> None:
    assert handed_over(as_script("0", json.dumps([text]))) == ("0", [text])


def test_the_readers_script_never_takes_text_for_markup() -> None:
    folder = Path(transcripts.__file__).with_name("templates")
    script = (folder / "reader.js").read_text(encoding="utf-8")
    never = r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|DOMParser|srcdoc"
    assert not re.search(never, script)
    html = render_benchmark({"name": "", "rater": "", "alpha": 0.6}, 0)
    (policy,) = [a["content"] for _, a in Page(html).tags if a.get("http-equiv")]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self' file:"
    assert rules["require-trusted-types-for"] == "'script'"


def test_flags_marks_and_facts_of_a_row() -> None:
    told = row(
        1,
        injection=[{"turn": 3, "kind": "speaker_tag", "text": "Customer:"}],
        grounding={"unauthorised": True, "reason": "A gift.", "concessions": [
            {"turn": 1, "quote": "a free mug", "kind": "gift", "by": "numbers"}]},
        cleaned={"salesperson": {"reasoning": 2, "role_tag": 0}, "customer": {"role_tag": 0}},
        guard={"drafts": 3, "flagged": 1, "turns": 2, "kept_flagged": 0},
        cut_replies=1,
        judges={"one": 7, "two": None},
        intent={"label": "buy", "probabilities": {"buy": 0.6, "not": 0.4}},
        selling_evidence=[{"quote": "I'll take it", "turn": 2, "kind": "next_step"},
                          {"quote": "never said", "turn": None, "kind": None}],
        usage={"judge": {"prompt_tokens": 1200, "completion_tokens": 9}},
        cost={"judge": 0.01, "customer": None},
        unscored={"grounding": "no answer"},
    )  # fmt: skip
    assert set(flags(told)) == set(FLAGS)
    assert marks(told) == [
        (1, "concession", "a free mug", "concession: gift (by numbers)"),
        (2, "evidence", "I'll take it", "evidence: next step"),
        (3, "injection", "Customer:", "injected: speaker tag"),
        (None, "evidence", "never said", "evidence"),
    ]
    assert dict(facts(told)) == {
        "Final": "5.20",
        "Buying": "6.00, bought, label buy (buy 60.0%, not 40.0%)",
        "Selling": "4 (one 7, two unscored)",
        "Rater's reason": "It went well.",
        "Grounding": "an unauthorised concession: A gift.",
        "Unscored": "grounding: no answer",
        "Cleaned": "salesperson: reasoning 2",
        "Guard": "1 of 3 drafts for 2 turns flagged, 0 kept",
        "Cut-off replies": "1",
        "Propensity": "0.5",
        "Tokens": "judge 1,200 in, 9 out, $0.0100",
    }
    assert not set(flags(row()))
    assert not marks(row())


def test_rows_and_dialogues_are_read_one_by_one(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [row(0), row(1), row(2)])
    with (folder / "scores.jsonl").open("a") as scores:
        scores.write("not JSON\n")
    read = cells(folder)
    assert [next(read)[0]["id"] for _ in range(3)] == [row(n)["id"] for n in range(3)]
    with pytest.raises(InputError, match=r"scores\.jsonl:4"):
        next(read)


def test_a_dialogue_without_its_row_is_refused_and_the_old_report_stays(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [row(0), row(1)])
    page = write_report(folder)
    before = page.read_bytes()
    write_run(folder, [row(1), row(0)])
    shutil.copy(folder / "scores.jsonl", tmp_path / "swapped")
    write_run(folder, [row(0), row(1)])
    (tmp_path / "swapped").replace(folder / "scores.jsonl")
    with pytest.raises(InputError, match="has no row in"):
        write_report(folder)
    assert page.read_bytes() == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_new_report_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    page = write_report(write_run(tmp_path, [row(0)]))
    (page.parent / "left.over").touch()
    write_report(write_run(tmp_path, [row(0), row(1)]))
    assert len(read_all(tmp_path / "report")[1]) == 2
    assert not (page.parent / "left.over").exists()


def test_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        publish(tmp_path)
    write_run(tmp_path, [{"id": "x", "failed": True}])
    with pytest.raises(InputError, match=r"scores.jsonl:1: field `scenario_id`: is missing"):
        publish(tmp_path)


def test_all_of_a_run_is_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_run(tmp_path, [failed(0)], leaderboard=leaderboard())
    main(["report", str(folder)])
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    names = [str(path.relative_to(folder)) for path in written]
    assert names == ["table10.md", "table10.tex", "table10.csv", "report/index.html"]
    assert all(path.is_file() for path in written)


def test_an_older_run_gets_what_there_is(tmp_path: Path) -> None:
    mean = {"mean": 4.25, "low": 4.0, "high": 4.5, "n": 9, "unscored": 1}
    figures = {"buying": mean, "selling": mean | {"mean": 3.5}, "final": {"mean": None, "n": 0}}
    old = {"results": {"C": {"GPT-4o": {"overall": figures, "zh": figures}}},
           "terminations": {"customer_ended": 1}, "notes": ["Old."]}  # fmt: skip
    keys = ("id", "salesperson", "customer", "scenario_id", "termination", "language", "failed")
    before = {key: row()[key] for key in keys} | {"id": "C::GPT-4o::s0"}
    (page,) = publish(write_run(tmp_path, [before], **old))
    html = re.sub("<(small|td)>", r" <\1>", page.read_text(encoding="utf-8"))
    words = Page(html).words
    assert "4.25 4.00–4.50 1 unscored 3.50" in words
    assert "customer ended 1" in words
    assert "Leaderboard" not in words
    index, (there,) = read_all(page.parent)
    assert identity(index, 0) == "C::GPT-4o::s0"
    assert len(there["turns"]) == 4


def test_the_page_shows_the_leaderboard_without_a_script() -> None:
    html = render_benchmark(
        {"name": "R & R", "rater": "judge", "alpha": 0.5, "leaderboard": leaderboard(),
         "terminations": {"error": 3},
         "unscored": {"selling": {"no score in 3 answers": 7}},
         "usage": {"judge": {"j": {"prompt_tokens": 9000, "completion_tokens": 1}}},
         "cost": {"judge": {"j": 2.5}}},
        1234,
    )  # fmt: skip
    page = Page(html.replace("<small>", " <small>"))
    assert not page.open
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert links <= {f"#{name}" for name in ids}
    for words in (
        "R & R", "1,234", "6.30 6.10–6.50", "5.85", "10 of 10", "0 of 10", "10.0% [5.0–20.0]",
        "2 (1–2)", "+0.85*", "−0.85*", "6.5", "0.750", "40.0% 20.0–80.0",
        "The paper's Table 10", "The results table in the authors' repository", "7.14",
        "Unscored, selling: 7, no score in 3 answers.", "Best with GPT-4o 6.30 vendor/A_1, rank 1",
        "Judge j: 9,000 tokens in, 1 out, $2.50.",
    ):  # fmt: skip
        assert words in page.words, words
    charts = [chart for chart in svgs(html) if 'role="img"' in chart]
    assert len(charts) == 2 * (1 + 1 + 1 + 3), "ranking, weights, buy rate, length of each"
    labelled = {"label", "select", "input", "button"}
    assert labelled <= {tag for tag, _ in page.tags}
