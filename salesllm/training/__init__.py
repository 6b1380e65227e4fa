"""Training: rows, chat template, models, run folders."""
