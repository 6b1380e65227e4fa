"""Scores of a dialogue: buying intent, selling, and the two together."""
