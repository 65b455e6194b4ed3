"""How tests wait for what other processes do."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300
"""Seconds after which what has not come is taken to be lost: a busy machine is no failure."""


def await_definition(kubectl: Callable[..., str], name: str, kind: str) -> None:
    """Returns once the API server serves what a CustomResourceDefinition defines."""
    # Names first: a definition has no conditions before, and kubectl fails on none.
    for what in (f"jsonpath={{.status.acceptedNames.kind}}={kind}", "condition=Established"):
        kubectl("wait", f"--for={what}", f"crd/{name}", f"--timeout={PATIENCE}s")


def eventually(holds: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Returns once something is true. Fails if it is not within that time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.05)
