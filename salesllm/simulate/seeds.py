"""Seeds that follow from what they are for, so that a run repeats itself in any order."""

from __future__ import annotations

import hashlib


def derived_seed(*parts: str | int) -> int:
    """31 bits that depend on all parts: every endpoint takes so small a number."""
    text = "\0".join(map(str, parts))
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    return int.from_bytes(digest) >> 1
