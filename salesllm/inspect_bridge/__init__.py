"""The benchmark for Inspect AI: its model sells, our `simulate` and scorers do the rest."""
