"""Concessions that a salesperson makes and nothing authorises.

The paper names the phenomenon among its limitations: discounts that no script mentions. Two look
for it: `numbers`, which needs no model and reads numbers alone, and `GroundingJudge`, an LLM.
"""

from salesllm.scoring.grounding.check import numbers
from salesllm.scoring.grounding.concession import Concession, Grounding, merged
from salesllm.scoring.grounding.judge import PROMPT, GroundingJudge

__all__ = ["PROMPT", "Concession", "Grounding", "GroundingJudge", "merged", "numbers"]
