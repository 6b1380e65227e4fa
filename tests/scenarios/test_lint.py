"""The linter: quiet on what is right, and every planted fault named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salesllm.cli import main
from salesllm.dialogue import Language, Speaker
from salesllm.errors import InputError
from salesllm.files import read_json, write_jsonl, write_text
from salesllm.scenario import Difficulty, Domain, Scenario
from salesllm.scenarios.authors import load_scenarios
from salesllm.scenarios.lint import Finding, lint
from salesllm.scenarios.lint.fields import BANDS, PLACEHOLDER
from salesllm.scenarios.lint.openers import stranger
from salesllm.scenarios.space import draw_space

ROWS = Path(__file__).parent / "authors_rows.jsonl"
GOLDEN = read_json(Path(__file__).parent / "lint_golden.json")
COUNTS: dict[Domain, dict[str, int]] = {
    "consumer": {"Appliances": 20, "Pet_Supplies": 20, "Software": 20, "Books": 20},
    "financial": {"insurance": 20, "stocks": 20},
}


@pytest.fixture(scope="module", params=["zh", "en"])
def drawn(request: pytest.FixtureRequest) -> list[Scenario]:
    language: Language = request.param
    space = draw_space(COUNTS, 150, language=language, seed=3)
    return [draft.scenario(language) for draft in space.scenarios]


def found(
    tmp_path: Path, rows: list[dict[str, Any]], language: Language | None = None
) -> list[Finding]:
    write_jsonl(tmp_path / "rows.jsonl", rows)
    return list(lint(tmp_path / "rows.jsonl", language).findings)


def test_what_we_draw_is_clean(drawn: list[Scenario], tmp_path: Path) -> None:
    assert found(tmp_path, [s.model_dump(mode="json") for s in drawn]) == []


PLAIN: dict[Language, str] = {
    "en": """{"id": "en-N", "language": "en",
        "product": {"id": "pN", "domain": "consumer", "category": "Kitchen",
            "name": "Halo WORD kettle", "price": "$N0.50",
            "facts": {"Capacity": "1.7 litres, enough for seven mugs"},
            "selling_points": ["boils a litre in three minutes"],
            "channel": "the brand's online store"},
        "persona": {"id": "uN", "age_group": "30-39", "gender": "female",
            "occupation": "WORD nurse", "city": "Leeds"},
        "difficulty": "medium", "propensity": 0.5,
        "attributes": {"motivations": "Tea before the WORD night shift at N.",
            "pain_points": "The old one from WORD leaks at its WORD seam.",
            "decision_factors": ["core_quality"],
            "communication_preferences": "Short WORD answers, please.",
            "initial_utterance": "Hi, is the kettle any good?"}}""",
    "zh": """{"id": "zh-N", "language": "zh",
        "product": {"id": "pN", "domain": "consumer", "category": "厨房",
            "name": "晨光WORD电热水壶", "price": "N9元", "facts": {"容量": "1.7升"},
            "selling_points": ["三分钟烧开一壶水，烧好自动断电"], "channel": "品牌官方网店"},
        "persona": {"id": "uN", "age_group": "30多岁", "gender": "女",
            "occupation": "WORD护士", "city": "苏州"},
        "difficulty": "medium", "propensity": 0.5,
        "attributes": {"motivations": "上夜班前想喝口热的，WORD天天如此。",
            "pain_points": "旧的那个WORD漏水了，WORD也修不好。",
            "decision_factors": ["core_quality"],
            "communication_preferences": "别啰嗦，WORD最好。",
            "initial_utterance": "你好，这个水壶好用吗？"}}""",
}


def plain(n: int, language: Language = "en") -> dict[str, Any]:
    """A scenario without a fault or scripts; no two are alike."""
    word = chr(0x4E10 + 7 * n) + chr(0x5E10 + 11 * n) if language == "zh" else f"{n % 10}th{n}er"
    text = PLAIN[language].replace("WORD", word).replace("N", str(n + 1))
    return dict(json.loads(text)) | {"id": f"{language}-{n}"}


def changed(row: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The row with fields set by their dotted names; null removes one."""
    for dotted, value in change.items():
        *path, last = dotted.split(".")
        record = row
        for name in path:
            record = record[name]
        record[last] = value
        if value is None:
            del record[last]
    return row


