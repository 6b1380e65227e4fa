"""One dialogue between a salesperson and a customer, from the customer's opener to its end."""

from salesllm.simulate.cleaning import said
from salesllm.simulate.guard import Guard, GuardCounts
from salesllm.simulate.outcome import Simulated, Termination
from salesllm.simulate.seeds import derived_seed
from salesllm.simulate.speaking import REDRAWS
from salesllm.simulate.talk import simulate

__all__ = [
    "REDRAWS",
    "Guard",
    "GuardCounts",
    "Simulated",
    "Termination",
    "derived_seed",
    "said",
    "simulate",
]
