"""Thousands of dialogues at once: our runner beside Inspect AI and the stock OpenAI client.

    python perf/runner.py

Everybody plays the same dialogues, 20 calls each, against the same endpoint on loopback
(`perf/endpoint.py`), which answers after a fixed time and does nothing else. Each client has a
process of its own, warms up with two dialogues and then plays all at once. Ours is `run_benchmark`
from reading the scenarios until the last dialogue is in the journal, synced to disk; `ours_run_s`
is all of it, with scores by rules, files and summary. The others keep the conversation and ask;
Inspect AI also writes its log. The last line is JSON. Needs `pip install inspect-ai openai`.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from salesllm.benchmark.cell import JOURNAL
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.benchmark.run import run_benchmark
from salesllm.dialogue import Speaker
from salesllm.errors import entry_point
from salesllm.scenario import Scenario, write_scenarios
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.scenarios.scripts import script_of

CALLS = 20
"""Of a dialogue, both sides together; the customer's opener is nobody's."""

WAIT = {100: 0.2, 400: 0.2, 2000: 1.0}
"""Concurrent dialogues to the endpoint's seconds a call."""

PEERS_UP_TO = 400
SAMPLING = {"temperature": 0.8, "top_p": 0.99, "max_tokens": 2048}


def ours(url: str, scenarios: Sequence[Scenario], folder: Path) -> float:
    def speaker(name: str) -> dict[str, Any]:
        address = {"provider": "endpoint", "model": "m", "base_url": url}
        return {**address, "name": name, "concurrency": len(scenarios)}

    recipe = BenchmarkRecipe.model_validate(
        {
            "name": "runner",
            "output_dir": folder / "run",
            "scenarios": folder / "scenarios.jsonl",
            "salespeople": [speaker("seller")],
            "customers": [speaker("buyer")],
            "judge": "rules",
            "grounding": "none",
            "sampling": SAMPLING,
            "concurrency": len(scenarios),
        }
    )
    run_benchmark(recipe, Console(file=io.StringIO()))
    return (folder / "run" / JOURNAL).stat().st_mtime


def parts(scenarios: Sequence[Scenario]) -> Iterator[tuple[list[str], str]]:
    """Of each dialogue both scripts, the salesperson's first, and the opener."""
    for scenario in scenarios:
        sides = (Speaker.SALESPERSON, Speaker.CUSTOMER)
        scripts = [script_of(scenario, side, "script") for side in sides]
        yield scripts, scenario.attributes.initial_utterance


def stock_openai(url: str, scenarios: Sequence[Scenario], folder: Path) -> float:
    from openai import AsyncOpenAI

    async def play(client: AsyncOpenAI, scripts: Sequence[str], opener: str) -> None:
        views: list[list[Any]] = [[{"role": "system", "content": script}] for script in scripts]
        views[0].append({"role": "user", "content": opener})
        views[1].append({"role": "assistant", "content": opener})
        for call in range(CALLS):
            own, other = views[call % 2], views[1 - call % 2]
            reply = await client.chat.completions.create(model="m", messages=own, **SAMPLING)
            text = reply.choices[0].message.content
            own.append({"role": "assistant", "content": text})
            other.append({"role": "user", "content": text})

    async def play_all() -> None:
        async with AsyncOpenAI(base_url=url, api_key="none") as client:
            await asyncio.gather(*(play(client, *part) for part in parts(scenarios)))

    asyncio.run(play_all())
    return time.time()