def test_every_planted_fault_is_named_with_its_line(tmp_path: Path) -> None:
    faults = GOLDEN["faults"]
    rows = [plain(0), plain(0, "zh")]
    rows += [changed(plain(n, f["language"]), f["change"]) for n, f in enumerate(faults, 1)]
    rows.append(plain(99) | {part: plain(0)[part] for part in ("attributes", "persona")})
    path = tmp_path / "rows.jsonl"
    write_text(path, "".join(f"{json.dumps(row)}\n" for row in rows) + '{"id": \n')
    expected = [(line, f["rule"], f["field"]) for line, f in enumerate(faults, 3)]
    expected += [(len(rows), "near-duplicate", ""), (len(rows) + 1, "unreadable", "")]
    assert [(f.line, f.rule, f.field) for f in lint(path).findings] == expected


@pytest.mark.parametrize("case", GOLDEN["let_pass"], ids=lambda case: json.dumps(case["change"]))
def test_what_only_looks_like_a_fault_is_let_pass(tmp_path: Path, case: dict[str, Any]) -> None:
    row = changed(plain(1, case["language"]), case["change"])
    assert found(tmp_path, [row]) == []


def test_an_opener_is_not_held_against_a_product_in_another_language(tmp_path: Path) -> None:
    change = {
        "product.name": "Ohm Slim Power Bank",
        "product.facts": {"Use": "It charges a phone about twice"},
        "product.selling_points": ["small and light enough for any pocket"],
        "attributes.initial_utterance": "你好，这个充电宝能充几次？",
    }
    findings = found(tmp_path, [changed(plain(1, "zh"), change)])
    assert {finding.rule for finding in findings} == {"language-mismatch"}


def test_bands_hold_table_1_and_the_released_ranges() -> None:
    released = {"easy": (0.8, 1), "medium": (0.5, 0.7), "hard": (0.2, 0.4), "very_hard": (0, 0.1)}
    for difficulty, (low, high) in BANDS.items():
        assert low <= Difficulty(difficulty).propensity <= high
        least, most = released.get(difficulty, (low, high))
        assert low <= least <= most <= high


def test_openers_of_other_things_are_seen_and_their_own_are_not(drawn: list[Scenario]) -> None:
    others = drawn[1:] + drawn[:1]
    pairs = [
        (s, o)
        for s, o in zip(drawn, others, strict=True)
        if s.product.category != o.product.category
    ]
    asked = [stranger(o.attributes.initial_utterance, s.product, s.language) for s, o in pairs]
    assert sum(thing is not None for thing in asked) >= 0.98 * len(pairs) > 60
    for scenario in drawn:
        opener = scenario.attributes.initial_utterance
        assert stranger(opener, scenario.product, scenario.language) is None


def test_the_faults_of_released_rows() -> None:
    wrong = "user_system_prompt"
    assert [(f.line, f.rule, f.field) for f in lint(ROWS).findings] == [
        (2, "language-mismatch", "language"),
        (3, "missing-product", "assistant_system_prompt"),
        (4, "missing-customer-block", wrong),
        (5, "blank-attribute", f"{wrong}.motivations"),
        (6, "difficulty-propensity", f"{wrong}.propensity"),
        (7, "difficulty-word", f"{wrong}.difficulty"),
        (8, "missing-opener", "trigger_sentence_en"),
        (9, "opener-mismatch", "trigger_sentence_en"),
        (10, "duplicate-id", "id"),
        (12, "difficulty-word", f"{wrong}.difficulty"),
        (13, "blank-attribute", f"{wrong}.motivations"),
        (14, "opener-mismatch", "trigger_sentence_zh"),
        (15, "missing-product", "assistant_system_prompt"),
        (16, "difficulty-propensity", f"{wrong}.propensity"),
    ]


