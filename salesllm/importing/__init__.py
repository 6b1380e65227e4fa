"""From raw logs to clean dialogues: readers, masking, language check, duplicates, statistics."""
