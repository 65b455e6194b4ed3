"""A folder of a node, which several pods may fill. Everything here waits, and says for what."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .store import say

OWNER_SECONDS = 2


def wait_for_owner(home: Path) -> None:
    """Wait until the folder is this user's: the kubelet makes a node's folders as root's."""
    while not os.access(home, os.W_OK):
        say(f"{home} is not given to this user yet; see the pods of daemonset/model-copy")
        time.sleep(OWNER_SECONDS)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the folder against other pods of the node; a pod that ends lets go of it."""
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
