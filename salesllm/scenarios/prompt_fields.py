"""Takes the prompts of released rows apart: sections of the customer's, the seller's product."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_SECTIONS = {
    "difficulty": r"difficulty(?:[ _]level)?|难度(?:等级|级别|水平)?",
    "propensity": r"buy(?:ing)?[- _]?inclination(?:[ _]score)?"
    r"|购买(?:倾向|意愿)(?:度|评?分数?|得分)?",
    "persona": r"persona|人物(?:类型|设定|画像)|人设|角色|客户类型|买家类型",
    "basic_info": r"basic[ _]info(?:rmation)?|(?:客户)?基(?:本|础)信息",
    "motivations": r"motivations?|(?:购买)?动机",
    "pain_points": r"pain[ _]points?|痛点",
    "decision_factors": r"decision[ _]factors?|决策(?:因素|依据)",
    "communication_preferences": r"communication[ _]preferences?|沟通(?:偏好|方式)",
    "language": r"language|语言",
    "block": r"customer[ _]information|客户(?:信息|资料)",
    "rules": r"rules?|guidelines|要求|规则|行为准则",
}
CUSTOMER_BLOCK = ("basic_info", "motivations", "pain_points", "decision_factors",
                  "communication_preferences")  # fmt: skip
"""The sections of the private customer block but its language."""

_HEADING = re.compile(
    r"[ \t]*(?:[-*•#]+[ \t]*)?\**(?:"
    + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _SECTIONS.items())
    + r")\**[ \t]*(?:[(（][^)）\n]*[)）])?\**[ \t]*(?:[:：]\**(?P<rest>.*))?",
    re.IGNORECASE,
)
_PRODUCT = re.compile(
    r"^.*?(?:product[ _]information|(?:产品|商品)(?:信息|资料))[^\n:：]*[:：]?",
    re.IGNORECASE | re.M,
)
_RULES = re.compile(
    rf"^[ \t]*[#*]*[ \t]*(?:{_SECTIONS['rules']})\**[ \t]*[:：]?\**[ \t]*$", re.I | re.M
)
_PAIR = re.compile(r"[-*•]?\s*([^:：\n]{1,40}?)\s*[:：](?!//)\s*(.*)")
_BARE_PAIR = re.compile(
    r"[\"“]?([\w /-]{1,30}?)[\"”]?\s*[:：]\s*(?:[\"“]([^\"”]*)[\"”]|([^,，;；}\n]+))"
)
_KEYS = {
    "name": r"title|(?:product )?name|product|(?:产品|商品)?(?:名称|标题)|产品|商品",
    "price": r"price|价格|售价|定价",
    "category": r"main[ _]category|category|主?类目|类别|分类|品类",
    "features": r"features|特点|卖点|产品特点",
    "details": r"details|详情|参数|规格",
    "description": r"description|介绍|描述|产品介绍",
}
_NOTHING = ("none", "null", "nan", "n/a", "")


def customer_fields(prompt: str) -> dict[str, str]:
    """Sections of a customer's prompt by their name, both layouts, in either language.

    A section is a line `- name: text` or a heading with its text below it.
    """
    found: dict[str, str] = {}
    section = ""
    for line in prompt.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            section = next(name for name in _SECTIONS if heading[name] is not None)
            found.setdefault(section, "")
            line = heading["rest"] or ""
        if section:
            found[section] = f"{found[section]}\n{line}".strip()
    found.pop("rules", None)
    return found


def product_block(prompt: str) -> str:
    """The product information of a seller's prompt; blank where there is none."""
    head = _PRODUCT.search(prompt)
    if head is None:
        return ""
    block = prompt[head.end() :]
    rules = _RULES.search(block)
    return block[: rules.start() if rules else None].strip()


def product_fields(block: str) -> dict[str, Any]:
    """Fields of a `Product` but id and domain, from JSON, `key: value` lines or free text."""
    value = _json(block)
    pairs, points = (value, []) if isinstance(value, dict) else _lines(block)
    fields: dict[str, Any] = {"category": "", "name": "", "price": "", "facts": {}}
    for name, content in pairs.items():
        kind = next((k for k, p in _KEYS.items() if re.fullmatch(p, str(name).lower())), None)
        if kind in ("name", "price", "category") and not fields[kind]:
            fields[kind] = _text(content)
        elif kind in ("features", "description") and isinstance(content, list):
            points += [text for part in content if (text := _text(part))]
        elif kind == "details" and isinstance(content, dict):
            fields["facts"] |= {str(k): text for k, v in content.items() if (text := _text(v))}
        elif text := _text(content):
            fields["facts"][str(name)] = text
    if not fields["name"] and points and not pairs and len(points[0]) <= 80:
        fields["name"] = points.pop(0)
    return fields | {"selling_points": points}


def read_pairs(text: str) -> dict[str, str]:
    """`{json}` or bare `"key": "value"` pairs as texts; whatever else there is, is left out."""
    value = _json(text)
    if not isinstance(value, dict):
        value = _json(f"{{{text}}}")
    if isinstance(value, dict):
        return {str(name): text for name, part in value.items() if (text := _text(part))}
    return {name.strip(): (a or b).strip() for name, a, b in _BARE_PAIR.findall(text)}


def _lines(block: str) -> tuple[dict[str, Any], list[str]]:
    """`key: value` lines, and the lines that are none."""
    pairs: dict[str, Any] = {}
    points = []
    for line in filter(None, map(str.strip, block.splitlines())):
        pair = _PAIR.fullmatch(line)
        if pair and pair[1] not in pairs:
            value = _json(pair[2])
            pairs[pair[1]] = pair[2] if value is None else value
        else:
            points.append(line.lstrip("-*• "))
    return pairs, points


def _json(text: str) -> Any:
    """An object or a list; None for whatever else."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    """A JSON value as a text; blank for what says nothing."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {text}" for name, part in value.items() if (text := _text(part)))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    text = str(value).strip()
    return "" if text.lower() in _NOTHING else text
