"""Copy weights from the shared cache to the disks of the node: the init container of a graph's workers.

Engines read weights in small pieces, each of which a network file system answers on its own; this reads whole files
in order, several at once. Environment: SHARED (the shared cache), HF_HOME (the copy), MODELS (a JSON list of {model,
revision}), VOCABULARY_PATH; OF_NODE where HF_HOME is a folder of the node, which its copier gives away first. Run
again, it copies only the files that are not whole yet; run by several pods with one HF_HOME, one copies and the others
find it whole. What the cache names by its content must have it.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path

CHUNK = 1 << 20
"""Bytes of one read: the most that an NFS client asks for at once, and still in the CPU's cache for the checksum."""
BEGUN = 8 << 20
"""Bytes after which the disk is told to begin: the kernel alone waits until a tenth of the memory is to be written."""
STREAMS = 16
"""Files copied at once; one stream alone does not fill the network."""
REPORT_SECONDS = 10
OWNER_SECONDS = 2
SHA256 = re.compile("[0-9a-f]{64}")
"""How Hugging Face's cache names a large file: by its content. What small ones are called differs between mirrors."""


def say(text: str) -> None:
    """One line of progress, visible in `kubectl logs` at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Progress:
    """Bytes copied so far by all streams."""

    def __init__(self, total: int) -> None:
        self._total, self._copied, self._started = total, 0, time.monotonic()
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        """Another chunk was written."""
        with self._lock:
            self._copied += count

    def __str__(self) -> str:
        rate = self._copied / max(time.monotonic() - self._started, 1e-3)
        return f"{self._copied / 1e9:.1f} of {self._total / 1e9:.1f} GB copied, {rate / 1e6:.0f} MB/s"


def snapshot(folder: Path, commit: str) -> list[Path]:
    """Files and links of a commit in a model's folder, as the Hugging Face cache lays them out; no broken links."""
    return [path for path in sorted((folder / "snapshots" / commit).rglob("*")) if path.is_file()]


def copy_file(source: Path, target: Path, size: int, progress: Progress) -> None:
    """Copy one file, under another name until it is whole.

    Raises SystemExit if it does not have its size (bytes), or not the content that its name says.
    """
    partial, digest = target.with_name(f"{target.name}.partial"), hashlib.sha256()
    named = SHA256.fullmatch(source.name) is not None
    buffer = memoryview(bytearray(min(CHUNK, max(size, 1))))
    target.parent.mkdir(parents=True, exist_ok=True)
    begun = written = 0
    with source.open("rb", buffering=0) as reader, partial.open("wb", buffering=0) as writer:
        while count := reader.readinto(buffer):
            write(writer, buffer[:count])
            if named:
                digest.update(buffer[:count])
            progress.add(count)
            written += count
            if written - begun >= BEGUN:
                # What is not on the disk yet stays in memory, for the engine to read.
                os.posix_fadvise(writer.fileno(), begun, written - begun, os.POSIX_FADV_DONTNEED)
                begun = written
        # The copy outlives a reboot of its node, and a name must not be there before what it stands for.
        os.fsync(writer.fileno())
    if (copied := partial.stat().st_size) != size:
        sys.exit(f"{source} had {size} bytes, of which {copied} could be read; it changes while it is copied")
    if named and (found := digest.hexdigest()) != source.name:
        partial.unlink()
        sys.exit(
            f"{source} has the SHA-256 {found}: it is damaged; delete it and .complete-* from the shared cache, and "
            "run job/model-download again"
        )
    partial.replace(target)


def write(writer: RawIOBase, data: memoryview) -> None:
    """Write all of it, in as many calls as the file system wants."""
    while data:
        data = data[writer.write(data) :]


def check_room(home: Path, size: int) -> None:
    """End where the disk has no room for that many more bytes; room for what was begun counts as free."""
    begun = sum(each.stat().st_blocks * 512 for each in home.rglob("*.partial") if each.is_file())
    free = shutil.disk_usage(home).free + begun
    if size > free:
        sys.exit(
            f"the disk of {home} has {free / 1e9:.1f} GB free, but {size / 1e9:.1f} GB are to be copied; "
            "the node needs more room for its pods"
        )


