"""Fill the model cache: weights and the tokenizer vocabulary, checked, with a marker for each model that is there.

Runs in the download Job. Environment: HF_HOME, MODELS (a JSON list of {model, revision, tokenizer_only}),
VOCABULARY_PATH; where they are said HF_TOKEN_PATH, VOCABULARY_URL, HF_ENDPOINT, HTTP_PROXY, HTTPS_PROXY and NO_PROXY
(the last four are read by libraries). Running it again on a complete cache fetches nothing. With EXISTING the cache is
somebody's own: it is read and checked, and nothing is fetched.
"""

import fnmatch
import hashlib
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

EXCLUDED = ("original/*", "metal/*")
"""The same weights in two other formats, about twice the download."""
WEIGHTS = ("*.safetensors",)
ATTEMPTS = 6
PROGRESS_SECONDS = 10.0
"""Between two lines that say how far a download is."""
VOCABULARY = "o200k_base.tiktoken"
VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def say(text: str) -> None:
    """One line of progress, visible in `kubectl logs` at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


Result = TypeVar("Result")


class Refused(Exception):
    """What another attempt would not change."""


def retried(what: str, attempt: Callable[[], Result]) -> Result:
    """The result of the first attempt that gives one. Raises the last error, or SystemExit where none can help."""
    for number in range(1, ATTEMPTS + 1):
        try:
            say(f"{what}, attempt {number} of {ATTEMPTS}")
            return attempt()
        except Refused as refused:
            sys.exit(f"{what}: {refused}")
        except Exception as error:  # any failure of the network or the hub: rate limits come as several types
            if number == ATTEMPTS:
                raise
            pause = min(30 * 2 ** (number - 1), 600)
            say(f"failed ({error}); again in {pause} s")
            time.sleep(pause)
    raise AssertionError("unreachable: the last attempt returns or raises")


def information(model: str, revision: str) -> Any:
    """What the hub knows of a model. Raises Refused where the hub does not give it to us."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        return HfApi().model_info(model, revision=revision, files_metadata=True)
    except GatedRepoError:
        raise Refused("its licence must be accepted on the hub, by the owner of huggingFace.token") from None
    except RepositoryNotFoundError:
        raise Refused("the hub has no such model, or not for this token (huggingFace.token)") from None
    except RevisionNotFoundError:
        raise Refused("the hub has no such revision of it (a mirror may lag behind)") from None


def download(model: str, revision: str, excluded: Sequence[str]) -> Path:
    """Fetch the snapshot, resuming what an earlier attempt left. Returns its folder; raises after the last attempt."""
    from huggingface_hub import snapshot_download

    return retried(
        f"downloading {model}@{revision}",
        lambda: Path(snapshot_download(model, revision=revision, ignore_patterns=list(excluded))),
    )


def sizes(model: str, revision: str, excluded: Sequence[str]) -> dict[str, int]:
    """Bytes of every file, as the hub states them."""
    files = retried(f"asking for the files of {model}", lambda: information(model, revision)).siblings or []
    return {
        f.rfilename: f.size or 0 for f in files if not any(fnmatch.fnmatch(f.rfilename, p) for p in excluded)
    }


@contextmanager
def told(blobs: Path, total: int, every: float = PROGRESS_SECONDS) -> Iterator[None]:
    """Say how many of the bytes are in the folder, and at which rate they come, for as long as the block runs."""
    over = threading.Event()

    def there() -> int:
        with suppress(OSError):  # a file that was finished meanwhile has another name
            return sum(path.stat().st_size for path in blobs.glob("*"))
        return 0

    def run() -> None:
        before = there()
        while not over.wait(every):
            now = there()
            rate = max(0, now - before) / every / 1e6
            say(f"{now / 1e9:.1f} of {total / 1e9:.1f} GB, {rate:.0f} MB/s")
            before = now

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def check_sizes(wanted: Mapping[str, int], folder: Path) -> int:
    """Compare every file with the size that the hub states. Returns the bytes; raises SystemExit naming bad files."""
    wrong = [
        f"{name}: {(folder / name).stat().st_size if (folder / name).exists() else 'missing'}, wants {size}"
        for name, size in sorted(wanted.items())
        if not (folder / name).exists() or (folder / name).stat().st_size != size
    ]
    if wrong:
        sys.exit("incomplete download: " + "; ".join(wrong))
    return sum(wanted.values())


