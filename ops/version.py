"""The project's version, which pyproject.toml alone says."""

import tomllib
from pathlib import Path

_FILE = Path(__file__).resolve().parent.parent / "pyproject.toml"


def version() -> str:
    """As `dynamo-gpt-oss --version` shows it."""
    return str(tomllib.loads(_FILE.read_text())["project"]["version"])
