"""Numbers with their units, in Chinese and in English."""
