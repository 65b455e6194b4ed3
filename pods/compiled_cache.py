"""Make a node's folder fit for what engines compile and tune: in the workers' init container, and at each start.

Arguments: the folder, and KEY=GPUS for each kind of worker of the graph. What a key has from another image, or from
before the node was booted, is deleted: nobody forced it onto the disk. So is a file of tuned kernels that a killed
engine left half: TensorRT-LLM does not start with one.
"""

import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
OWNER_SECONDS = 2
ORIGIN = ".origin"
RANK = "rank_"


def say(text: str) -> None:
    """One line, visible in `kubectl logs` at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def wait_for_owner(home: Path) -> None:
    """Wait until the folder is this user's: the kubelet makes a node's folders as root's."""
    while not os.access(home, os.W_OK):
        say(f"{home} is not given to this user yet; see the pods of daemonset/model-copy")
        time.sleep(OWNER_SECONDS)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the folder against other pods of the node."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def origin() -> str:
    """What the image has installed, and since when the node runs: a tag or a node's name may stand for another one."""
    packages = sorted({f"{each.name}-{each.version}" for each in importlib.metadata.distributions()})
    return f"{hashlib.sha256(' '.join(packages).encode()).hexdigest()} {BOOT.read_text().strip()}"


def is_whole(path: Path, gpus: int) -> bool:
    """Whether a file of tuned kernels was written to its end, for every rank if it has ranks."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        return False
    ranks = [name for name in content if name.startswith(RANK)] if isinstance(content, dict) else []
    return not ranks or len(ranks) >= gpus


def prepare(folder: Path, gpus: int, now: str) -> None:
    """Make a key's folder, with nothing in it that is not to be used."""
    mark = folder / ORIGIN
    if folder.exists() and (not mark.is_file() or mark.read_text() != now):
        say(f"{folder} is of another image, or of another start of the node: deleted")
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)
    mark.write_text(now)
    for path in folder.rglob("*.json"):
        if "autotun" in str(path.relative_to(folder)) and path.is_file() and not is_whole(path, gpus):
            say(f"{path} was not written to its end: deleted")
            path.unlink(missing_ok=True)


def main() -> None:
    """Prepare every key."""
    home, now = Path(sys.argv[1]), origin()
    # Pods of two users share the folder, and their group.
    os.umask(0o002)
    wait_for_owner(home)
    with alone(home):
        for each in sys.argv[2:]:
            key, _, gpus = each.partition("=")
            prepare(home / key, int(gpus), now)
            say(f"{home / key} is ready")


if __name__ == "__main__":
    main()
