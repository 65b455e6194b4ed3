"""Copy models from the bucket to this pod's disk: the init container of every pod that reads a model.

Environment: HF_HOME (the copy), MODELS (a JSON list of {model, revision, tokenizer_only}), BUCKET, AWS_CLI. Run again,
it copies only the files that are not whole yet. A file that is not what the manifest says is named, and none is used.
"""

import os
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from .store import File, Model, checksums, manifest, models, objects, say, shrunk, transfer, url

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


def copy(home: Path, files: Iterable[File]) -> None:
    """Copy those files and no others."""
    names = [word for each in files for word in ("--include", each.path)]
    if names:
        transfer("cp", url(""), str(home), "--recursive", "--no-progress", "--exclude", "*", *names)


def check(home: Path, model: Model, files: list[File]) -> None:
    """End with the names of files that are not what the manifest says; they are deleted, to be copied again."""
    short = missing(home, files)
    problems = [
        f"{url(each.path)}: {_size(home / each.path) or 0} of {each.size} bytes were copied" for each in short
    ]
    sums = checksums(home / each.path for each in files if each not in short)
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


def fetch(home: Path, there: Mapping[str, int], model: Model) -> None:
    """Copy one model and leave its marker."""
    files = wanted(there, model)
    clear(home, files)
    copy(home, missing(home, files))
    check(home, model, files)
    total = sum(each.size for each in files)
    marker(home, model).write_text(f"{total}\n")
    say(f"complete: {model} in {home}, {total / 1e9:.1f} GB checked")


def main() -> None:
    """Copy every model whose marker is not there."""
    # The first process of a container hears no SIGTERM unless it says what to do; this ends the CLI, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    home = Path(os.environ["HF_HOME"])
    lacking = [each for each in models() if not marker(home, each).exists()]
    if not lacking:
        say(f"{home} has all models: nothing to copy")
        return
    there = objects()
    for each in lacking:
        fetch(home, there, each)


if __name__ == "__main__":
    main()
