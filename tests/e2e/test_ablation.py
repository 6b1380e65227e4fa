"""`eval/ablation.py` as a user runs it, its customer behind a real HTTP endpoint."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from salesllm.benchmark.guard import DetectorGuard
from salesllm.dialogue import Dialogue, write_dialogues
from salesllm.fidelity.ablation import DETECTOR
from salesllm.files import read_json, read_jsonl

ROOT = Path(__file__).parents[2]
PITCH = "I can offer you the warranty for free today."


class Customer(BaseHTTPRequestHandler):
    """Bargains, except where it is told a price: there it pitches."""

    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).requests.append(body)
        told = body["messages"][-1]["content"]
        text = PITCH if "price" in told else "hm, not sure, can you go lower? [END]"
        choice = {"index": 0, "finish_reason": "stop"}
        reply = {
            "id": "1",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [choice | {"message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        }
        payload = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    Customer.requests = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Customer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", Customer.requests
        server.shutdown()


def dialogues(name: str, count: int, seed: int) -> list[Dialogue]:
    rng = random.Random(seed)
    answer = ["Yes, I can offer you free delivery.", "The price is 40, warranty for free today."]
    doubt = ["hm, not sure", "can you go lower than that?", "ok, sounds good to me"]
    made = []
    for i in range(count):
        said = [rng.choice(part) for part in (answer, doubt, answer, doubt)]
        said.insert(0, f"hi, is {name} lamp {i} still there?")
        turns = [
            {"speaker": ("customer", "salesperson")[j % 2], "text": text}
            for j, text in enumerate(said)
        ]
        record = {"id": f"{name}-{i}", "language": "en", "source": "test", "product_line": "lamps"}
        made.append(Dialogue.model_validate(record | {"turns": turns}))
    return made


def run(config: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "eval" / "ablation.py"), "--config", str(config), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def config(tmp_path: Path, endpoint: tuple[str, list[dict[str, Any]]]) -> Path:
    write_dialogues(tmp_path / "train.jsonl", dialogues("train", 40, seed=1))
    write_dialogues(tmp_path / "test.jsonl", dialogues("test", 15, seed=2))
    customer = {"name": "haggler", "provider": "endpoint", "model": "m", "base_url": endpoint[0]}
    recipe = {
        "name": "loopback",
        "output_dir": str(tmp_path / "out"),
        "dialogues": str(tmp_path / "test.jsonl"),
        "detector_train": str(tmp_path / "train.jsonl"),
        "customers": [customer],
    }
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return path


def test_an_endpoint_customer_from_recipe_to_table(
    config: Path, endpoint: tuple[str, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed-here")
    done = run(config)
    assert done.returncode == 0, done.stderr
    out = config.parent / "out"

    rows = [row for _, row in read_jsonl(out / "predictions.jsonl")]
    assert len(rows) == len(endpoint[1]) == 30  # the second and third customer turn of each
    told_price = [
        "price" in d.turns[i - 1].text for d in dialogues("test", 15, seed=2) for i in (2, 4)
    ]
    assert [row["prediction"] == PITCH for row in rows] == told_price
    assert [row["ended"] for row in rows] == [not told for told in told_price]
    assert not any("[END]" in row["prediction"] for row in rows)
    for request in endpoint[1]:
        assert request["temperature"] == 0
        roles = [message["role"] for message in request["messages"]]
        assert roles in (["system", *["assistant", "user"] * n] for n in (1, 2))

    summary = read_json(out / "summary.json")
    haggler = summary["customers"]["haggler"]["en"]
    rate = haggler["role_inversion"]["predicted"]
    assert rate["rate"] == pytest.approx(sum(told_price) / 30)
    assert rate["low"] < rate["rate"] < rate["high"]
    assert summary["reference"]["en"]["role_inversion"]["rate"] < 0.1
    assert summary["detector"]["en"]["accuracy"]["value"] > 0.9
    assert 0 < haggler["likeness"]["rouge1"]["mean"] < 1
    assert "haggler" in (out / "table.md").read_text(encoding="utf-8")
    guard = DetectorGuard.load(out / DETECTOR, ["en"])  # what it saved can guard a benchmark
    assert [guard.flags((), row["prediction"], "en") for row in rows] == told_price
    record = read_json(out / "run.json")
    assert record["recipe"]["max_short_chars"] == 5
    assert len(record["data_sha256"]) == 2
    assert sorted(record["prompts"]) == [
        "en/customer_brief",
        "en/customer_generic",
        "en/customer_script",
    ]

    again = run(config)
    assert again.returncode == 2
    assert "already holds a finished run" in again.stderr
    assert len(endpoint[1]) == 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max_turn", "3"), "Did you mean `max_turns`"),
        (("--dialogues", "absent.jsonl"), "absent.jsonl: no such file"),
        (("--detector_train", "{tmp}/test.jsonl"), "is also among the held-out dialogues"),
        (("--embedding_model", "{tmp}/absent"), "cannot load the sentence encoder"),
    ],
)
def test_bad_input_stops_before_the_first_call(
    config: Path,
    endpoint: tuple[str, list[dict[str, Any]]],
    options: tuple[str, ...],
    message: str,
) -> None:
    done = run(config, *(option.format(tmp=config.parent) for option in options))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert endpoint[1] == []
    assert not (config.parent / "out").exists()