def inspect_ai(url: str, scenarios: Sequence[Scenario], folder: Path) -> float:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        get_model,
    )
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    @solver
    def dialogue() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            scripts, model = state.metadata["scripts"], get_model()
            views: list[list[Any]] = [[ChatMessageSystem(content=script)] for script in scripts]
            views[0].append(ChatMessageUser(content=state.input_text))
            views[1].append(ChatMessageAssistant(content=state.input_text))
            for call in range(CALLS):
                own, other = views[call % 2], views[1 - call % 2]
                output = await model.generate(own)
                own.append(output.message)
                other.append(ChatMessageUser(content=output.completion))
            state.messages = views[0]
            return state

        return solve

    task = Task(
        dataset=[
            Sample(input=opener, metadata={"scripts": scripts})
            for scripts, opener in parts(scenarios)
        ],
        solver=dialogue(),
    )
    (log,) = eval(
        task,
        model="openai-api/loopback/m",
        model_base_url=url,
        model_args={"api_key": "none"},
        log_dir=str(folder),
        display="none",
        max_samples=len(scenarios),
        max_connections=len(scenarios),
        **SAMPLING,
    )
    if log.status != "success":
        raise RuntimeError(f"Inspect AI: {log.error}")
    return time.time()


CLIENTS: dict[str, Callable[[str, Sequence[Scenario], Path], float]] = {
    "ours": ours,
    "inspect": inspect_ai,
    "openai": stock_openai,
}


def play(client: str, dialogues: int, seconds: float) -> dict[str, float]:
    """Plays against an endpoint of its own; CPU is this process's, and the endpoint's."""
    scenarios = sample_scenarios("en", dialogues, seed=0, split="test")
    command = [sys.executable, str(Path(__file__).with_name("endpoint.py"))]
    command += ["--seconds", str(seconds), "--calls", str(CALLS)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as endpoint,
    ):
        assert endpoint.stdout is not None
        assert endpoint.stdin is not None
        write_scenarios(Path(folder, "scenarios.jsonl"), scenarios)
        url = f"http://127.0.0.1:{endpoint.stdout.readline().strip()}/v1"
        began, cpu = time.time(), time.process_time()
        played = CLIENTS[client](url, scenarios, Path(folder))
        ended, used = time.time(), time.process_time() - cpu
        endpoint.stdin.close()
        told = json.loads(endpoint.stdout.read())
    if told["calls"] != CALLS * dialogues:
        raise RuntimeError(f"{client} made {told['calls']} calls, not {CALLS * dialogues}")
    return {
        "s": round(played - began, 2),
        "run_s": round(ended - began, 2),
        "cpu_ms_a_call": round(1000 * used / told["calls"], 3),
        "endpoint_cpu_s": round(told["cpu_seconds"], 2),
    }


def measure(client: str, dialogues: int, seconds: float) -> dict[str, float]:
    """`play` in a new process, after a warm-up."""
    command = [sys.executable, __file__, "--client", client]
    command += ["--dialogues", str(dialogues), "--seconds", str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(dialogues: int, seconds: float) -> dict[str, Any]:
    """All clients side by side."""
    ideal = CALLS * seconds
    row: dict[str, Any] = {"ideal_s": ideal}
    for client in CLIENTS:
        if client != "ours" and dialogues > PEERS_UP_TO:
            row[f"{client}_s"] = None
            continue
        found = measure(client, dialogues, seconds)
        print(
            f"{dialogues:5} dialogues, {seconds:g} s a call: {client:8}{found['s']:8.2f} s"
            f" = {found['s'] / ideal:5.2f} x ideal (the whole run {found['run_s']:.2f} s),"
            f" {found['cpu_ms_a_call']:.3f} ms CPU a call;"
            f" endpoint {found['endpoint_cpu_s']:.2f} s CPU; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        row |= {f"{client}_{key}": value for key, value in found.items()}
    return row


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--concurrency", type=int, nargs="+", default=list(WAIT), choices=WAIT)
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--dialogues", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        play(args.client, 2, 0.01)
        print(json.dumps(play(args.client, args.dialogues, args.seconds)))
        return
    rows = {str(dialogues): compare(dialogues, WAIT[dialogues]) for dialogues in args.concurrency}
    print(json.dumps({"concurrency": rows}))


if __name__ == "__main__":
    main()
