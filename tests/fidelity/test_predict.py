from collections.abc import Callable, Sequence

import pytest

from salesllm.chat.base import Reply, Sampling
from salesllm.chat.endpoint import EndpointError
from salesllm.dialogue import Dialogue, Message, Speaker
from salesllm.errors import InputError
from salesllm.fidelity.predict import find_targets, predict
from salesllm.scenario import Scenario

MakeDialogues = Callable[..., list[Dialogue]]

GREEDY = Sampling(temperature=0.0)
C, S = Speaker.CUSTOMER, Speaker.SALESPERSON


def dialogue(*turns: tuple[Speaker, str], id: str = "d") -> Dialogue:
    records = [{"speaker": speaker, "text": text} for speaker, text in turns]
    return Dialogue(
        id=id,
        language="en",
        source="test",
        product_line="bikes",
        turns=records,  # type: ignore[arg-type]
    )


def prompt_of(dialogue: Dialogue, scenario: Scenario | None) -> str:
    return f"script of {dialogue.id}"


class Parrot:
    """A local customer that repeats what it saw, so that a reply shows the prompt it answers."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def generate(self, batch: Sequence[Sequence[Message]], sampling: Sampling) -> list[Reply]:
        self.sizes.append(len(batch))
        return [Reply(" | ".join(f"{m['role']}: {m['content']}" for m in chat)) for chat in batch]


class Endpoint:
    """A remote customer that fails on what the test names."""

    name = "endpoint"

    def __init__(self, fails: Callable[[str], bool]) -> None:
        self.fails = fails

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        last = messages[-1]["content"]
        if self.fails(last):
            raise EndpointError("reset by peer")
        return Reply(f"so {last} [END]")


TALK = dialogue((C, "hi"), (S, "hello"), (C, "price?"), (S, "50"), (S, "or 45"), (C, "ok"))


def test_targets_are_customer_turns_with_a_salespersons_turn_before_them() -> None:
    targets = find_targets([TALK, dialogue((S, "hello"), (C, "no thanks"), (S, "bye"), id="e")])
    assert [(t.dialogue.id, t.turn, t.text, t.ends) for t in targets] == [
        ("d", 2, "price?", False),
        ("d", 5, "ok", True),
        ("e", 1, "no thanks", True),
    ]
    two_openers = dialogue((C, "hi"), (C, "anyone there?"), (S, "yes"), (C, "good"))
    assert [t.turn for t in find_targets([two_openers])] == [3]


def test_at_most_so_many_targets_a_language(make_dialogues: MakeDialogues) -> None:
    dialogues = [*make_dialogues("en", 20, seed=1), *make_dialogues("zh", 3, seed=1)]
    everything = find_targets(dialogues)
    some = find_targets(dialogues, max_turns=15, seed=1)
    assert [t.language for t in some] == ["en"] * 15 + ["zh"] * 9
    assert len({t.dialogue.id for t in some if t.language == "en"}) > 8  # not the first few only
    assert [t for t in everything if t in some] == some
    assert some == find_targets(dialogues, max_turns=15, seed=1)
    assert some != find_targets(dialogues, max_turns=15, seed=2)


def test_the_model_sees_its_script_and_the_true_turns_before_the_target_only() -> None:
    second = predict(Parrot(), find_targets([TALK]), None, prompt_of, GREEDY)[1]
    assert second.text == (
        "system: script of d | assistant: hi | user: hello | assistant: price? "
        "| user: 50 | user: or 45"
    )


def test_batches_keep_the_order_of_the_targets(make_dialogues: MakeDialogues) -> None:
    chat, targets, done = Parrot(), find_targets(make_dialogues("en", 5, seed=1)), []
    predictions = predict(chat, targets, None, prompt_of, GREEDY, batch_size=4, advance=done.append)
    assert [p.target for p in predictions] == targets
    for prediction in predictions:
        said = [turn.text for turn in prediction.target.dialogue.turns[: prediction.target.turn]]
        assert prediction.text is not None
        assert prediction.text.endswith(said[-1])
    assert chat.sizes == [4, 4, 4, 3]
    assert sum(done) == 15


def test_the_end_marker_is_taken_off_and_remembered() -> None:
    first, second = predict(
        Endpoint(lambda _: False), find_targets([TALK]), None, prompt_of, GREEDY
    )
    assert (first.text, first.ended) == ("so hello", True)
    assert not first.target.ends
    assert second.target.ends
    assert second.as_dict()["reference_ends"] is True


def test_a_failed_call_is_no_prediction() -> None:
    first, second = predict(
        Endpoint(lambda last: last == "hello"), find_targets([TALK]), None, prompt_of, GREEDY
    )
    assert (first.text, first.error) == (None, "EndpointError: reset by peer")
    assert (second.text, second.error) == ("so or 45", None)


def test_calls_that_all_fail_are_an_error() -> None:
    with pytest.raises(InputError, match=r"every call failed.*reset by peer"):
        predict(Endpoint(lambda _: True), find_targets([TALK]), None, prompt_of, GREEDY)


def test_a_scenario_that_is_not_there() -> None:
    named = TALK.model_copy(update={"scenario_id": "s9"})
    with pytest.raises(InputError, match="unknown scenario 's9'"):
        predict(Parrot(), find_targets([named]), {}, prompt_of, GREEDY)
