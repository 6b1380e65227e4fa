"""Rules about a row's fields: what is missing, left blank, unfilled, or in the wrong place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from salesllm.dialogue import END_MARKER, Speaker
from salesllm.scenario import AUTHORS_FIELD, Difficulty, PartialScenario
from salesllm.scenarios.authors import OPENER_FIELD, SELLER_FIELD
from salesllm.scenarios.lint.language import HAN, NAME, disagrees, language_of
from salesllm.scenarios.lint.rows import Finding, Row, Severity
from salesllm.scenarios.scripts import DIFFICULTY_NAME, with_scripts

BANDS: dict[Difficulty, tuple[float, float]] = {
    Difficulty.EASY: (0.70, 1.00),
    Difficulty.MEDIUM: (0.40, 0.70),
    Difficulty.HARD: (0.15, 0.40),
    Difficulty.VERY_HARD: (0.00, 0.15),
    Difficulty.ADVERSARIAL: (0.00, 0.10),
}
"""Propensities that go with a difficulty: Table 1 and the released prompts' ranges, with room."""

_NOTHING = {"", "none", "null", "nan", "na", "undefined", "unknown", "无", "暂无", "未知", "空"}

_HTML = "a|b|br|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|small|span|strong|sub|sup|table|td|tr|u|ul"
_SLOT_ZH = (
    r"[\[【](?:[^\]】\n]{0,6}(?:名称|姓名|价格|金额|日期|城市)"
    r"|品牌|型号|产品|商品|公司|客户|数量|地址|电话)[\]】]"
)
_THING = r"name|price|brand|company|amount|number|date|city|product|customer|seller|address|phone"
PLACEHOLDER = re.compile(
    r"\{\{[^{}\n]{0,80}\}\}|\{%[^%\n]{0,80}%\}|\$?\{[A-Za-z_\u4e00-\u9fff][\w. ]*\}"
    rf"|<(?!/|(?i:(?:{_HTML})\b))[A-Za-z_\u4e00-\u9fff][\w -]{{0,30}}>"
    r"|\[(?:[Xx]+|_+|\.{3}|(?i:(?:insert|enter|your|fill in|todo)\b[^\]\n]{0,40}"
    rf"|(?:[\w' ]{{0,20}}\b)?(?:name|here|placeholder)|{_THING}))\]"
    r"|[\[【](?:请?(?:插入|填写|填入|输入|补充)[^\]】\n]{0,20}|待填|待补)[\]】]"
    rf"|(?<=[^\s。；]){_SLOT_ZH}|{_SLOT_ZH}(?m: ?(?=$|[的，。、！？]))"  # else it is a heading
    r"|(?m:(?:(?<=[:：])|^) ?[\"“]?(?:待定|待补充|(?i:to be (?:determined|confirmed)))"
    r"(?:[\"”]|[。.,]?$))"
    r"|(?<![A-Za-z0-9])XX+(?![A-Za-z0-9]|[- ](?i:large|small|long|wide|[sl]\b))"
    r"|(?<=[\u4e00-\u9fff])x{2,}|(?<![A-Za-z0-9])x{2,}(?=[\u4e00-\u9fff])"
    r"|(?<![A-Za-z0-9_])(?:TODO|TBD|FIXME)(?![A-Za-z0-9_])|(?i:lorem ipsum)|某某"
    r"|(?<!_)_{3,}|(?<![\d%])%[sd]\b"
)


def missing_product(row: Row) -> Iterator[Finding]:
    """The salesperson has nothing to sell, or no name or price for it."""
    fix = "Give the product's name, price and facts"
    if row.authors:
        if not row.authors.product_text:
            message = "the salesperson's prompt has no product information"
            yield row.found("missing-product", SELLER_FIELD, message, fix)
        return
    for name in ("name", "category", "price"):
        if not getattr(row.product, name).strip():
            yield row.found("missing-product", f"product.{name}", f"has no {name}", fix)


def missing_customer_block(row: Row) -> Iterator[Finding]:
    """Nothing says who the customer is."""
    fix = "Say who the customer is and what moves it"
    if row.authors and not (row.attributes or row.persona):
        message = "the customer's prompt has no customer information"
        yield row.found("missing-customer-block", AUTHORS_FIELD, message, fix)
    elif not row.persona.strip():
        field = f"{AUTHORS_FIELD}.basic_info" if row.authors else "persona"
        yield row.found("missing-customer-block", field, "says nothing of the customer", fix)


def blank_attribute(row: Row) -> Iterator[Finding]:
    """An attribute or a fact without a text. A fact may be `none`: there are no spare filters."""
    said = {field: re.sub(r"[\W_]+", "", text) for field, text in row.attributes.items()}
    nothing = [field for field, text in said.items() if text.lower() in _NOTHING]
    facts = row.product.facts.items()
    nothing += [f"product.facts.{label}" for label, text in facts if not text.strip()]
    for field in nothing:
        yield row.found("blank-attribute", field, "is blank", "Give it a text")


def missing_opener(row: Row) -> Iterator[Finding]:
    """A released row without an opening line in a language, or with the end marker in one."""
    for language, field in OPENER_FIELD.items() if row.authors else ():
        if field not in row.openers:
            message = "the customer has no opening line in this language"
            if row.openers:
                message += "; a run in it would open with the other's"
            needed = language == row.language or not row.openers
            fix = "Give the customer's first message"
            severity: Severity = "error" if needed else "warning"
            yield row.found("missing-opener", field, message, fix, severity)
        elif END_MARKER in row.openers[field]:
            message = f"holds the end marker {END_MARKER}"
            yield row.found("missing-opener", field, message, "Remove the marker")


