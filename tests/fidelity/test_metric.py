from salesllm.fidelity.metric import UserLikeness
from salesllm.fidelity.similarity import LEXICAL, mean_sd, turn_scores


def test_evaluate_metric_scores_the_same_turns_without_a_download() -> None:
    predictions = ["is it still for sale?", "sure", "can you do $20 lower?"]
    references = ["is it still available?", "ok", "would you go $20 lower?"]
    result = UserLikeness().compute(predictions=predictions, references=references, language="en")
    rows = [turn_scores(predictions[i], references[i], "en") for i in (0, 2)]  # "ok" is too short
    for name in LEXICAL:
        assert result[name] == mean_sd([row[name] for row in rows])
    assert "cosine" not in result
