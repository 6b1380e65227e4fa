import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from salesllm.dialogue import Dialogue, Language, Speaker
from salesllm.errors import InputError
from salesllm.fidelity.inversion import THRESHOLD, CustomerTurn, SpeakerDetector

MakeDialogues = Callable[..., list[Dialogue]]


def turns_of(dialogues: list[Dialogue], speaker: Speaker) -> list[CustomerTurn]:
    return [
        CustomerTurn(d.id, d.language, turn.text)
        for d in dialogues
        for turn in d.turns
        if turn.speaker is speaker
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_tells_the_sides_apart_on_dialogues_it_never_saw(
    make_dialogues: MakeDialogues, language: Language
) -> None:
    detector = SpeakerDetector.fit(make_dialogues(language, 100, seed=1))
    held_out = make_dialogues(language, 60, seed=2)
    report = detector.evaluate(held_out)[language]
    # One turn in ten is in the other side's words, so 0.9 is the best there is.
    assert report.accuracy.low <= 0.9 <= report.accuracy.high
    assert report.accuracy.n == 480
    assert report.majority == 0.5
    assert report.auc == pytest.approx(0.9, abs=0.05)
    assert report.reference_rate.low <= 0.1 <= report.reference_rate.high
    assert report.reference_rate == detector.inversion_rate(turns_of(held_out, Speaker.CUSTOMER))


def test_without_a_difference_between_the_sides_it_finds_none(
    make_dialogues: MakeDialogues,
) -> None:
    rng, dialogues = random.Random(0), []
    for dialogue in make_dialogues("en", 200, seed=1):
        texts = [turn.text for turn in dialogue.turns]
        rng.shuffle(texts)
        turns = [
            t.model_copy(update={"text": x}) for t, x in zip(dialogue.turns, texts, strict=True)
        ]
        dialogues.append(dialogue.model_copy(update={"turns": tuple(turns)}))
    report = SpeakerDetector.fit(dialogues[:100]).evaluate(dialogues[100:])["en"]
    assert report.accuracy.value == pytest.approx(0.5, abs=0.06)
    assert report.auc == pytest.approx(0.5, abs=0.07)


def test_the_rate_follows_planted_inversions(make_dialogues: MakeDialogues) -> None:
    detector = SpeakerDetector.fit(make_dialogues("zh", 100, seed=1))
    held_out = make_dialogues("zh", 100, seed=2)
    customer, sales = turns_of(held_out, Speaker.CUSTOMER), turns_of(held_out, Speaker.SALESPERSON)
    floor, ceiling = (detector.inversion_rate(turns).value for turns in (customer, sales))
    for share in (0.05, 0.1, 0.2):
        rng = np.random.default_rng(0)
        swap = rng.random(len(customer)) < share
        mixed = [s if flag else c for c, s, flag in zip(customer, sales, swap, strict=True)]
        expected = floor + swap.mean() * (ceiling - floor)
        assert detector.inversion_rate(mixed).value == pytest.approx(expected, abs=0.02)


def test_it_refuses_to_be_measured_on_what_it_was_fitted_to(make_dialogues: MakeDialogues) -> None:
    seen = make_dialogues("en", 20, seed=1)
    new = make_dialogues("en", 5, seed=2)
    detector = SpeakerDetector.fit(seen)
    same_id = new[0].model_copy(update={"id": seen[3].id})
    same_text = seen[3].model_copy(update={"id": "another"})
    for leak in (seen[3], same_id, same_text):
        with pytest.raises(InputError, match="was fitted to dialogue"):
            detector.evaluate([*new[1:], leak])


def test_both_speakers_weigh_the_same_whoever_talks_more(make_dialogues: MakeDialogues) -> None:
    dialogues = []
    for dialogue in make_dialogues("en", 100, seed=1):
        again = [turn for turn in dialogue.turns if turn.speaker is Speaker.CUSTOMER] * 4
        dialogues.append(dialogue.model_copy(update={"turns": (*dialogue.turns, *again)}))
    detector = SpeakerDetector.fit(dialogues)  # five customer turns to one of the salesperson's
    held_out = make_dialogues("en", 100, seed=2)
    missed = 1 - detector.inversion_rate(turns_of(held_out, Speaker.SALESPERSON)).value
    flagged = detector.inversion_rate(turns_of(held_out, Speaker.CUSTOMER)).value
    assert missed == pytest.approx(flagged, abs=0.05)


def test_saved_and_loaded_it_says_the_same(make_dialogues: MakeDialogues, tmp_path: Path) -> None:
    dialogues = [*make_dialogues("en", 30, seed=1), *make_dialogues("zh", 30, seed=1)]
    detector = SpeakerDetector.fit(dialogues)
    detector.save(tmp_path / "detector.npz")
    loaded = SpeakerDetector.load(tmp_path / "detector.npz")
    assert loaded.languages == ("en", "zh")
    for language in loaded.languages:
        texts = [turn.text for d in make_dialogues(language, 5, seed=3) for turn in d.turns]
        expected = detector.predict_proba(texts, language)
        np.testing.assert_array_equal(loaded.predict_proba(texts, language), expected)
    with pytest.raises(InputError, match="was fitted to"):
        loaded.evaluate(dialogues[:1])
    with np.load(tmp_path / "detector.npz", allow_pickle=False) as arrays:
        assert all(array.dtype != object for array in arrays.values())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_text_is_judged_as_among_many(
    make_dialogues: MakeDialogues, language: Language
) -> None:
    detector = SpeakerDetector.fit(make_dialogues(language, 40, seed=1))
    texts = [turn.text for d in make_dialogues(language, 10, seed=2) for turn in d.turns]
    texts += ["", "ööö", "我 THE", texts[0] * 3]  # no n-gram, none that is known, many twice
    one_by_one = [detector.p_salesperson(text, language) for text in texts]
    np.testing.assert_allclose(one_by_one, detector.predict_proba(texts, language), rtol=1e-12)


def test_files_that_are_no_detector(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        SpeakerDetector.load(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    for name in ("text.npz", "other.npz"):
        with pytest.raises(InputError, match="not a saved speaker detector"):
            SpeakerDetector.load(tmp_path / name)


def test_a_language_without_training_dialogues(make_dialogues: MakeDialogues) -> None:
    detector = SpeakerDetector.fit(make_dialogues("en", 10, seed=1))
    with pytest.raises(InputError, match="no dialogue in 'zh'"):
        detector.predict_proba(["多少钱？"], "zh")
    with pytest.raises(InputError, match="needs dialogues"):
        SpeakerDetector.fit([])


def test_rates_of_no_turns_and_of_both_languages(make_dialogues: MakeDialogues) -> None:
    detector = SpeakerDetector.fit(
        [*make_dialogues("en", 40, seed=1), *make_dialogues("zh", 40, seed=1)]
    )
    assert detector.inversion_rate([]).n == 0
    both = [
        CustomerTurn("a", "zh", "今天下单打九折，给您留一台？"),
        CustomerTurn("a", "en", "not sure, sounds pricey"),
        CustomerTurn("b", "en", "I can offer you free delivery this week."),
        CustomerTurn("b", "zh", "我再想想吧，有点贵"),
    ]
    assert (detector.judge(both) >= THRESHOLD).tolist() == [True, False, True, False]
    assert detector.inversion_rate(both).value == 0.5
