"""Numbers and units across Chinese and English: golden cases both ways, and numbers at random."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.quantities.numerals_en import english
from salesllm.quantities.numerals_zh import chinese
from salesllm.quantities.quantity import Quantity, disagreements
from salesllm.scenarios.products import money


def compare(zh: str, en: str) -> list[str]:
    return disagreements([*chinese(zh)], [*english(en)])


def firm(found: list[Quantity]) -> list[tuple[tuple[float, ...], str]]:
    return [(q.values, q.unit) for q in found if not q.loose]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("年利率2.5%，5万元起，三年期", [(2.5, "%"), (50_000, "CNY"), (3, "year")]),
        ("百分之三点五", [(3.5, "%")]),
        ("千分之三", [(0.3, "%")]),
        ("2.5万", [(25_000, "")]),
        ("1.2万亿元", [(1.2e12, "CNY")]),
        ("一年期", [(1, "year")]),
        ("二十次", [(20, "")]),
        ("二十四小时", [(24, "hour")]),
        ("两三百位", [(200, ""), (300, "")]),
        ("十七八岁", [(17, "year"), (18, "year")]),
        ("三到五天", [(5, "day")]),
        ("一千四百来位买家，平均4.6", [(1400, ""), (4.6, "")]),
        ("一万一千来位", [(11_000, "")]),
        ("两千五百零五个", [(2505, "")]),
        ("一百零五元", [(105, "CNY")]),
        ("一年半", [(1.5, "year")]),
        ("两个半小时", [(2.5, "hour")]),
        ("二〇二五年", [(2025, "year")]),
        ("20瓦，3千克，8万美元", [(20, "w"), (3, "kg"), (80_000, "USD")]),
        ("５０００元", [(5000, "CNY")]),
        ("R1（低风险）", [(1, "code r")]),
        ("一直一般都一样，万一四处都没有，周三再说，十分好，第二年", []),
        ("另一半，一半股份，几百家，上千条", []),
    ],
)  # fmt: skip
def test_chinese_numbers(text: str, expected: list[tuple[float, str]]) -> None:
    assert firm([*chinese(text)]) == [((value,), unit) for value, unit in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.5% a year, from ¥50,000, a 3-year term", [(2.5, "%"), (50_000, "CNY"), (3, "year")]),
        ("1.5 million", [(1.5e6, "")]),
        ("50k yuan", [(50_000, "CNY")]),
        ("two hundred and fifty shares", [(250, "")]),
        ("two thousand five hundred buyers", [(2500, "")]),
        ("twenty-five years", [(25, "year")]),
        ("a year and a half", [(1.5, "year")]),
        ("two and a half hours", [(2.5, "hour")]),
        ("three in a hundred sites", [(3, "%")]),
        ("HK$8,000 or S$1,500", [(8000, "HKD"), (1500, "SGD")]),
        ("within 7 working days", [(7, "day")]),
        ("R1, 4K", [(1, "code r"), (4, "")]),
        ("2-megapixel", [(2e6, "")]),
        ("one day a first customer came twice, a hundred times over", [(100, "")]),
        ("$14.12 a share", [(14.12, "$")]),
    ],
)
def test_english_numbers(text: str, expected: list[tuple[float, str]]) -> None:
    assert firm([*english(text)]) == [((value,), unit) for value, unit in expected]


@pytest.mark.parametrize(
    ("zh", "en"),
    [
        ("5万元起存", "from ¥50,000"),
        ("2.5万英镑", "£25,000"),
        ("约150万条评价", "about 1.5 million reviews"),
        ("一年期，年利率1.8%", "1-year term at 1.8% a year"),
        ("一年期", "a term of one year"),
        ("18个月", "a year and a half"),
        ("一年半", "18 months"),
        ("半年一次", "every six months"),
        ("每季度付息", "interest every three months"),
        ("经过二十次测试", "tested twenty times"),
        ("打八折", "20% off"),
        ("八五折", "at 85% of the price"),
        ("便宜一成", "a tenth cheaper"),
        ("三成首付", "30% down"),
        ("约八成", "about four fifths"),
        ("三分之一", "a third"),
        ("两三天送到", "arrives in two to three days"),
        ("18-24岁", "18-24"),
        ("25至34岁", "aged 25 to 34"),
        ("2025年3月1日起", "from March 1, 2025"),
        ("2026年11月30日", "30 November 2026"),
        ("风险等级R2", "risk level R2"),
        ("3斤装", "a 1.5 kg pack"),
        ("两个朋友", "both friends"),
        ("8万美元", "$80,000"),
        ("8万港元", "HK$80,000"),
        ("24小时发货", "ships within a day, 24 hours"),
        ("5号电池两节", "two AA batteries"),
        ("第二年会涨吗", "does it rise the year after"),
        ("说话直奔主题，一点不绕", "comes straight to the point"),
        ("10点半开门", "opens at 10:30"),
        ("十点半开门", "opens at half past ten"),
        ("她二十多岁", "in her mid-twenties"),
        ("3000到5000元", "¥3,000-5,000"),
        ("切成20块", "cut into 20 pieces"),
    ],
)
def test_what_says_the_same_agrees(zh: str, en: str) -> None:
    assert compare(zh, en) == []


@pytest.mark.parametrize(
    ("zh", "en", "problems"),
    [
        ("5万元", "¥5,000", ["5万元 is lost", "¥5,000 is new"]),
        ("5万元", "$50,000", ["5万元 is lost", "$50,000 is new"]),
        ("8万港元", "S$80,000", ["8万港元 is lost", "S$80,000 is new"]),
        ("三年期", "3-month term", ["三年期 is lost", "3 month is new"]),
        ("一年期", "two-year term", ["一年期 is lost", "two year is new"]),
        ("一年质保", "3-year warranty", ["3 year is new"]),
        ("利率2.5%", "a good rate", ["2.5% is lost"]),
        ("质保两年", "a warranty, rated 4.8", ["4.8 is new"]),
        ("最多六成", "at most 40%", ["六成 is lost", "40% is new"]),
        ("R1", "R2", ["R1 is lost", "R2 is new"]),
        ("30天退，15天换", "returns in 15 days, exchange in 15 days", ["30天 is lost"]),
        ("二十次", "twelve times", ["二十次 is lost"]),
        ("1公斤", "1 g", ["1公斤 is lost", "1 g is new"]),
        ("起存5万元", "From 50,000", ["5万元 is lost", "50,000 is new"]),
        ("10点半", "10:15", ["15 is new"]),
        ("二十多岁", "in her thirties", ["二十多岁 is lost"]),
    ],
)
def test_what_says_something_else_does_not(zh: str, en: str, problems: list[str]) -> None:
    assert compare(zh, en) == problems


_ZH = "零一二三四五六七八九"


def spelled(n: int) -> str:
    """A number below ten thousand in Chinese characters."""
    text, gap = "", False
    for place, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = n // place % 10
        if digit:
            text += ("零" if gap and text else "") + _ZH[digit] + unit
            gap = False
        else:
            gap = True
    return text


@given(st.integers(21, 9999), st.integers(21, 9999))
def test_a_spelled_number_is_its_figure_and_no_other(n: int, other: int) -> None:
    zh = f"一共{spelled(n)}件"
    assert compare(zh, f"{n:,} pieces in all") == []
    assert bool(compare(zh, f"{other} pieces in all")) == (n != other)


@given(st.integers(1, 99_999).map(lambda n: n * 100), st.sampled_from(["cn", "hk", "us", "uk"]))
def test_money_agrees_in_both_of_our_forms(value: int, market: str) -> None:
    assert compare(money(value, market, "zh"), money(value, market, "en")) == []
    assert compare(money(value, market, "zh"), money(value + 100, market, "en"))


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert all(q.text in text or q.text for q in [*chinese(text), *english(text)])
