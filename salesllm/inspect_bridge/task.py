"""The benchmark as a task of Inspect's: the model under test sells, a sample is a scenario.

An epoch is a repeat, with seeds of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # it has no public name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter
from rich.markup import escape

from salesllm.benchmark.guard import open_guard
from salesllm.benchmark.recipe import BenchmarkRecipe, first_of_each_language, scenarios_of
from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import Speaker, messages_for
from salesllm.errors import InputError
from salesllm.inspect_bridge.chat import InspectChat, Part, inspect_messages
from salesllm.inspect_bridge.scorers import broken_down, buying, final, selling
from salesllm.prompts import prompt_versions
from salesllm.provenance import provenance
from salesllm.recipe import read_yaml, validate_recipe
from salesllm.scenario import PartialScenario, Scenario
from salesllm.scenarios.scripts import script_of
from salesllm.scoring import judge
from salesllm.simulate import Simulated, Termination, simulate

CUSTOMER = "customer"
"""The role of the customer."""

_OURS_ALONE = ("shard", "merge", "dry_run", "max_cost")
"""Keys of a recipe that would promise what Inspect does in another way."""

_SCENARIO: TypeAdapter[Scenario] = TypeAdapter(Scenario | PartialScenario)


@task
def benchmark(recipe: str, customer: str | None = None, **settings: Any) -> Task:
    """A benchmark recipe with Inspect's model in place of its salespeople.

    The roles `customer` and `grader` replace the recipe's customer and judge.

    Args:
        recipe: Path of a benchmark recipe.
        customer: Name of one of its customers, where it has several.
        settings: Keys of the recipe, with other values than it gives them.

    Raises:
        PrerequisiteError: Something in the recipe cannot be used; Inspect shows it as one message.
    """
    try:
        return _task(_load(recipe, settings), customer)
    except InputError as error:
        raise PrerequisiteError(escape(f"error: {error}")) from None


def _task(made: BenchmarkRecipe, customer: str | None) -> Task:
    scenarios = list(first_of_each_language(scenarios_of(made), made.limit))
    sampling = made.sampling
    prompts_dir = str(made.prompts_dir) if made.prompts_dir else None
    return Task(
        dataset=MemoryDataset([_sample(scenario) for scenario in scenarios], name=made.name),
        solver=sales_dialogue(made, _customer(made, customer)),
        scorer=[
            buying({language: str(path) for language, path in made.intent.items()}),
            selling(
                [judge.model_dump(mode="json") for judge in made.judge],
                made.judge_sampling.model_dump(),
                made.judge_attempts,
                made.judge_samples,
                made.judge_weighted,
                made.seed,
                prompts_dir,
            ),
            final(made.alpha),
        ],
        config=GenerateConfig(
            temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=sampling.max_tokens
        ),
        epochs=made.repeats,
        continue_on_fail=True,  # one lost dialogue of thousands is no reason to stop the others
        headline_metric="final",
        metadata=provenance(
            prompts=prompt_versions(
                ("customer_script", "customer_brief", "salesperson_script", judge.PROMPT),
                {scenario.language for scenario in scenarios},
                prompts_dir,
            )
        ),
    )


def _load(path: str, settings: Mapping[str, Any]) -> BenchmarkRecipe:
    values, lines = read_yaml(path)
    lines |= dict.fromkeys(settings, 0)  # given on the command line, which has no lines
    made = validate_recipe(BenchmarkRecipe, values | dict(settings), path, lines)
    for key in _OURS_ALONE:
        if getattr(made, key):
            fix = "Leave it out: Inspect has --limit, --cost-limit and eval-retry"
            raise InputError("only eval/benchmark.py can do that", field=key, fix=fix)
    if made.prompts_dir is not None:
        made.prompts_dir = made.prompts_dir.resolve()  # it is read later, maybe from elsewhere
    return made


def _customer(recipe: BenchmarkRecipe, name: str | None) -> ChatSpec | None:
    """The recipe's customer of that name, or its only one; None where the role stands in."""
    if CUSTOMER in model_roles():
        return None
    named = {spec.name: spec for spec in recipe.customers}
    if name is None and len(named) == 1:
        return recipe.customers[0]
    if name not in named:
        problem = "the recipe has several customers" if name is None else f"there is no {name!r}"
        fix = f"Pass -T customer=NAME ({', '.join(named)}) or --model-role customer=MODEL"
        raise InputError(problem, field=CUSTOMER, fix=fix)
    return named[name]


def _sample(scenario: Scenario) -> Sample:
    return Sample(
        id=scenario.id,
        input=scenario.attributes.initial_utterance,
        metadata={
            "language": scenario.language,
            "domain": scenario.product.domain,
            "category": scenario.product.category,
            "difficulty": scenario.difficulty.value,
            "propensity": scenario.propensity,
            "product_id": scenario.product.id,
            "scenario": scenario.model_dump(mode="json"),
        },
    )


@solver
def sales_dialogue(recipe: BenchmarkRecipe, customer: ChatSpec | None) -> Solver:
    """Plays a sample's scenario; the messages become the salesperson's view of the dialogue.

    Args:
        customer: Who takes that part unless the role `customer` is given.

    Raises:
        InputError: The customer cannot be opened, and the role is not given.
    """
    part = Part(CUSTOMER, [customer] if customer else [])
    languages = {scenario.language for scenario in scenarios_of(recipe)}
    guard = open_guard(recipe.guard, languages) if recipe.guard else None

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        scenario = _SCENARIO.validate_python(state.metadata["scenario"])
        seller, (buyer, *_) = InspectChat(get_model(), free=True), part.chats()
        simulated = await simulate(
            scenario,
            seller,
            buyer,
            rounds=recipe.rounds,
            sampling=recipe.sampling.settings(),
            customer_style=customer.customer_style if customer else "script",
            seed=recipe.seed,
            repeat=state.epoch - 1,
            closing=recipe.closing,
            guard=guard,
            prompts_dir=recipe.prompts_dir,
        )
        script = script_of(scenario, Speaker.SALESPERSON, "script", recipe.prompts_dir)
        _record(state, simulated, script)
        if seller.output is not None:
            state.output = seller.output
        if simulated.termination.failed and simulated.termination is not Termination.REFUSED:
            raise broken_down(f"{simulated.termination}: {simulated.error}", seller, buyer)
        return state

    return solve


def _record(state: TaskState, simulated: Simulated, script: str) -> None:
    """Puts the dialogue where Inspect's viewer, our scorers and a later scoring look for it."""
    seen = messages_for(simulated.turns, Speaker.SALESPERSON, system=script)
    state.messages = inspect_messages(seen)
    said = zip(simulated.turns, state.messages[1:], strict=True)
    for number, (turn, message) in enumerate(said, start=1):
        message.metadata = {"turn": number, "speaker": turn.speaker}
    state.metadata = state.metadata | {
        "termination": simulated.termination,
        "by": simulated.by,
        "turns": len(simulated.turns),
        "usage": {side: asdict(usage) for side, usage in simulated.usage.items()},
        "finish_reasons": simulated.finish_reasons,
        "cleaned": simulated.cleaned,
        "guard": asdict(simulated.guard) if simulated.guard else None,
        "error": simulated.error,
    }
