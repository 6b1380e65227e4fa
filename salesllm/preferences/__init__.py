"""Preference pairs from rollouts: simulated, judged, paired, augmented, reviewed, exported."""
