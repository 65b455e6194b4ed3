"""Fill the bucket: download what it lacks to this pod's disk, check it, upload it, and say last that it is whole.

Runs in the download Job. Environment: HF_HOME (the pod's disk), MODELS (a JSON list of {model, revision,
tokenizer_only}), VOCABULARY_PATH, BUCKET, AWS_CLI, and what download_model.py reads. Run again, it downloads nothing
for a model that is whole, and uploads no file that the bucket has: an object carries the checksum of its content.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from .store import (
    File,
    Model,
    answer,
    checksums,
    manifest,
    models,
    objects,
    say,
    shrunk,
    transfer,
    url,
    write_manifest,
)  # fmt: skip

DOWNLOAD = Path(__file__).with_name("download_model.py")
SHA256 = re.compile("[0-9a-f]{64}")


def is_whole(there: Mapping[str, int], model: Model) -> bool:
    """Whether the bucket has all of a model."""
    files = manifest(there, model)
    return files is not None and not shrunk(there, files)


def download(lacking: list[Model]) -> None:
    """Fetch the models to the pod's disk; the script's own last words are this program's."""
    environment = os.environ | {"MODELS": json.dumps([asdict(each) for each in lacking])}
    done = subprocess.run([sys.executable, str(DOWNLOAD)], env=environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def found(home: Path, model: Model, vocabulary: Path) -> dict[str, Path]:
    """Files of a model on the disk, by their path below HF_HOME: those of its revision, its name, the vocabulary."""
    folder = home / model.folder
    ref = folder / "refs" / model.revision
    commit = ref.read_text().strip() if ref.is_file() else model.revision
    paths = [*sorted((folder / "snapshots" / commit).rglob("*")), ref, *sorted(vocabulary.glob("*.tiktoken"))]
    return {str(path.relative_to(home)): path.resolve() for path in paths if path.is_file()}


def upload(home: Path, there: Mapping[str, int], model: Model, vocabulary: Path) -> None:
    """Put a model into the bucket, its manifest last."""
    paths = found(home, model, vocabulary)
    sums = checksums(paths.values())
    # Hugging Face calls a large file by its SHA-256 (the Git LFS object's id).
    wrong = [name for name, path in paths.items() if SHA256.fullmatch(path.name) and path.name != sums[path]]
    if wrong:
        sys.exit(f"{model}: {', '.join(wrong)} is not what the hub has under that name; run the Job again")
    files = [File(name, path.stat().st_size, sums[path]) for name, path in paths.items()]
    for each in files:
        if there.get(each.path) == each.size and _checksum_of(each.path) == each.sha256:
            say(f"{url(each.path)} is there")
            continue
        # S3 refuses an upload whose content has not the checksum that the CLI sends with it.
        words = ("--metadata", f"sha256={each.sha256}", "--no-progress")
        transfer("cp", str(paths[each.path]), url(each.path), *words)
    if problems := shrunk(objects(), files):
        sys.exit(f"{model}: {'; '.join(problems)}")
    write_manifest(model, files)
    say(f"complete: {model}, {sum(each.size for each in files) / 1e9:.1f} GB in {url('')}")


def _checksum_of(path: str) -> str:
    """What an object's metadata says of its content."""
    bucket, _, key = url(path).removeprefix("s3://").partition("/")
    words = ("--bucket", bucket, "--key", key, "--query", "Metadata.sha256", "--output", "text")
    return answer("s3api", "head-object", *words).decode().strip()


def main() -> None:
    """Fill the bucket with what it lacks."""
    home, vocabulary = Path(os.environ["HF_HOME"]), Path(os.environ["VOCABULARY_PATH"])
    there = objects()
    lacking = [each for each in models() if not is_whole(there, each)]
    if not lacking:
        say(f"{url('')} has all models: nothing to download")
        return
    download(lacking)
    for each in lacking:
        upload(home, there, each, vocabulary)


if __name__ == "__main__":
    main()