def wait_for_owner(home: Path) -> None:
    """Wait until the folder is this user's: the kubelet makes a node's folders as root's."""
    while not os.access(home, os.W_OK):
        say(f"{home} is not given to this user yet; see the pods of daemonset/model-copy")
        time.sleep(OWNER_SECONDS)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the copy against other pods of the node that have the same folder; a pod that ends lets go of it."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another pod copies to {home}; waiting for it")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def measure(files: Iterable[Path]) -> dict[Path, int]:
    """Files and their sizes, in bytes."""
    return {path: path.stat().st_size for path in files}


def is_whole(copy: Path, size: int) -> bool:
    """Whether the file was copied before."""
    return copy.is_file() and copy.stat().st_size == size


def copy_files(shared: Path, home: Path, sizes: Mapping[Path, int]) -> Progress:
    """Copy the files that are not whole yet, largest first.

    sizes: what each must have in the end, in bytes, however it changes meanwhile.
    Raises OSError, or SystemExit for a full disk or a file of another size.
    """
    copies = {path: home / path.relative_to(shared) for path in sizes}
    missing = [path for path, size in sizes.items() if not is_whole(copies[path], size)]
    check_room(home, sum(sizes[path] for path in missing))
    progress, pool = Progress(sum(sizes[path] for path in missing)), ThreadPoolExecutor(STREAMS)
    running = {
        pool.submit(copy_file, path, copies[path], sizes[path], progress)
        for path in sorted(missing, key=sizes.__getitem__, reverse=True)
    }
    try:
        while running:
            done, running = wait(running, timeout=REPORT_SECONDS, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            if running:
                say(str(progress))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.exit(f"the disk of {home} is full, {progress}; the node needs more room for its pods")
    finally:
        # Even after a failure files that have begun are finished: the next attempt finds them whole.
        pool.shutdown(cancel_futures=True)
    return progress


def link_files(shared: Path, home: Path, paths: Iterable[Path]) -> None:
    """Make the links that lead to the copied files; they are relative, so what they say stays right."""
    for path in paths:
        link = home / path.relative_to(shared)
        if path.is_symlink() and not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.readlink())


def fill(shared: Path, home: Path, model: str, revision: str) -> None:
    """Copy one model, files before the links to them and its marker last, or skip it where the marker is.

    Raises SystemExit for a shared cache without the marker, or with less than the marker says.
    """
    name = model.replace("/", "--")
    marker = f".complete-{name}-{revision}"
    if (home / marker).exists():
        say(f"{home / marker} is there: nothing to copy")
        return
    if not (shared / marker).exists():
        sys.exit(f"{shared / marker} is not there: {model}@{revision} is not whole in the shared cache")
    folder = shared / "hub" / f"models--{name}"
    ref = folder / "refs" / revision
    refs = [ref] if ref.is_file() else []
    commit = ref.read_text().strip() if refs else revision
    sizes = measure(snapshot(folder, commit))
    found, stated = sum(sizes.values()), int((shared / marker).read_text())
    if found < stated:
        sys.exit(
            f"{model}@{revision} has {found} bytes in the shared cache, but {shared / marker} says {stated}"
        )
    # A file that several names lead to is copied once.
    files = measure(refs) | {path.resolve(): size for path, size in sizes.items()}
    progress = copy_files(shared, home, files)
    link_files(shared, home, sizes)
    (home / marker).write_text(f"{stated}\n")
    say(f"complete: {model}@{revision} in {home}, {progress}")


def main() -> None:
    """Copy the vocabulary and every model."""
    # The first process of a container hears no SIGTERM unless it says what to do.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    shared, home = Path(os.environ["SHARED"]).resolve(), Path(os.environ["HF_HOME"])
    vocabulary = shared / Path(os.environ["VOCABULARY_PATH"]).relative_to(home)
    if "OF_NODE" in os.environ:
        # Pods of two users share it, and their group.
        os.umask(0o002)
        wait_for_owner(home)
    try:
        with alone(home):
            for each in json.loads(os.environ["MODELS"]):
                fill(shared, home, **each)
            copy_files(shared, home, measure(vocabulary.glob("*.tiktoken")))
    except OSError as error:
        sys.exit(f"the copy failed: {error}")


if __name__ == "__main__":
    main()
