"""Rows of the paper's released benchmark, read as scenarios as they are.

Such a row brings both scripts as finished prompts, which are used word for word. Its fields are
found in these prompts as far as they can be; what cannot be found stays blank
(`PartialScenario`), and `salesllm lint` names it. `alignment_reason`, `aligned_scenario_used` and
any other key stay in the file: nothing in a run depends on them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from salesllm.dialogue import END_MARKER, Language, Speaker
from salesllm.errors import InputError
from salesllm.scenario import (
    AUTHORS_FIELD,
    DecisionFactor,
    Difficulty,
    PartialScenario,
    Scenario,
    iter_scenarios,
    parse_scenario,
)
from salesllm.scenarios.prompt_fields import (
    customer_fields,
    product_block,
    product_fields,
    read_pairs,
)
from salesllm.scenarios.scripts import DIFFICULTY_NAME, FACTOR_NAME

SELLER_FIELD = "assistant_system_prompt"
OPENER_FIELD: dict[Language, str] = {"zh": "trigger_sentence_zh", "en": "trigger_sentence_en"}

_DIFFICULTY_WORDS = {
    Difficulty.EASY: "simple 简单 轻松 低",
    Difficulty.MEDIUM: "moderate normal average 一般 普通 适中 中",
    Difficulty.HARD: "difficult tough 较难 难 比较难 较困难 比较困难 有难度 高",
    Difficulty.VERY_HARD: "very_difficult extremely_hard 很难 很困难 极难 非常难 极其困难 特别难",
    Difficulty.ADVERSARIAL: "hostile antagonistic 对抗性 对抗型 敌对 刁难",
}
_FACTOR_WORDS = {
    DecisionFactor.RETURNS_AND_TOTAL_COST: r"pric|cost|return|yield|budget|value|价|成本|收益|费用",
    DecisionFactor.SAFETY_AND_PROTECTION: r"safe|secur|protect|risk|安全|保障|风险",
    DecisionFactor.BRAND_TRUST: r"brand|trust|reput|品牌|信誉|信任",
    DecisionFactor.CORE_QUALITY: r"quality|durab|perform|reliab|质量|品质|性能|耐用|效果",
    DecisionFactor.TRANSPARENCY_AND_TERMS: r"transparen|terms|clear|条款|透明|规则",
    DecisionFactor.SUPPORT_AND_AFTERSALES: r"support|service|warrant|售后|服务|质保|保修",
    DecisionFactor.CONVENIENCE_AND_DIGITAL: r"convenien|digital|ease|easy|方便|便捷|便利|好用",
    DecisionFactor.AVAILABILITY_AND_DELIVERY: r"deliver|availab|ship|stock|发货|物流|供货|时效",
    DecisionFactor.SOCIAL_PROOF: r"review|recommend|social|rating|口碑|评价|推荐",
    DecisionFactor.FIT_AND_FLEXIBILITY: r"\bfit|flexib|suit|compatib|合适|灵活|适合|匹配|兼容",
}
_FINANCIAL = re.compile(
    r"deposit|insurance|\bfunds?\b|\bbonds?\b|\bstocks?\b|\bshares\b|securities|annuity"
    r"|savings|notice account"
    r"|存款|存单|理财|基金|债券|股票|证券|保险|重疾|年金",
    re.IGNORECASE,
)
_PERSON = {
    "age_group": r"age.*|年龄.*",
    "gender": r"gender|sex|性别",
    "occupation": r"occupation|job.*|profession|work|职业|工作",
    "city": r"city|location|residence|place.*|(?:所在|居住)?(?:城市|地)|居住地",
}


@dataclass(frozen=True)
class AuthorsRow:
    """What one row says, taken apart once for the reader and the linter.

    Attributes:
        value: The row's object. Keys may be missing, and values of any type.
    """

    value: Mapping[str, Any]

    def text(self, key: str) -> str:
        """A field's text; blank where it has none."""
        value = self.value.get(key)
        return value if isinstance(value, str) else ""

    @property
    def id(self) -> str:
        value = self.value.get("id")
        return str(value).strip() if isinstance(value, str | int) else ""

    @property
    def own_language(self) -> Language | None:
        """What the row's `language` says, which is often wrong."""
        word = self.text("language").strip().lower()
        return "zh" if word in ("chinese", "zh") else "en" if word in ("english", "en") else None

    @cached_property
    def customer(self) -> dict[str, str]:
        """Sections of the customer's prompt that are there, blank ones included."""
        return customer_fields(self.text(AUTHORS_FIELD))

    @cached_property
    def product_text(self) -> str:
        return product_block(self.text(SELLER_FIELD))

    @cached_property
    def product(self) -> dict[str, Any]:
        return product_fields(self.product_text)

    @cached_property
    def score(self) -> float | None:
        """The buy-inclination score, 0-1; None where there is none that can be read."""
        found = re.search(
            r"(?<![\d.-])(\d+(?:\.\d+)?)(?: ?(%)| ?/ ?(\d+))?", self.customer.get("propensity", "")
        )
        if not found:
            return None
        scale = 100 if found[2] else int(found[3] or 1)
        value = float(found[1]) / scale if scale else 2.0
        return value if value <= 1 else None

    @cached_property
    def named_difficulty(self) -> Difficulty | None:
        """The difficulty that its word means; None for a word that means none."""
        word = re.sub(r"[(（].*|[.。,，;；]+$", "", self.customer.get("difficulty", ""))
        return _DIFFICULTY_OF.get(_plain(word))

    @property
    def difficulty(self) -> Difficulty:
        """The named one, else the one of the nearest propensity."""
        if self.named_difficulty:
            return self.named_difficulty
        score = Difficulty.MEDIUM.propensity if self.score is None else self.score
        return min(Difficulty, key=lambda level: abs(level.propensity - score))

    @property
    def propensity(self) -> float:
        return self.difficulty.propensity if self.score is None else self.score

    def opener(self, language: Language) -> str:
        """The opening line in the run's language, else in the other."""
        other: Language = "en" if language == "zh" else "zh"
        return (self.text(OPENER_FIELD[language]) or self.text(OPENER_FIELD[other])).strip()

    def scenario(self, language: Language, key: str) -> Scenario:
        """The row as a scenario of the run's language.

        Raises:
            InputError: A prompt is missing, or the customer has nothing to begin with.
        """
        for field in (AUTHORS_FIELD, SELLER_FIELD):
            if not self.text(field).strip():
                raise InputError("holds no text", field=field, fix="Give the prompt of that side")
        opener, field = self.opener(language), OPENER_FIELD[language]
        if not opener or END_MARKER in opener:
            problem = f"holds the end marker {END_MARKER}" if opener else "holds no text"
            raise InputError(problem, field=field, fix="Give the customer's first message")
        values = {
            "id": key,
            "language": language,
            "product": self.product_values(key),
            "persona": self._persona(key),
            "difficulty": self.difficulty,
            "propensity": self.propensity,
            "attributes": {
                "motivations": self.customer.get("motivations", ""),
                "pain_points": self.customer.get("pain_points", ""),
                "decision_factors": self._factors(),
                "communication_preferences": self.customer.get("communication_preferences", ""),
                "initial_utterance": opener,
            },
            "scripts": {
                Speaker.CUSTOMER: self.text(AUTHORS_FIELD),
                Speaker.SALESPERSON: self.text(SELLER_FIELD),
            },
        }
        try:
            whole = Scenario.model_validate(values)
        except ValidationError:
            return PartialScenario.model_validate(values)
        return whole if whole.product.price else PartialScenario.model_validate(values)

    def product_values(self, key: str) -> dict[str, Any]:
        """Fields of a `PartialProduct`."""
        fields, text = self.product, " ".join(self.product_text.split())
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        named = " ".join((fields["name"], fields["category"])).strip()
        return fields | {
            # Scenarios about one product are not independent: figures are resampled by product.
            "id": f"p-{digest}" if text else f"none-{key}",
            "domain": "financial" if _FINANCIAL.search(named or text) else "consumer",
        }

    def _persona(self, key: str) -> dict[str, str]:
        pairs = read_pairs(self.customer.get("basic_info", ""))
        person = dict.fromkeys(("age_group", "gender", "occupation", "city"), "")
        rest = []
        for name, value in pairs.items():
            field = next((f for f, p in _PERSON.items() if re.fullmatch(p, _plain(name))), None)
            if field and not person[field]:
                person[field] = value
            else:
                rest.append(f"{name}: {value}")
        household = "; ".join(rest) if pairs else self.customer.get("basic_info", "")
        return {"id": key, "household": household, **person}

    def _factors(self) -> list[DecisionFactor]:
        text = self.customer.get("decision_factors", "").lower()
        exact = [
            factor
            for factor in DecisionFactor
            if any(
                name in text for name in (factor, *(FACTOR_NAME[x][factor] for x in FACTOR_NAME))
            )
        ]
        return exact or [f for f, words in _FACTOR_WORDS.items() if re.search(words, text)]


