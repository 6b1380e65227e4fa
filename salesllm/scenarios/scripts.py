"""Renders the two scripts of a scenario: `(script_sales, script_user) ~ p(G | s)` (Eq. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from salesllm.dialogue import END_MARKER, Dialogue, Language, Speaker
from salesllm.prompts import load_prompt
from salesllm.scenario import DecisionFactor, Difficulty, Product, Scenario, require_fields

ScriptStyle = Literal["script", "brief"]

DIFFICULTY_NAME: dict[Language, dict[Difficulty, str]] = {
    "en": {d: d.value.replace("_", " ") for d in Difficulty},
    "zh": {
        Difficulty.EASY: "容易",
        Difficulty.MEDIUM: "中等",
        Difficulty.HARD: "困难",
        Difficulty.VERY_HARD: "非常困难",
        Difficulty.ADVERSARIAL: "对抗",
    },
}

BUYER_STYLE: dict[Language, dict[Difficulty, str]] = {
    "en": {
        Difficulty.EASY: "Open to buying. Knows what is missing, has room in the budget, and "
        "decides quickly once the product looks like a fit.",
        Difficulty.MEDIUM: "Weighs things up. Has real but answerable doubts about price or fit, "
        "raises them, and buys once they are answered with something solid.",
        Difficulty.HARD: "Careful with money and slow to trust. Says no by default; only specific, "
        "strong evidence of value changes that.",
        Difficulty.VERY_HARD: "Deeply sceptical and bound by rules, approvals or compliance. Wants "
        "proof, references and paperwork, and would rather put it off.",
        Difficulty.ADVERSARIAL: "Looking for reasons to rule the seller out. Presses on edge "
        "cases, legal risk and hidden cost, and hardly ever shows interest.",
    },
    "zh": {
        Difficulty.EASY: "愿意买。清楚自己缺什么，预算有余地，觉得合适很快就定。",
        Difficulty.MEDIUM: "会掂量。对价格或合不合适有些实在的顾虑，会提出来，说得通就买。",
        Difficulty.HARD: "花钱谨慎，不轻信人。默认不买，除非拿得出具体、有力的理由。",
        Difficulty.VERY_HARD: "疑心很重，还受制度、审批或合规约束。"
        "要证明、要案例、要材料，能拖就拖。",
        Difficulty.ADVERSARIAL: "一心找理由把卖方否掉。"
        "专挑极端情况、法律风险和隐性成本，几乎不松口。",
    },
}

FACTOR_NAME: dict[Language, dict[DecisionFactor, str]] = {
    "en": {
        DecisionFactor.RETURNS_AND_TOTAL_COST: "returns and total cost",
        DecisionFactor.SAFETY_AND_PROTECTION: "safety and protection",
        DecisionFactor.BRAND_TRUST: "a name to trust",
        DecisionFactor.CORE_QUALITY: "core quality",
        DecisionFactor.TRANSPARENCY_AND_TERMS: "clear terms",
        DecisionFactor.SUPPORT_AND_AFTERSALES: "support after the sale",
        DecisionFactor.CONVENIENCE_AND_DIGITAL: "convenience",
        DecisionFactor.AVAILABILITY_AND_DELIVERY: "availability and delivery",
        DecisionFactor.SOCIAL_PROOF: "what others say",
        DecisionFactor.FIT_AND_FLEXIBILITY: "fit and flexibility",
    },
    "zh": {
        DecisionFactor.RETURNS_AND_TOTAL_COST: "收益与总成本",
        DecisionFactor.SAFETY_AND_PROTECTION: "安全保障",
        DecisionFactor.BRAND_TRUST: "品牌信誉",
        DecisionFactor.CORE_QUALITY: "产品本身的质量",
        DecisionFactor.TRANSPARENCY_AND_TERMS: "条款透明",
        DecisionFactor.SUPPORT_AND_AFTERSALES: "售后服务",
        DecisionFactor.CONVENIENCE_AND_DIGITAL: "方便好用",
        DecisionFactor.AVAILABILITY_AND_DELIVERY: "供货与时效",
        DecisionFactor.SOCIAL_PROOF: "别人的评价",
        DecisionFactor.FIT_AND_FLEXIBILITY: "合适与灵活",
    },
}


def product_text(product: Product, language: Language) -> str:
    """The private product block of a salesperson script, one fact a line."""
    zh = language == "zh"
    lines = [f"{'名称' if zh else 'Name'}: {product.name}"]
    lines.append(f"{'价格' if zh else 'Price'}: {product.price}")
    lines += [f"{name}: {value}" for name, value in product.facts.items()]
    lines += [f"- {point}" for point in product.selling_points]
    return "\n".join(lines)


def customer_script(
    scenario: Scenario, style: ScriptStyle = "script", prompts_dir: str | Path | None = None
) -> str:
    """The customer's system prompt.

    Args:
        style: `script` for the whole script, `brief` for two lines (tiny models: a long script
            costs them most of their training time).
    """
    require_fields(scenario, f"the customer's {style}")
    language = scenario.language
    prompt = load_prompt(f"customer_{style}", language, prompts_dir)
    return prompt.render(
        difficulty=DIFFICULTY_NAME[language][scenario.difficulty],
        propensity=f"{scenario.propensity:g}",
        buyer_style=BUYER_STYLE[language][scenario.difficulty],
        product_name=scenario.product.name,
        end_marker=END_MARKER,
        **_information(scenario),
    )


def customer_information(scenario: Scenario) -> str:
    """What is this customer's own in its script: the private block and the opener, line by line.

    It is what near duplicates and diversity are measured on: the rules around it never change.
    """
    lines = [*_information(scenario).values(), scenario.attributes.initial_utterance]
    return "\n".join(lines)


def _information(scenario: Scenario) -> dict[str, str]:
    """The fields of the customer's private block, in the script's order."""
    language, persona, attributes = scenario.language, scenario.persona, scenario.attributes
    basics = (persona.age_group, persona.gender, persona.occupation, persona.city)
    separator = "、" if language == "zh" else ", "
    return {
        "basic_info": separator.join(part for part in (*basics, persona.household) if part),
        "motivations": attributes.motivations,
        "pain_points": attributes.pain_points,
        "decision_factors": separator.join(
            FACTOR_NAME[language][f] for f in attributes.decision_factors
        ),
        "communication_preferences": attributes.communication_preferences,
    }


def salesperson_script(
    scenario: Scenario, style: ScriptStyle = "script", prompts_dir: str | Path | None = None
) -> str:
    """The salesperson's system prompt; `brief` names the product and its price only."""
    require_fields(scenario, f"the salesperson's {style}")
    prompt = load_prompt(f"salesperson_{style}", scenario.language, prompts_dir)
    text = product_text(scenario.product, scenario.language)
    return prompt.render(
        product_text=text,
        product_name=scenario.product.name,
        price=scenario.product.price,
        channel=scenario.product.channel,
    )


