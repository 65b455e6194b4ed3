"""Asks the argument parsers of released Dynamo versions what they think of a command line.

Each release's wheels are downloaded once by pip, checked against pinned hashes and unpacked, never installed: engines
and CUDA stay out.  One subprocess for a release and module answers for many command lines (`child.py`).
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded.paths import CACHE, PROJECT
from tests.waiting import PATIENCE

MODULES = ("frontend", "vllm", "sglang", "trtllm", "mocker")
"""The `dynamo.<module>` programs whose parsers can be asked."""

_PYTHON_WHEEL, _RUNTIME_X86_64, _RUNTIME_AARCH64 = range(3)
HASHES = {
    "0.4.1": ("c758722e2e291ef39af92c487fa1221c40fa8a91008655347c0cc89fa793c90a",),
    "1.0.2": (
        "e20aebe4fd2c8376d7688d5502c3df6e65288c92c229aa4d0e20baad62adfe82",
        "be1a6838bf90001b52900be3dd2466a4874700f1b81fa5f3ab82688a94fb77d5",
        "395e908b0248a6de72c8eb685260999a697ac32f992ecd8290e6287bb799eb33",
    ),
    "1.2.1": (
        "6f4c23be9bf3cf28ac0edcd79d155ebf25fd75aad1cf7999dbb2e574434ce194",
        "9bcd83f9b360de744141100cceb858eadfe338b8ceb0cafcca0d51dcf23cec78",
        "b3f6a496eabe17ff4a10a97cd6126488492ad3ac63dc9fc30fcf6f99c7fafe94",
    ),
    "1.3.1": (
        "49ba9eba3d08eb22c2ebf8a5fd21b6a1f516775b839058d0120cc0cf66968d1d",
        "75ff5632372ad3278bcc3da6e2320e12f29fd663f93aba0db0127fac446e2a7b",
        "4d5c0a25b4d0bcaf2a88f9fd0fb5c9ea27261b6b0fcba94c15195bf208e4be00",
    ),
    "1.4.2": (
        "02b3d386b71c0830254ab0878602b5ea77246cedcd731d0078e863cd4b0dabd2",
        "1d0a62998f5d182c7ff7819f9d7d451bbe4c6f7a063f2ff7af662fa0e86e98b9",
        "195683380b86ce25c4d1316b38359bad1e5a8ec25a2cf8b70ec2c408217f6d15",
    ),
    "1.6.1": (
        "83f768730104cbbc84029bf436025706632735173933adbb650b99c746517b70",
        "3683cafe88ededdff29c9ae6f651367eac33153487ff84e205082483cd6b3095",
        "a9fc474400736f11341312b7b0abf30cea6467fd39c6adfa1a3911d26bb30a81",
    ),
}
"""SHA-256 of the wheels as PyPI lists them: ai-dynamo, then ai-dynamo-runtime for x86_64 and aarch64.

The compiled runtime tells the parsers from 1.0 on which tool-call and reasoning parsers exist; 0.4 has none.
"""

RELEASES = tuple(HASHES)
"""The Dynamo releases that can be asked."""


@dataclass(frozen=True)
class ParseResult:
    """Whether a release's parser took a command line; `error` is what it printed or raised, empty if it did."""

    accepted: bool
    error: str


def parse(release: str, module: str, argv: Sequence[str]) -> ParseResult:
    """The verdict on one command line: the arguments after `python3 -m dynamo.<module>`."""
    return parse_all(release, module, [argv])[0]


def parse_all(release: str, module: str, argvs: Sequence[Sequence[str]]) -> list[ParseResult]:
    """The verdicts on several command lines, in order, from one subprocess (about a second).

    Raises RuntimeError if the release cannot be downloaded or its parser cannot be run at all.
    """
    minor = release.rpartition(".")[0]
    answers = run_child("child", release, [list(argv) for argv in argvs], module, minor)
    return [ParseResult(*answer) for answer in answers]


def run_child(child: str, release: str, question: object, *args: str) -> Any:
    """What `tests.parsers.<child>` prints as JSON for a release's folder and the arguments; question: JSON on stdin.

    Raises RuntimeError if the release cannot be downloaded or the child fails.
    """
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-m", f"tests.parsers.{child}", str(unpacked(release)), *args],
            input=json.dumps(question),
            env={"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "PYTHONPATH": str(PROJECT)},
            cwd=home,
            timeout=PATIENCE,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{child} {' '.join(args)} of Dynamo {release} did not run:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def unpacked(release: str) -> Path:
    """Directory that holds the release's `dynamo` package, downloaded at first use (0.1 to 79 MB)."""
    hashes = HASHES[release]
    target = CACHE / f"parsers-{hashlib.sha256(''.join(hashes).encode()).hexdigest()[:16]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            print(f"downloading Dynamo {release}'s argument parsers", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=CACHE) as work:
                site = Path(work) / "site"
                for wheel in _download(release, hashes, Path(work)):
                    with zipfile.ZipFile(wheel) as archive:
                        archive.extractall(site)
                site.rename(target)
    return target


def _download(release: str, hashes: Sequence[str], folder: Path) -> list[Path]:
    wheels = [f"ai-dynamo=={release} --hash=sha256:{hashes[_PYTHON_WHEEL]}"]
    if hashes[_RUNTIME_X86_64:]:
        either = (f"--hash=sha256:{hashes[arch]}" for arch in (_RUNTIME_X86_64, _RUNTIME_AARCH64))
        wheels.append(f"ai-dynamo-runtime=={release} {' '.join(either)}")
    wanted = folder / "requirements.txt"
    wanted.write_text("\n".join(wheels))
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [
            *pip,
            "--only-binary=:all:",
            "--require-hashes",
            "--dest",
            str(folder),
            "--requirement",
            str(wanted),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"Dynamo {release} could not be downloaded:\n{done.stderr}")
    return list(folder.glob("*.whl"))