def difficulty(row: Row) -> Iterator[Finding]:
    """Difficulty and propensity that disagree, or that nobody can read."""
    word = row.authors.customer.get("difficulty", "").strip() if row.authors else ""
    if row.authors:
        field = f"{AUTHORS_FIELD}.difficulty"
        known = {name.lower() for name in DIFFICULTY_NAME[row.language].values()} | set(Difficulty)
        if word.lower() not in known:
            what = f"{word!r} is no difficulty of Table 1" if word else "says no difficulty"
            message = f"{what}; it is read as {row.difficulty}"
            fix = f"Write {', '.join(Difficulty)}"
            yield row.found("difficulty-word", field, message, fix, "warning")
        if row.authors.score is None:
            field = f"{AUTHORS_FIELD}.propensity"
            message = f"says no score from 0 to 1; Table 1's {row.propensity:g} is used"
            fix = "Write the buy-inclination score"
            yield row.found("difficulty-propensity", field, message, fix, "warning")
    low, high = BANDS[row.difficulty]
    if not low <= row.propensity <= high:
        field = f"{AUTHORS_FIELD}.propensity" if row.authors else "propensity"
        message = f"{row.propensity:g} does not go with {row.difficulty} ({low:g} to {high:g})"
        fix = f"Table 1 has {row.difficulty.propensity:g}; correct one of the two"
        yield row.found("difficulty-propensity", field, message, fix)


def unfilled_placeholder(row: Row) -> Iterator[Finding]:
    """A slot that a template left open: `{name}`, `<name>`, `[X]`, `XX`, `TODO`, `某某`, `___`."""
    if not PLACEHOLDER.search("\n".join(row.raw.values())):
        return
    for field, text in row.raw.items():
        if found := PLACEHOLDER.search(text):
            message = f"holds the placeholder {found[0]!r}"
            yield row.found("unfilled-placeholder", field, message, "Fill it in")


def language_mismatch(row: Row) -> Iterator[Finding]:
    """Texts in another language than the record or the run says; most of them, or single ones."""
    said = row.authors.own_language if row.authors else row.language
    spoken = language_of(row.prose.values(), row.language)
    if said != spoken or spoken != row.language:
        says = f"says {NAME[said] if said else 'nothing'}"
        if said == spoken:
            says = f"the run is in {NAME[row.language]}"
        message = f"{says}, and the texts are in {NAME[spoken]}"
        fix = "Correct it, or translate the texts"
        severity: Severity = "warning" if spoken == row.language else "error"
        yield row.found("language-mismatch", "language", message, fix, severity)
    texts = [(field, text, spoken) for field, text in row.prose.items()]
    if row.authors:
        texts += [(f, row.openers[f], x) for x, f in OPENER_FIELD.items() if f in row.openers]
    for field, text, language in texts:
        if disagrees(text, language):
            fix = "Translate it"
            yield row.found("language-mismatch", field, f"is not in {NAME[language]}", fix)


def leak(row: Row) -> Iterator[Finding]:
    """One side's script holds what only the other side may know, word for word."""
    field, script = row.scripts.get(Speaker.CUSTOMER, ("attributes", row.customer))
    text = script.replace(row.openers.get(row.opener) or "\0", "")  # it asks, and may guess right
    product = row.product
    private = [*product.facts.values(), *product.selling_points]
    secrets = [fact for fact in private if _telling(fact) and fact not in product.name]
    if re.search(r"\d", product.price) and len(product.price) > 2:
        secrets.append(product.price)
    for secret in secrets:
        if secret in text and _stands_alone(secret, text):
            message = f"the customer is told the product's {secret!r}"
            fix = "Leave it to the salesperson"
            yield row.found("leak", field, message, fix, "warning")
            break
    if Speaker.SALESPERSON in row.scripts:
        field, script = row.scripts[Speaker.SALESPERSON]
        for name, secret in row.attributes.items():
            if _telling(secret) and secret in script:
                message = f"the salesperson is told the customer's {name.rpartition('.')[2]}"
                fix = "Leave it for the salesperson to find out"
                yield row.found("leak", field, message, fix, "warning")


def _telling(text: str) -> bool:
    """Long enough that it does not occur by chance."""
    return len(text) + len(HAN.findall(text)) >= 16


def _stands_alone(secret: str, text: str) -> bool:
    """Whether it occurs other than as a part of a longer number."""
    return bool(re.search(rf"(?<![\d.,]){re.escape(secret)}(?!\d|[.,]\d)", text))


def script_mismatch(row: Row) -> Iterator[Finding]:
    """A script of ours that is not what its fields and our prompts make."""
    if row.scenario is None or isinstance(row.scenario, PartialScenario) or not row.scripts:
        return
    rendered = with_scripts(row.scenario).scripts
    for side, (field, text) in row.scripts.items():
        if text != rendered[side]:
            pairs = zip(text.splitlines(), rendered[side].splitlines(), strict=False)
            number = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), None)
            where = f"from its line {number}" if number else "at its end"
            message = f"differs {where} from what the fields make"
            fix = "Render it again, unless it was edited on purpose"
            yield row.found("script-mismatch", field, message, fix, "warning")
