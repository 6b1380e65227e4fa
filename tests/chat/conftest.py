from __future__ import annotations

from collections.abc import Iterator

import pytest
from loopback import Loopback


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running