def test_the_runs_language_decides() -> None:
    lines = {f.line for f in lint(ROWS, "en").findings if f.rule == "language-mismatch"}
    assert lines == {2, 11, 12, 13, 14, 15, 16}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
PIECES = (
    "- Difficulty level: ", "难度等级：", "Buy-inclination score: 1e9", "- Persona: x",
    "CUSTOMER_INFORMATION (private):", "- basic_info: {", "Basic information", "Motivation",
    "- motivations：", "Rules:", "PRODUCT_INFORMATION:", "title: ", '{"price": [1]}', "price: 9%",
)  # fmt: skip
PROMPT = st.lists(
    st.sampled_from(PIECES) | st.text(max_size=20) | JSON.map(json.dumps), max_size=12
).map("\n".join)
FIELDS = ("id", "language", "product", "attributes", "user_system_prompt",
          "assistant_system_prompt", "trigger_sentence_zh", "trigger_sentence_en")  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(
    st.dictionaries(st.sampled_from(FIELDS), PROMPT | JSON | st.sampled_from(["chinese", "en"])),
    st.sampled_from(["zh", "en"]),
)
def test_no_object_is_too_odd_for_linter_or_reader(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any], language: Language
) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.jsonl"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert lint(path, language).findings
    try:
        (scenario,) = load_scenarios(path, language)
    except InputError:
        pass
    else:
        assert 0 <= scenario.propensity <= 1
        assert scenario.scripts[Speaker.CUSTOMER] == value["user_system_prompt"]


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["lint", *map(str, arguments)])
    return int(stop.value.code or 0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, [plain(1)])
    assert run(path) == 0
    assert capsys.readouterr().out == "1 scenarios: clean\n"

    leaking = plain(2) | {"scripts": {"customer": "Be nice."}}
    write_jsonl(path, [plain(1), leaking])
    assert run(path) == 0
    assert (
        "warning: script-mismatch (1)\n  line 2, en-2: `scripts.customer`"
        in capsys.readouterr().out
    )
    assert run(path, "--strict") == 1

    capsys.readouterr()
    write_jsonl(path, [{**plain(n), "propensity": 0.9} for n in range(7)])
    assert run(path) == 1
    assert "and 2 more: --all prints them" in capsys.readouterr().out
    assert run(path, "--all") == 1
    assert capsys.readouterr().out.count("does not go with medium") == 7
    assert run(path, "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["scenarios"], report["errors"], report["rules"]) == (
        7,
        7,
        {"difficulty-propensity": 7},
    )
    assert report["findings"][0]["line"] == 1

    assert run(tmp_path / "none.jsonl") == 2
    assert "no such file" in capsys.readouterr().err
    assert run(tmp_path) == 2
    assert "a folder, not a file" in capsys.readouterr().err


def test_the_command_refuses_a_language_for_what_says_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jsonl(tmp_path / "rows.jsonl", [plain(n, "zh") for n in range(3)])
    assert run(tmp_path / "rows.jsonl", "--language", "en") == 2
    assert "say their language themselves" in capsys.readouterr().err
    assert run(ROWS, "--language", "en") == 1


@pytest.mark.parametrize("indent", [None, 1])
def test_one_list_is_one_error(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "rows.json"
    write_text(path, json.dumps([plain(0), plain(1)], indent=indent))
    with pytest.raises(InputError, match="one JSON object a line"):
        lint(path)


@pytest.mark.parametrize("piece", ["{{", "{{ a ", "{%", "[", "【", "<a", '"', " "])
def test_a_long_run_of_openings_takes_no_longer_than_its_length(piece: str) -> None:
    assert not PLACEHOLDER.search(piece * 100_000)
