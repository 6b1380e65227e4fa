"""The SalesLLM score: buying and selling, weighted."""

from __future__ import annotations

ALPHA = 0.6
"""Weight of the buying score. The paper names none; this is that of its authors' repository."""


def final_score(buying: float | None, selling: float | None, alpha: float = ALPHA) -> float | None:
    """alpha * buying + (1 - alpha) * selling; None when either is missing.

    Args:
        buying: 0-10.
        selling: 0-10.
        alpha: 0-1.

    Raises:
        ValueError: Something is out of its range.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, not {alpha}")
    if buying is None or selling is None:
        return None
    if not (0 <= buying <= 10 and 0 <= selling <= 10):
        raise ValueError(f"scores must be between 0 and 10, not {buying} and {selling}")
    return alpha * buying + (1 - alpha) * selling