def fetched(url: str) -> bytes:
    """What is behind the URL, redirects followed. Raises Refused for what is not there or not allowed."""
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404, 407, 410):
            raise Refused(f"HTTP {error.code} {error.reason}") from None
        raise


def is_vocabulary(content: bytes) -> bool:
    """Whether it has the vocabulary's checksum."""
    return hashlib.sha256(content).hexdigest() == VOCABULARY_SHA256


def fetch_vocabulary(folder: Path, url: str) -> None:
    """Put o200k_base.tiktoken where the frontend looks for it; raises SystemExit if it cannot be had."""
    path = folder / VOCABULARY
    if path.exists() and is_vocabulary(path.read_bytes()):
        return

    def attempt() -> bytes:
        content = fetched(url)
        if not is_vocabulary(content):
            raise ValueError(f"{len(content)} bytes with an unexpected checksum")
        return content

    try:
        content = retried(f"fetching {url}", attempt)
    except Exception as error:  # the network's errors are of many types
        sys.exit(f"fetching {url}: {error}")
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)


def marker(home: Path, model: str, revision: str, tokenizer_only: bool) -> Path:
    """The file that says that a model is complete."""
    part = "-tokenizer" if tokenizer_only else ""
    return home / f".complete-{model.replace('/', '--')}-{revision}{part}"


def fill(home: Path, model: str, revision: str, tokenizer_only: bool) -> None:
    """Download one model and leave its marker `.complete-<model>-<revision>`, or skip it where the marker is."""
    done = marker(home, model, revision, tokenizer_only)
    if done.exists():
        say(f"{done} is there: nothing to download")
        return
    excluded = EXCLUDED + (WEIGHTS if tokenizer_only else ())
    wanted = sizes(model, revision, excluded)
    with told(home / "hub" / f"models--{model.replace('/', '--')}" / "blobs", sum(wanted.values())):
        folder = download(model, revision, excluded)
    total = check_sizes(wanted, folder)
    done.write_text(f"{total}\n")
    say(f"complete: {total / 1e9:.1f} GB in {folder}")


def lacking(home: Path, model: str, revision: str, tokenizer_only: bool) -> Iterable[str]:
    """Files of a model that somebody's own cache lacks; weights are those that its index names."""
    folder = home / "hub" / f"models--{model.replace('/', '--')}"
    if revision == "main" and (folder / "refs" / "main").exists():
        revision = (folder / "refs" / "main").read_text().strip()
    snapshot = folder / "snapshots" / revision
    index = snapshot / "model.safetensors.index.json"
    wanted = {"config.json", "tokenizer.json"} if tokenizer_only else {"config.json"}
    if not tokenizer_only:
        if index.exists():
            wanted |= {"tokenizer.json", *json.loads(index.read_text())["weight_map"].values()}
        elif not list(snapshot.glob("*.safetensors")):
            wanted.add(index.name)
    return [f"{snapshot / name}" for name in sorted(wanted) if not (snapshot / name).is_file()]


def check_existing(home: Path, vocabulary: Path, models: Sequence[dict[str, Any]]) -> None:
    """Check a cache that somebody else filled; raises SystemExit naming what it lacks."""
    missing = [path for each in models for path in lacking(home, **each)]
    path = vocabulary / VOCABULARY
    if not path.is_file() or not is_vocabulary(path.read_bytes()):
        missing.append(f"{path} with the checksum sha256:{VOCABULARY_SHA256}")
    if missing:
        sys.exit("the claim lacks " + "; ".join(missing))
    say(f"complete: {', '.join(each['model'] for each in models)}")


def main() -> None:
    """Fill the cache, or check one that is filled."""
    home, vocabulary = Path(os.environ["HF_HOME"]), Path(os.environ["VOCABULARY_PATH"])
    models = json.loads(os.environ["MODELS"])
    if "EXISTING" in os.environ:
        check_existing(home, vocabulary, models)
        return
    fetch_vocabulary(vocabulary, os.environ.get("VOCABULARY_URL", VOCABULARY_URL))
    for each in models:
        # A model that the hub refuses is known before the first byte of any other.
        if not marker(home, **each).exists():
            model, revision = each["model"], each["revision"]
            retried(f"asking for {model}@{revision}", partial(information, model, revision))
    for each in models:
        fill(home, **each)


if __name__ == "__main__":
    main()
