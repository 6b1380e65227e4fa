"""Salespeople x customers x scenarios: simulated, scored, summed up."""
