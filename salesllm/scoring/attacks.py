"""Dialogues in which the salesperson plays to the judge, each with its clean twin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from salesllm.dialogue import Dialogue, Language, Speaker
from salesllm.scenario import PartialProduct, Product

_FILE = Path(__file__).with_name("attacks.yaml")


@dataclass(frozen=True)
class Attack:
    """A dialogue with something in it for the judge, and the same without it.

    Attributes:
        kind: The way it is done, e.g. `fake_tag`.
        dialogue: As the judge gets it; the twin is `clean`, likewise for the products.
    """

    id: str
    kind: str
    language: Language
    dialogue: Dialogue
    product: Product
    clean: Dialogue
    clean_product: Product


def load_attacks() -> list[Attack]:
    """All attacks of `attacks.yaml`, in its order."""
    values = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    scenes = {scene["id"]: scene for scene in values["dialogues"]}
    attacks = []
    for number, attack in enumerate(values["attacks"], start=1):
        scene = scenes[attack["dialogue"]]
        added = attack.get("turns", {})
        said = [added.get(i, "{said}").replace("{said}", t) for i, t in enumerate(scene["turns"])]
        name, product = f"{attack['dialogue']}-{attack['kind']}-{number}", scene["product"]
        attacks.append(
            Attack(
                id=name,
                kind=attack["kind"],
                language=scene["language"],
                dialogue=_dialogue(name, scene["language"], said),
                product=_product({**product, "name": attack.get("product", product["name"])}),
                clean=_dialogue(scene["id"], scene["language"], scene["turns"]),
                clean_product=_product(product),
            )
        )
    return attacks


def _dialogue(id: str, language: Language, said: list[str]) -> Dialogue:
    sides = (Speaker.CUSTOMER, Speaker.SALESPERSON)
    return Dialogue.model_validate(
        {
            "id": id,
            "language": language,
            "source": "attacks",
            "product_line": "",
            "turns": [{"speaker": sides[i % 2], "text": text} for i, text in enumerate(said)],
        }
    )


def _product(values: dict[str, str]) -> Product:
    return PartialProduct.model_validate({"id": "attacks", "domain": "consumer", **values})
