"""Inspect AI is an extra of its own: without it there is nothing to test here."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("inspect_ai") else ["test_*.py"]
