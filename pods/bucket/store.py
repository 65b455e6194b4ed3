"""The bucket as both programs see it: its objects, and a manifest for each model that is whole.

Objects have the paths, below `model-cache/`, that their files have below HF_HOME. A manifest is written last, so what
it names was there, with these sizes and checksums. Environment: BUCKET, AWS_CLI (the executable), and what that reads
itself. Everything here ends with SystemExit and a sentence where it cannot go on.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

PREFIX = "model-cache/"
CHUNK = 16 << 20
"""Bytes of one read."""
STREAMS = 16
"""Files read at once: one checksum alone is slower than the disks."""


@dataclass(frozen=True)
class File:
    """path: below HF_HOME, and below the bucket's prefix. size: in bytes."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Model:
    """tokenizer_only: whether everything but the weights is enough."""

    model: str
    revision: str
    tokenizer_only: bool

    @property
    def folder(self) -> str:
        """Its folder below HF_HOME, as Hugging Face lays it out."""
        return f"hub/models--{self.model.replace('/', '--')}"

    @property
    def manifest(self) -> str:
        """Path of its manifest."""
        part = "-tokenizer" if self.tokenizer_only else ""
        return f"manifests/{self.model.replace('/', '--')}-{self.revision}{part}.json"

    @property
    def manifests(self) -> list[str]:
        """Manifests that name all its files, the best first: a whole model holds its tokenizer."""
        whole = Model(self.model, self.revision, tokenizer_only=False)
        return list(dict.fromkeys((whole.manifest, self.manifest)))

    def __str__(self) -> str:
        return f"{self.model}@{self.revision}"


def models() -> list[Model]:
    """What the environment's MODELS names."""
    return [Model(**each) for each in json.loads(os.environ["MODELS"])]


def say(text: str) -> None:
    """One line of progress, visible in `kubectl logs` at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def url(path: str) -> str:
    """Where an object is."""
    return f"s3://{os.environ['BUCKET']}/{PREFIX}{path}"


def transfer(*words: str, given: bytes | None = None) -> None:
    """Run `aws s3`, whose lines go to this program's output. given: its standard input."""
    _aws(["s3", *words], given, None)


def transfer_many(hear: Callable[[], object], *words: str) -> None:
    """Run `aws s3`, which writes a line for each file that it is done with; `hear` is called after each."""
    command = [os.environ["AWS_CLI"], "s3", *words]
    with tempfile.TemporaryFile() as errors:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=_environment())
        try:
            assert running.stdout is not None
            for line in running.stdout:
                print(line.decode(errors="replace"), end="", flush=True)
                hear()
            status = running.wait()
        except BaseException:
            running.kill()
            running.wait()
            raise
        errors.seek(0)
        _judge(["s3", *words], status, errors.read())


def answer(*words: str) -> bytes:
    """What the AWS CLI says."""
    return _aws(list(words), None, subprocess.PIPE)


def _aws(words: list[str], given: bytes | None, stdout: int | None) -> bytes:
    done = subprocess.run(
        [os.environ["AWS_CLI"], *words],
        input=given,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=_environment(),
        check=False,
    )
    _judge(words, done.returncode, done.stderr)
    return done.stdout or b""


def _environment() -> dict[str, str]:
    """A proxy is the download's way out; pods reach S3, and who gives them their identity, without one."""
    return {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}


def _judge(words: list[str], status: int, errors: bytes) -> None:
    said = errors.decode(errors="replace").strip()
    if status:
        hint = (
            "; EKS gives a pod its identity when it is made: delete the pod" if "credentials" in said else ""
        )
        sys.exit(f"aws {words[0]} {words[1]} ended with {status}: {said}{hint}")
    if said:
        print(said, file=sys.stderr, flush=True)


def objects() -> dict[str, int]:
    """Size of everything below the prefix, in bytes, by path."""
    words = ("--bucket", os.environ["BUCKET"], "--prefix", PREFIX, "--query", "Contents[].[Key, Size]")
    found = json.loads(answer("s3api", "list-objects-v2", *words, "--output", "json") or b"null") or []
    return {key.removeprefix(PREFIX): size for key, size in found}


def manifest(there: Mapping[str, int], model: Model) -> list[File] | None:
    """The files of a model, None where the bucket has no manifest of it. there: what `objects` found."""
    path = next((path for path in model.manifests if path in there), None)
    if path is None:
        return None
    said = json.loads(answer("s3", "cp", url(path), "-"))
    return [File(**each) for each in said["files"]]


def write_manifest(model: Model, files: Iterable[File]) -> None:
    """Say that the model is whole."""
    said = {"model": model.model, "revision": model.revision, "files": [asdict(each) for each in files]}
    transfer("cp", "-", url(model.manifest), "--only-show-errors", given=json.dumps(said, indent=1).encode())


def shrunk(there: Mapping[str, int], files: Iterable[File]) -> list[str]:
    """What is missing from the bucket, or has another size than its manifest says: a phrase for each."""
    problems = []
    for each in files:
        if each.path not in there:
            problems.append(f"{url(each.path)} is not there")
        elif there[each.path] != each.size:
            problems.append(f"{url(each.path)} has {there[each.path]} bytes, not {each.size}")
    return problems


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(CHUNK))
    with path.open("rb", buffering=0) as reader:
        while count := reader.readinto(buffer):
            digest.update(buffer[:count])
    return digest.hexdigest()


def checksums(paths: Iterable[Path], take: Callable[[Path], str] = checksum) -> dict[Path, str]:
    """SHA-256 of files, several at once. take: what takes one."""
    listed = list(paths)
    with ThreadPoolExecutor(STREAMS) as pool:
        return dict(zip(listed, pool.map(take, listed), strict=True))
