"""What a run costs: what it has spent, and what is still to come."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from salesllm.benchmark.cell import TALK, Cell, is_complete
from salesllm.benchmark.inputs import Inputs
from salesllm.benchmark.purse import ENOUGH, Kind, kind_of
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.chat.base import Usage
from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import Language, Speaker
from salesllm.errors import InputError
from salesllm.journal import Journal
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import script_of

MESSAGE_TOKENS = 60
"""Tokens of one message, assumed until dialogues of the run itself tell."""

_RATING_TOKENS, _PROMPT_TOKENS = 150, 1200  # of a verdict, and of a judge's prompt by itself
_SIDES = {"salespeople": Speaker.SALESPERSON, "customers": Speaker.CUSTOMER}

Part = tuple[str, str]


class Prices:
    """What each speaker and rater of a recipe takes for its tokens."""

    def __init__(self, recipe: BenchmarkRecipe) -> None:
        self._specs: dict[Part, ChatSpec] = {
            (side, spec.name): spec for side, spec in recipe.speakers()
        }

    def cost(self, part: Part, usage: Usage) -> float | None:
        """USD; None where it is not known. Nobody is paid for what runs here."""
        spec = self._specs.get(part)  # a run may have had another speaker once
        if spec is not None and spec.provider != "endpoint":
            return 0.0
        return None if spec is None or spec.price is None else spec.price.of(usage)

    def unknown(self) -> list[str]:
        """Names of the endpoints whose price is not known."""
        return sorted({part[1] for part in self._specs if self.cost(part, Usage()) is None})


def usages(entry: Mapping[str, Any], inputs: Inputs) -> Iterator[tuple[Part, Usage]]:
    """Who used how many tokens for a line of the journal."""
    kind = entry["kind"]
    if kind == TALK:
        cell = Cell(*entry["cell"])
        for side, speaker in _SIDES.items():
            yield (side, getattr(cell, speaker)), Usage(**entry["usage"][speaker])
    elif kind in inputs.raters:
        yield inputs.raters[kind], Usage(**entry["rating"]["usage"])


@dataclass
class Estimate:
    """Calls and tokens of one speaker or rater; `cost` in USD, None where the price is unknown."""

    calls: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    cost: float | None = field(default=0.0)

    def add(self, calls: float, prompt: float, completion: float) -> None:
        self.calls += calls
        self.prompt_tokens += prompt
        self.completion_tokens += completion


def estimate(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    inputs: Inputs,
    journal: Journal | None,
) -> tuple[dict[Part, Estimate], str]:
    """What the rest of a run comes to, and what that rests on.

    Where the run has dialogues already, the rest is taken to be like them; before, every dialogue
    is taken to go to the round limit, with messages of `MESSAGE_TOKENS`.
    """
    measured = _measured(recipe, inputs, journal)
    if measured:
        rests_on = "as the dialogues of this run so far"
    else:
        rests_on = (
            f"if all went to {recipe.rounds} rounds, {MESSAGE_TOKENS} tokens a message. "
            "After a run with --limit 20 this rests on real dialogues"
        )
    return _reckoned(recipe, cells, scenarios, inputs, journal, measured), rests_on


def means(
    recipe: BenchmarkRecipe,
    cells: Iterable[Cell],
    scenarios: Mapping[str, Scenario],
    inputs: Inputs,
    journal: Journal,
) -> dict[Kind, float]:
    """USD that a dialogue of each kind is estimated at, with its ratings."""
    measured = _measured(recipe, inputs, journal)
    left: dict[Kind, list[Cell]] = defaultdict(list)
    for cell in cells:
        if not is_complete(cell, journal, inputs.kinds):
            left[kind_of(cell, journal)].append(cell)
    found = {}
    for kind, mine in left.items():
        parts = _reckoned(recipe, mine, scenarios, inputs, journal, measured)
        found[kind] = (total_of(parts.values()).cost or 0.0) / len(mine)
    return found


def spent(recipe: BenchmarkRecipe, inputs: Inputs, journal: Journal) -> float:
    """USD that a run has cost so far, failures and former raters included.

    What had no price when it was made is reckoned at today's.
    """
    prices, total = Prices(recipe), 0.0
    for entry in journal.entries():
        cost = entry.get("cost")
        if cost is None:
            cost = sum(prices.cost(*used) or 0.0 for used in usages(entry, inputs))
        total += cost
    return total


def _reckoned(
    recipe: BenchmarkRecipe,
    cells: Sequence[Cell],
    scenarios: Mapping[str, Scenario],
    inputs: Inputs,
    journal: Journal | None,
    measured: Mapping[Part, tuple[float, float, float]],
) -> dict[Part, Estimate]:
    parts = {(side, spec.name): Estimate() for side, spec in recipe.speakers()}
    sizes = {} if measured else _script_tokens(recipe, cells, scenarios)
    for cell in cells:
        if journal is not None and is_complete(cell, journal, inputs.kinds):
            continue
        if journal is None or not journal.done(TALK, cell):
            for side, speaker in _SIDES.items():
                name = getattr(cell, speaker)
                mean = measured.get((side, name)) or measured.get((side, ""))
                size = mean or _to_the_limit(recipe, speaker, sizes[cell.scenario][speaker])
                parts[side, name].add(*size)
        for kind, part in inputs.raters.items():
            if journal is None or not journal.done(kind, cell):
                samples = recipe.judge_samples if part[0] == "judge" else 1
                read = _PROMPT_TOKENS + 2 * recipe.rounds * MESSAGE_TOKENS
                assumed = (samples, samples * read, samples * _RATING_TOKENS)
                parts[part].add(*(measured.get(part) or assumed))
    prices = Prices(recipe)
    for part, found in parts.items():
        usage = Usage(round(found.prompt_tokens), round(found.completion_tokens))
        found.cost = prices.cost(part, usage)
    return parts


def _measured(
    recipe: BenchmarkRecipe, inputs: Inputs, journal: Journal | None
) -> dict[Part, tuple[float, float, float]]:
    """Mean calls and tokens a dialogue: of each part and, under `""`, of each side."""
    counts: Counter[Part] = Counter()
    sums: dict[Part, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for entry in journal.entries() if journal else ():
        if not entry["ok"]:
            continue
        for part, usage in usages(entry, inputs):
            own = _SIDES.get(part[0])
            if own is None:
                calls = len(entry["rating"].get("samples", ())) or 1
            else:
                calls = sum(turn["speaker"] == own for turn in entry["turns"])
                calls -= own is Speaker.CUSTOMER  # nobody generates the opener
            for key in (part, (part[0], "")):
                counts[key] += 1
                for index, value in enumerate((calls, *asdict(usage).values())):
                    sums[key][index] += value
    if counts["salespeople", ""] < ENOUGH:
        return {}
    return {
        part: (values[0] / counts[part], values[1] / counts[part], values[2] / counts[part])
        for part, values in sums.items()
        if counts[part] >= ENOUGH or not part[1]
    }


def _to_the_limit(
    recipe: BenchmarkRecipe, speaker: Speaker, script: float
) -> tuple[float, float, float]:
    """Calls and tokens of a side that talks to the round limit: every call reads all so far."""
    calls = recipe.rounds - (speaker is Speaker.CUSTOMER)
    heard = recipe.rounds**2 if speaker is Speaker.SALESPERSON else recipe.rounds * calls
    return calls, calls * script + heard * MESSAGE_TOKENS, calls * MESSAGE_TOKENS


def _script_tokens(
    recipe: BenchmarkRecipe, cells: Iterable[Cell], scenarios: Mapping[str, Scenario]
) -> dict[str, dict[Speaker, float]]:
    style = recipe.customers[0].customer_style
    return {
        key: {
            speaker: tokens(
                script_of(
                    scenarios[key],
                    speaker,
                    style if speaker is Speaker.CUSTOMER else "script",
                    recipe.prompts_dir,
                ),
                scenarios[key].language,
            )
            for speaker in Speaker
        }
        for key in dict.fromkeys(cell.scenario for cell in cells)
    }


def tokens(text: str, language: Language) -> float:
    """About how many tokens a text is: models differ by a third either way."""
    return len(text) * (0.7 if language == "zh" else 0.25)


def require_prices(recipe: BenchmarkRecipe) -> None:
    """Raises `InputError` where `max_cost` cannot be kept to."""
    unknown = Prices(recipe).unknown()
    if recipe.max_cost is not None and unknown:
        raise InputError(
            f"the price of {unknown[0]} is not known",
            field="max_cost",
            fix="Give it `price: {input: ..., output: ...}`, in USD a million tokens",
        )


def table_of_costs(found: Mapping[Part, Estimate], rests_on: str) -> Table:
    """What is left to do, as the terminal shows it."""
    table = Table(title="What is left to do", caption=rests_on)
    table.add_column("Part", overflow="fold")
    for column in ("Calls", "Tokens in", "Tokens out", "USD"):
        table.add_column(column, justify="right", no_wrap=True)
    rows = [(f"{side}: {name}", part) for (side, name), part in found.items()]
    unknown = any(part.cost is None for part in found.values())
    for name, part in [*rows, ("all with a price" if unknown else "all", total_of(found.values()))]:
        cost = "no price" if part.cost is None else f"{part.cost:,.2f}"
        numbers = (part.calls, part.prompt_tokens, part.completion_tokens)
        table.add_row(name, *(f"{number:,.0f}" for number in numbers), cost)
    return table


def total_of(parts: Iterable[Estimate]) -> Estimate:
    """The sum; its cost is that of the parts with a price."""
    total = Estimate()
    for part in parts:
        total.add(part.calls, part.prompt_tokens, part.completion_tokens)
        total.cost = (total.cost or 0.0) + (part.cost or 0.0)
    return total
