"""Fill the model cache: weights and the tokenizer vocabulary, checked, with a marker for each model that is there.

Runs in the download Job. Environment: HF_HOME, MODELS (a JSON list of {model, revision, tokenizer_only}),
VOCABULARY_PATH, and HF_TOKEN_PATH where a token is needed. Running it again on a complete cache fetches nothing.
"""

import fnmatch
import hashlib
import json
import os
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

EXCLUDED = ("original/*", "metal/*")
"""The same weights in two other formats, about twice the download."""
WEIGHTS = ("*.safetensors",)
ATTEMPTS = 6
VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def say(text: str) -> None:
    """One line of progress, visible in `kubectl logs` at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def download(model: str, revision: str, excluded: Sequence[str]) -> Path:
    """Fetch the snapshot, resuming what an earlier attempt left. Returns its folder; raises after the last attempt."""
    from huggingface_hub import snapshot_download

    for attempt in range(1, ATTEMPTS + 1):
        try:
            say(f"downloading {model}@{revision}, attempt {attempt} of {ATTEMPTS}")
            return Path(snapshot_download(model, revision=revision, ignore_patterns=list(excluded)))
        except Exception as error:  # any failure of the network or the hub: rate limits come as several types
            if attempt == ATTEMPTS:
                raise
            pause = min(30 * 2 ** (attempt - 1), 600)
            say(f"failed ({error}); again in {pause} s")
            time.sleep(pause)
    raise AssertionError("unreachable: the last attempt returns or raises")


def check_sizes(model: str, revision: str, excluded: Sequence[str], folder: Path) -> int:
    """Compare every file with the size that the hub states. Returns the bytes; raises SystemExit naming bad files."""
    from huggingface_hub import HfApi

    files = HfApi().model_info(model, revision=revision, files_metadata=True).siblings or []
    wanted = {
        f.rfilename: f.size for f in files if not any(fnmatch.fnmatch(f.rfilename, p) for p in excluded)
    }
    wrong = [
        f"{name}: {(folder / name).stat().st_size if (folder / name).exists() else 'missing'}, wants {size}"
        for name, size in sorted(wanted.items())
        if not (folder / name).exists() or (folder / name).stat().st_size != size
    ]
    if wrong:
        sys.exit("incomplete download: " + "; ".join(wrong))
    return sum(size or 0 for size in wanted.values())


def fetch_vocabulary(folder: Path) -> None:
    """Put o200k_base.tiktoken where the frontend looks for it; raises SystemExit if its checksum is wrong."""
    path = folder / "o200k_base.tiktoken"
    if not path.exists():
        with urllib.request.urlopen(VOCABULARY_URL, timeout=60) as response:
            content = response.read()
        if hashlib.sha256(content).hexdigest() != VOCABULARY_SHA256:
            sys.exit(f"{VOCABULARY_URL} has an unexpected checksum")
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_bytes(content)
        partial.replace(path)


def fill(home: Path, model: str, revision: str, tokenizer_only: bool) -> None:
    """Download one model and leave its marker `.complete-<model>-<revision>`, or skip it where the marker is."""
    part = "-tokenizer" if tokenizer_only else ""
    marker = home / f".complete-{model.replace('/', '--')}-{revision}{part}"
    if marker.exists():
        say(f"{marker} is there: nothing to download")
        return
    excluded = EXCLUDED + (WEIGHTS if tokenizer_only else ())
    folder = download(model, revision, excluded)
    total = check_sizes(model, revision, excluded, folder)
    marker.write_text(f"{total}\n")
    say(f"complete: {total / 1e9:.1f} GB in {folder}")


def main() -> None:
    """Fill the cache."""
    fetch_vocabulary(Path(os.environ["VOCABULARY_PATH"]))
    for each in json.loads(os.environ["MODELS"]):
        fill(Path(os.environ["HF_HOME"]), **each)


if __name__ == "__main__":
    main()
