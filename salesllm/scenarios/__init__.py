"""Scenarios: sampling, script rendering, sample dialogues."""
