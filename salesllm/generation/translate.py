"""Chinese scenarios in English: an LLM translates, a filter drops what is not faithful.

Brands are named first, all of them, so that each is called the same wherever it occurs. The
scripts are rendered anew in English. Ids are parallel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from salesllm.chat.base import Usage
from salesllm.dialogue import Language
from salesllm.errors import InputError
from salesllm.files import sha256
from salesllm.generation.faithful import faults, in_language, texts, with_texts
from salesllm.generation.recipe import TranslationRecipe
from salesllm.generation.writer import Task, Writer, estimate
from salesllm.prompts import load_prompt, prompt_versions
from salesllm.scenario import Scenario, read_scenarios
from salesllm.scenarios.evaluation import scenario_file
from salesllm.scenarios.scripts import with_scripts
from salesllm.scoring.ask import OffFormat, json_objects

if TYPE_CHECKING:
    from salesllm.fidelity.similarity import Embedder

BRANDS = ("品牌", "品牌名", "机构")
"""Labels of the fact that holds a product's brand."""
_BATCH = 20
_NAMING_ROUNDS = 4
_ENGLISH_PER_CHINESE = 1.3
"""Tokens of a translation for each of its source, roughly."""


class Translator:
    """The scenarios of one recipe on their way into English.

    Attributes:
        names: Every brand and what it is called in English.

    Raises:
        InputError: The scenarios cannot be read, or are not Chinese.
    """

    def __init__(self, recipe: TranslationRecipe) -> None:
        self.recipe = recipe
        self.path = scenario_file(recipe.scenarios)
        self.scenarios = read_scenarios(self.path)
        for scenario in self.scenarios:
            if scenario.language != "zh":
                problem = f"scenario {scenario.id!r} is in {scenario.language!r}"
                fix = "Give a file of Chinese scenarios only"
                raise InputError(problem, path=self.path, field="language", fix=fix)
        self.brands = sorted({name for s in self.scenarios if (name := brand(s))})
        self.names: dict[str, str] = {}

    def settings(self) -> dict[str, Any]:
        """All that a translation depends on."""
        prompts = self._versions(["brand_names", "translation"], "en")
        if self.recipe.embedding_model:
            prompts |= self._versions(["translation"], "zh")
        return {
            "recipe": self.recipe.settings(),
            "scenarios_sha256": sha256(self.path),
            "prompts": prompts,
        }

    def translate(self, writer: Writer) -> tuple[list[Scenario], list[dict[str, Any]]]:
        """All scenarios in English, and those that could not be translated well, with reasons.

        Raises:
            InputError: The endpoint gave no answer.
        """
        embedder = self._embedder()  # found missing now, not when all has been paid for
        self.names = self._name_brands(writer)
        tasks = [self._task(scenario) for scenario in self.scenarios]
        translated = writer.write("translation", tasks, "translations")
        dropped: list[dict[str, Any]] = []
        kept: dict[str, dict[str, str]] = {}
        for scenario, texts_en in zip(self.scenarios, translated, strict=True):
            if texts_en is None:
                reasons = writer.problem("translation", (scenario.id,)).splitlines()
                dropped.append({"id": scenario.id, "reasons": reasons})
            else:
                kept[scenario.id] = texts_en
        if embedder is not None:
            dropped += self._unlike(writer, kept, embedder)
        lost = {row["id"] for row in dropped}
        english = [
            with_scripts(with_texts(s, kept[s.id], english_id(s.id), "en"), self.recipe.prompts_dir)
            for s in self.scenarios
            if s.id not in lost
        ]
        return english, dropped

    def estimate(self) -> tuple[int, Usage]:
        """Calls and tokens that it will take if every first answer is good."""
        sources = [json.dumps(texts(s), ensure_ascii=False) for s in self.scenarios]
        asked = [self._task(s).render() for s in self.scenarios]
        calls, prompt = len(asked) + -(-len(self.brands) // _BATCH), estimate(asked)
        answer = estimate(sources) * _ENGLISH_PER_CHINESE
        if self.recipe.embedding_model:
            calls, prompt, answer = calls + len(asked), 2 * prompt, 2 * answer
        return calls, Usage(round(prompt), round(answer))

    def _name_brands(self, writer: Writer) -> dict[str, str]:
        """Batch by batch, until every brand has a name of its own."""
        named: dict[str, str] = {}
        for round_ in range(_NAMING_ROUNDS):
            todo = [name for name in self.brands if name not in named]
            batches = [todo[start : start + _BATCH] for start in range(0, len(todo), _BATCH)]
            tasks = [self._naming(batch, (str(round_), str(n)), sorted(named.values()))
                     for n, batch in enumerate(batches)]  # fmt: skip
            taken = {english.casefold() for english in named.values()}
            for batch, answer in zip(
                batches, writer.write("names", tasks, "brand names"), strict=True
            ):
                for place, english in (answer or {}).items():
                    if english.casefold() not in taken:
                        named[batch[int(place)]] = english
                        taken.add(english.casefold())
        return named

    def _naming(self, batch: Sequence[str], cell: tuple[str, str], taken: Sequence[str]) -> Task:
        source = {str(n): name for n, name in enumerate(batch)}
        prompt = load_prompt("brand_names", "en", self.recipe.prompts_dir)

        def parse(text: str) -> dict[str, Any]:
            found = read_texts(text, source)
            for place, name in found.items():
                if not name.strip() or not in_language(name, "en"):
                    raise OffFormat(f"`{place}` is no English name")
            return {place: name.strip() for place, name in found.items()}

        question = partial(prompt.render, texts=_shown(source), taken=taken)
        return Task(cell, question, parse, schema_of(source), "en")

    def _task(self, scenario: Scenario) -> Task:
        source = texts(scenario)
        name = brand(scenario)
        names = {name: self.names[name]} if name in self.names else {}
        ratio = self.recipe.length_ratio

        def parse(text: str) -> dict[str, Any]:
            found = read_texts(text, source)
            if problems := faults(source, found, names, ratio):
                raise OffFormat("\n".join(problems))
            return found

        return self._translation((scenario.id,), source, names, parse, "en")

    def _translation(
        self, cell: tuple[str], source: Mapping[str, str], names: Mapping[str, str], parse: Any,
        into: Language,
    ) -> Task:  # fmt: skip
        prompt = load_prompt("translation", into, self.recipe.prompts_dir)
        names_shown = _shown(names) if names else ""
        question = partial(prompt.render, texts=_shown(source), names=names_shown)
        return Task(cell, question, parse, schema_of(source), into)

    def _embedder(self) -> Embedder | None:
        if self.recipe.embedding_model is None:
            return None
        from salesllm.fidelity.similarity import Embedder

        return Embedder(self.recipe.embedding_model)

    def _unlike(
        self, writer: Writer, kept: Mapping[str, dict[str, str]], embedder: Embedder
    ) -> list[dict[str, Any]]:
        """Translations that mean something else once they are back in Chinese."""
        back_names = {english: name for name, english in self.names.items()}
        chosen = [s for s in self.scenarios if s.id in kept]
        tasks = []
        for scenario in chosen:
            english = kept[scenario.id]
            name = self.names.get(brand(scenario) or "")
            names = {name: back_names[name]} if name else {}
            tasks.append(self._translation(
                (scenario.id,), english, names, lambda text, e=english: read_texts(text, e), "zh"
            ))  # fmt: skip
        answers = writer.write("back", tasks, "back translations")
        pairs = [
            ("\n".join(texts(s).values()), "\n".join(back.values()) if back else "")
            for s, back in zip(chosen, answers, strict=True)
        ]
        cosines = embedder.cosine([b for _, b in pairs], [a for a, _ in pairs])
        return [
            {"id": s.id, "reasons": [f"translated back it is {cosine:.2f} like the original"]}
            for s, cosine in zip(chosen, cosines, strict=True)
            if cosine < self.recipe.similarity
        ]

    def _versions(self, names: Sequence[str], language: Language) -> dict[str, str]:
        return prompt_versions(names, [language], self.recipe.prompts_dir)


def brand(scenario: Scenario) -> str | None:
    """What the product's maker is called, where a fact says so."""
    facts = scenario.product.facts
    return next((facts[label] for label in BRANDS if facts.get(label, "").strip()), None)


def english_id(key: str) -> str:
    """`v1-0001-zh` to `v1-0001-en`; any other id stays."""
    return f"{key.removesuffix('-zh')}-en" if key.endswith("-zh") else key


def read_texts(text: str, source: Mapping[str, str]) -> dict[str, str]:
    """An answer with a text for every key of `source`.

    Raises:
        OffFormat: It is something else.
    """
    objects = json_objects(text)
    if not objects:
        raise OffFormat("there is no whole JSON object in it")
    found = objects[-1]
    if missing := [key for key in source if not isinstance(found.get(key), str)]:
        raise OffFormat(f"`{missing[0]}` has no text")
    if unknown := [key for key in found if key not in source]:
        raise OffFormat(f"`{unknown[0]}` is no key of the texts")
    return {key: " ".join(found[key].split()) for key in source}


def schema_of(source: Mapping[str, str]) -> dict[str, Any]:
    """JSON schema of an object with a text for every key."""
    return {
        "type": "object",
        "properties": {key: {"type": "string"} for key in source},
        "required": list(source),
        "additionalProperties": False,
    }


def _shown(values: Mapping[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False, indent=1)