def script_of(
    scenario: Scenario,
    speaker: Speaker,
    style: ScriptStyle = "script",
    prompts_dir: str | Path | None = None,
) -> str:
    """The system prompt to play a side by: the scenario's own, else one rendered from its fields.

    A `brief` is always rendered: no scenario brings one.

    Raises:
        InputError: It has to be rendered, and the scenario lacks fields.
    """
    if style == "script" and scenario.scripts.get(speaker):
        return scenario.scripts[speaker]
    render = customer_script if speaker is Speaker.CUSTOMER else salesperson_script
    return render(scenario, style, prompts_dir)


def with_scripts(scenario: Scenario, prompts_dir: str | Path | None = None) -> Scenario:
    """The same scenario with both scripts rendered."""
    scripts = {
        Speaker.SALESPERSON: salesperson_script(scenario, "script", prompts_dir),
        Speaker.CUSTOMER: customer_script(scenario, "script", prompts_dir),
    }
    return scenario.model_copy(update={"scripts": scripts})


def system_prompt(
    viewpoint: Speaker,
    dialogue: Dialogue,
    scenario: Scenario | None,
    *,
    style: ScriptStyle = "script",
    context_fields: Sequence[str] = (),
    prompts_dir: str | Path | None = None,
) -> str:
    """One side's system prompt for a recorded dialogue, in training and in prediction alike.

    Args:
        scenario: The dialogue's scenario; None for a log that has none, which gets the generic
            prompt.
        context_fields: Fields of `dialogue.context` that the generic prompt may show. Name only
            what that side knew beforehand: an agreed price would give the outcome away.
    """
    if scenario is not None:
        script = customer_script if viewpoint is Speaker.CUSTOMER else salesperson_script
        return script(scenario, style, prompts_dir)
    context = {f: dialogue.context[f] for f in context_fields if dialogue.context.get(f)}
    prompt = load_prompt(f"{viewpoint.value}_generic", dialogue.language, prompts_dir)
    return prompt.render(product_line=dialogue.product_line, context=context)
