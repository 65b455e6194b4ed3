"""What verbs install from PyPI at their first use: held to the hashes in locks/, which `make lock` writes."""

import hashlib
from pathlib import Path

from embedded.paths import PROJECT
from targets.errors import UserError

LOCKS = PROJECT / "locks"


class LockError(UserError):
    """A lock is missing; the message names it."""


def locked(name: str) -> list[str]:
    """What pip is told to install all of a lock."""
    return ["--require-hashes", "--requirement", str(_file(name))]


def read_lock(name: str) -> str:
    """A lock's text, which tells apart what was installed from it and what was not. Raises LockError."""
    try:
        return _file(name).read_text()
    except (
        FileNotFoundError
    ) as missing:  # an embedded cluster that is older than its checkout asks for it, too
        raise LockError(
            f"{missing.filename} is missing: `make lock` writes it, `make down` ends what asks for it"
        ) from None


def digest(*parts: str) -> str:
    """Ends the name of a folder in the cache: what is made of other parts is made anew."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _file(name: str) -> Path:
    return LOCKS / f"{name}.txt"
