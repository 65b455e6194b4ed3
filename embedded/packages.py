"""What verbs install from PyPI at their first use: held to the hashes in locks/, which `make lock` writes."""

from collections.abc import Sequence
from pathlib import Path

from embedded.paths import PROJECT


def lock(name: str) -> Path:
    """The file of that name in locks/."""
    return PROJECT / "locks" / f"{name}.txt"


def pip_arguments(name: str, requirements: Sequence[str]) -> list[str]:
    """What pip is told to install: the lock, or the requirements where there is none of that name."""
    return ["--require-hashes", "--requirement", str(lock(name))] if lock(name).exists() else [*requirements]
