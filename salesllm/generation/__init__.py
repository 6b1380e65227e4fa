"""Making the scenario space: its recipe, its files, and the LLM that may write it."""
