"""Copy models from the bucket to the pod's disk, or its node's: the init container of every pod that reads a model.

Environment: HF_HOME (the copy), MODELS (a JSON list of {model, revision, tokenizer_only}), BUCKET, AWS_CLI; OF_NODE
where HF_HOME is a folder of the node, which its copier gives away first. Run again, it copies only the files that are
not whole yet; run by several pods with one HF_HOME, one copies and the others find it whole. A file that is not what
the manifest says is named, and none is used.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from .node import alone, wait_for_owner
from .store import (
    STREAMS,
    File,
    Model,
    checksum,
    checksums,
    manifest,
    models,
    objects,
    say,
    shrunk,
    transfer_many,
    url,
)

WEIGHTS = ".safetensors"


def wanted(there: Mapping[str, int], model: Model) -> list[File]:
    """The files to copy; ends where the bucket has not all of them, in their sizes: before GPUs wait for a byte."""
    listed = manifest(there, model)
    if listed is None:
        sys.exit(f"{url(model.manifests[0])} is not there: {model} is not whole in the bucket")
    files = [each for each in listed if not (model.tokenizer_only and each.path.endswith(WEIGHTS))]
    if problems := shrunk(there, files):
        sys.exit(f"{model}: {'; '.join(problems)}; {_remedy()}")
    return files


def clear(home: Path, files: Iterable[File]) -> None:
    """Delete what an earlier copy that was cut off left beside the files: the CLI gives a file its name last."""
    paths = {home / each.path for each in files}
    for folder in {path.parent for path in paths if path.parent.is_dir()}:
        for path in folder.iterdir():
            if path.is_file() and path not in paths:
                path.unlink()


def missing(home: Path, files: Iterable[File]) -> list[File]:
    """The files that are not there in their size."""
    return [each for each in files if _size(home / each.path) != each.size]


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def check_room(home: Path, size: int) -> None:
    """End where the disk has no room for that many more bytes."""
    free = shutil.disk_usage(home).free
    if size > free:
        sys.exit(
            f"the disk of {home} has {free / 1e9:.1f} GB free, but {size / 1e9:.1f} GB are to be copied; "
            "the node needs more room for its pods"
        )


def copy(home: Path, files: list[File]) -> dict[Path, str]:
    """Copy those files and no others. Returns their SHA-256, each taken while others are still copied."""
    names = [word for each in files for word in ("--include", each.path)]
    running = dict[Path, Future[str]]()
    with ThreadPoolExecutor(STREAMS) as pool:

        def look() -> None:
            for each in files:
                path = home / each.path
                if path not in running and _size(path) == each.size:
                    running[path] = pool.submit(settled, path)

        if names:
            words = ("--recursive", "--no-progress", "--exclude", "*", *names)
            transfer_many(look, "cp", url(""), str(home), *words)
            look()
        return {path: future.result() for path, future in running.items()}


def settled(path: Path) -> str:
    """SHA-256 of a file, which then is on the disk: the marker outlives a reboot, and so must what it stands for."""
    digest = checksum(path)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return digest


def check(home: Path, model: Model, files: list[File], known: Mapping[Path, str]) -> None:
    """End with the names of files that are not what the manifest says; they are deleted, to be copied again.

    known: SHA-256 of those that were copied just now.
    """
    short = missing(home, files)
    problems = [
        f"{url(each.path)}: {_size(home / each.path) or 0} of {each.size} bytes were copied" for each in short
    ]
    there = [home / each.path for each in files if each not in short]
    sums = {**checksums((path for path in there if path not in known), settled), **known}
    wrong = [each for each in files if sums.get(home / each.path, each.sha256) != each.sha256]
    problems += [
        f"{url(each.path)}: sha256 {sums[home / each.path]}, not {each.sha256} as its manifest says"
        for each in wrong
    ]
    for each in [*short, *wrong]:
        (home / each.path).unlink(missing_ok=True)
    if problems:
        sys.exit(f"{model}: {'; '.join(problems)}; {_remedy()}")


def _remedy() -> str:
    return "delete it from the bucket, and run job/model-download again"


def marker(home: Path, model: Model) -> Path:
    """The file that says that the copy is whole."""
    part = "-tokenizer" if model.tokenizer_only else ""
    return home / f".complete-{model.model.replace('/', '--')}-{model.revision}{part}"


def is_whole(home: Path, model: Model) -> bool:
    """Whether the marker is there, and every file that it names, in its size."""
    try:
        said = json.loads(marker(home, model).read_bytes())
        files = [(home / path, size) for path, size in said["files"].items()]
    except (OSError, ValueError, TypeError):
        return False
    return all(_size(path) == size for path, size in files)


def fetch(home: Path, there: Mapping[str, int], model: Model) -> None:
    """Copy one model and leave its marker."""
    files = wanted(there, model)
    clear(home, files)
    lacking = missing(home, files)
    check_room(home, sum(each.size for each in lacking))
    check(home, model, files, copy(home, lacking))
    said = {"files": {each.path: each.size for each in files}}
    marker(home, model).write_text(json.dumps(said, indent=1))
    total = sum(each.size for each in files)
    say(f"complete: {model} in {home}, {total / 1e9:.1f} GB checked")


def main() -> None:
    """Copy every model that is not whole."""
    # The first process of a container hears no SIGTERM unless it says what to do; this ends the CLI, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    home = Path(os.environ["HF_HOME"])
    if "OF_NODE" in os.environ:
        # Pods of two users share it, and their group.
        os.umask(0o002)
        wait_for_owner(home)
    with alone(home):
        lacking = [each for each in models() if not is_whole(home, each)]
        if not lacking:
            say(f"{home} has all models: nothing to copy")
            return
        there = objects()
        for each in lacking:
            fetch(home, there, each)


if __name__ == "__main__":
    main()
