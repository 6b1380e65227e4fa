"""What a run costs: what it has spent, and what is still to come."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from salesllm.benchmark.cell import TALK, Cell
from salesllm.benchmark.inputs import Inputs
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
_ENOUGH = 10  # measured dialogues from which on they are believed
_SIDES = {"salespeople": Speaker.SALESPERSON, "customers": Speaker.CUSTOMER}

Part = tuple[str, str]


class Prices:
    """What each speaker and rater of a recipe takes for its tokens."""

    def __init__(self, recipe: BenchmarkRecipe) -> None:
        self._specs: dict[Part, ChatSpec] = {
            (side, spec.name): spec for side, spec in recipe.speakers()
        }

    def cost(self, part: Part, usage: Usage) -> float | None:
        """USD; None where an endpoint's price is not known. Nobody is paid for what runs here."""
        spec = self._specs[part]
        if spec.provider != "endpoint":
            return 0.0
        if spec.price is None:
            return None
        tokens = (
            usage.prompt_tokens * spec.price.input + usage.completion_tokens * spec.price.output
        )
        return tokens / 1e6

    def unknown(self) -> list[str]:
        """Names of the endpoints whose price is not known."""
        return sorted({part[1] for part in self._specs if self.cost(part, Usage()) is None})


def usages(entry: Mapping[str, Any], inputs: Inputs, auditor: str | None) -> Iterator[
    tuple[Part, Usage]
]:  # fmt: skip
    """Who used how many tokens for a line of the journal."""
    kind = entry["kind"]
    if kind == TALK:
        cell = Cell(*entry["cell"])
        for side, speaker in _SIDES.items():
            yield (side, getattr(cell, speaker)), Usage(**entry["usage"][speaker])
    elif kind == inputs.audit and auditor:
        yield ("grounding", auditor), Usage(**entry["rating"]["usage"])
    else:
        for judge, its in inputs.ratings.items():
            if its == kind:
                yield ("judge", judge), Usage(**entry["rating"]["usage"])


class Purse:
    """Lets dialogues begin as long as the money for them is there.

    A dialogue under way is never broken off, so it is reckoned with beforehand: at the mean of
    those finished, and at `assumed` before there are any.

    Args:
        limit: USD; None for no limit.
        assumed: USD a dialogue.
        spent: USD, by earlier sessions of the run.
    """

    def __init__(self, limit: float | None, assumed: float, spent: float = 0.0) -> None:
        self.limit, self.spent = limit, spent
        self._assumed, self._before = assumed, spent
        self._begun = self._ended = 0
        self._news = asyncio.Event()

    async def begin(self) -> bool:
        """Waits until it is clear whether the money suffices for one more dialogue.

        Returns:
            Whether that begins; else nothing is under way any more, and the run is over.
        """
        while not self._suffices():
            if self._begun == self._ended:
                return False
            self._news.clear()
            await self._news.wait()
        self._begun += 1
        return True

    def pay(self, cost: float) -> None:
        self.spent += cost

    def end(self) -> None:
        """A dialogue is over, with all its ratings."""
        self._ended += 1
        self._news.set()

    def _suffices(self) -> bool:
        if self.limit is None:
            return True
        under_way = self._begun - self._ended
        if not self._ended:  # the first one shows what they cost
            return self.spent + max(under_way, 1e-9) * self._assumed < self.limit
        mean = (self.spent - self._before) / self._ended
        return self.spent + (under_way + 1) * mean <= self.limit


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
    parts = {(side, spec.name): Estimate() for side, spec in recipe.speakers()}
    measured = _measured(recipe, inputs, journal)
    sizes = {} if measured else _script_tokens(recipe, cells, scenarios)
    for cell in cells:
        if journal is None or not journal.done(TALK, cell):
            for side, speaker in _SIDES.items():
                name = getattr(cell, speaker)
                mean = measured.get((side, name)) or measured.get((side, ""))
                size = mean or _to_the_limit(recipe, speaker, sizes[cell.scenario][speaker])
                parts[side, name].add(*size)
        for part, kind in _ratings(recipe, inputs):
            if journal is None or not journal.done(kind, cell):
                samples = recipe.judge_samples if part[0] == "judge" else 1
                read = _PROMPT_TOKENS + 2 * recipe.rounds * MESSAGE_TOKENS
                assumed = (samples, samples * read, samples * _RATING_TOKENS)
                parts[part].add(*(measured.get(part) or assumed))
    prices = Prices(recipe)
    for part, found in parts.items():
        usage = Usage(round(found.prompt_tokens), round(found.completion_tokens))
        found.cost = prices.cost(part, usage)
    if measured:
        return parts, "as the dialogues of this run so far"
    return parts, (
        f"at most: all {recipe.rounds} rounds, {MESSAGE_TOKENS} tokens a message. "
        "After a run with --limit 20 this rests on real dialogues"
    )


def _ratings(recipe: BenchmarkRecipe, inputs: Inputs) -> list[tuple[Part, str]]:
    found = [(("judge", judge), kind) for judge, kind in inputs.ratings.items()]
    if recipe.auditor and inputs.audit:
        found.append((("grounding", recipe.auditor.name), inputs.audit))
    return found


def _measured(
    recipe: BenchmarkRecipe, inputs: Inputs, journal: Journal | None
) -> dict[Part, tuple[float, float, float]]:
    """Mean calls and tokens a dialogue: of each part and, under `""`, of each side."""
    counts: Counter[Part] = Counter()
    sums: dict[Part, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    auditor = recipe.auditor.name if recipe.auditor else None
    for entry in journal.entries() if journal else ():
        if not entry["ok"]:
            continue
        for part, usage in usages(entry, inputs, auditor):
            own = _SIDES.get(part[0])
            calls = sum(turn["speaker"] == own for turn in entry["turns"]) if own else 1
            calls -= own is Speaker.CUSTOMER  # nobody generates the opener
            for key in (part, (part[0], "")):
                counts[key] += 1
                for index, value in enumerate((calls, *asdict(usage).values())):
                    sums[key][index] += value
    if counts["salespeople", ""] < _ENOUGH:
        return {}
    return {
        part: (values[0] / counts[part], values[1] / counts[part], values[2] / counts[part])
        for part, values in sums.items()
        if counts[part] >= _ENOUGH or not part[1]
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
    for name, part in [*rows, ("all", total_of(found.values()))]:
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