def _plain(word: str) -> str:
    return re.sub(r"[\s_-]+", "_", word.strip().lower())


_DIFFICULTY_OF = {
    _plain(word): level
    for level in Difficulty
    for word in (
        level.value,
        *(names[level] for names in DIFFICULTY_NAME.values()),
        *_DIFFICULTY_WORDS[level].split(),
    )
}


def read_authors_rows(path: str | Path, language: Language) -> list[Scenario]:
    """Reads a file of released rows for a run in that language.

    The prompts are the scripts, word for word; the row's own score is the propensity. A row
    without the fields that our own records need is a `PartialScenario`. A repeated id gets a
    number: `x`, `x#2`.

    Raises:
        InputError: Names file, line and field of a row that lacks a prompt or any opening line.
    """
    return load_scenarios(path, language)


def load_scenarios(path: str | Path, language: Language | None = None) -> list[Scenario]:
    """Reads scenario records and released rows alike.

    Args:
        language: Of the released rows, which do not say it reliably; only for these.

    Raises:
        InputError: As in `iter_scenarios` and `read_authors_rows`; also where `language` is
            missing, or has nothing to say.
    """
    seen: Counter[str] = Counter()

    def parse(value: dict[str, Any]) -> Scenario:
        if AUTHORS_FIELD not in value:
            return parse_scenario(value)
        if language is None:
            raise InputError(
                "a row of the paper's released benchmark does not say its language reliably",
                field="language",
                fix="Give the recipe the key `language`: zh or en",
            )
        row = AuthorsRow(value)
        key = row.id or f"row-{seen.total() + 1}"
        seen[key] += 1
        return row.scenario(language, key if seen[key] == 1 else f"{key}#{seen[key]}")

    found = list(iter_scenarios(path, parse))
    if language is not None and not seen:
        problem = "these scenarios say their language themselves"
        raise InputError(problem, path=path, field="language", fix="Remove the key `language`")
    return found
