"""How tests wait for what other processes do."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300
"""Seconds after which what has not come is taken to be lost: a busy machine is no failure."""


def eventually(holds: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Returns once something is true. Fails if it is not within that time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.05)
