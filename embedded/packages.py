"""What verbs install from PyPI at their first use: held to the hashes in locks/, which `make lock` writes."""

import hashlib
from pathlib import Path

from embedded.paths import PROJECT


def lock_file(name: str) -> Path:
    """The file of that name in locks/."""
    return PROJECT / "locks" / f"{name}.txt"


def locked(name: str) -> list[str]:
    """What pip is told to install all of a lock."""
    return ["--require-hashes", "--requirement", str(lock_file(name))]


def digest(*parts: str) -> str:
    """Ends the name of a folder in the cache: what is made of other parts is made anew."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
