"""Keep what a node has for its worker pods, and clear it once its DaemonSet is deleted: nobody needs it then.

Environment: DAEMON_SET (its path in the API), NAMESPACE, NODE_NAME; where the node has a copy of the weights, HF_HOME
and MODELS (a JSON list of {model, revision}); where it keeps what engines compile, COMPILED and KEYS (a JSON list). A
pod that ends for another reason, as for an update, leaves all to the next one. At start and every hour goes what is
neither the stack's any more nor named by a pod of the node, and what a copy that was cut off left of it. Where the API
server gives no answer, everything stays.
"""

import fcntl
import json
import os
import shutil
import signal
import ssl
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ACCOUNT = Path(os.environ.get("ACCOUNT_PATH", "/var/run/secrets/kubernetes.io/serviceaccount"))
"""Where Kubernetes puts the ServiceAccount's token and the API server's authority."""
SWEEP_SECONDS = 3600
COMPLETE = ".complete-"
COPIER = "copy-weights"
"""The init container of every pod that reads a model on its node's disk."""
NOBODY = "no pod of this node and no graph of the stack has it"


def say(text: str) -> None:
    """One line, visible in `kubectl logs` at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def request(path: str) -> Any:
    """The API server's answer. Raises OSError, of which urllib.error.HTTPError is one."""
    address = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}{path}"
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    asked = urllib.request.Request(
        address, headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"}
    )
    with urllib.request.urlopen(asked, timeout=30, context=trusted) as response:
        return json.load(response)


def is_deleted(path: str) -> bool:
    """Whether an object is not there any more, or about to go. Raises OSError where nobody says."""
    try:
        return "deletionTimestamp" in request(path)["metadata"]
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return True
        raise


def pods_of_node() -> list[Any]:
    """What the pods of this node are to be. Raises OSError where nobody says."""
    namespace, node = os.environ["NAMESPACE"], os.environ["NODE_NAME"]
    found = request(f"/api/v1/namespaces/{namespace}/pods?fieldSelector=spec.nodeName%3D{node}")
    return [each["spec"] for each in found["items"]]


@contextmanager
def alone(home: Path, *, waits: bool = False) -> Iterator[None]:
    """Hold the folder against pods that copy or compile there. Raises BlockingIOError where one does, or waits."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not waits:
                raise
            say(f"another pod works in {home}; waiting for it")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def remove(path: Path) -> None:
    """Delete a folder, a file or a link. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def clear(home: Path) -> None:
    """Delete everything in the folder, markers first: a copy that is half deleted must not look whole."""
    with alone(home, waits=True):
        for child in sorted(home.iterdir(), key=lambda path: not path.name.startswith(COMPLETE)):
            remove(child)
    say(f"{home} is cleared")


def models_of(pods: Iterable[Any]) -> Iterator[Any]:
    """What pods copy before they read it, each a model and its revision. Other people's pods may have a MODELS, too."""
    copiers = [each for pod in pods for each in pod.get("initContainers", []) if each["name"] == COPIER]
    for variable in (each for copier in copiers for each in copier["env"]):
        if variable["name"] == "MODELS":
            yield from json.loads(variable["value"])


def sweep_models(home: Path) -> None:
    """Delete markers of revisions that are neither the stack's nor a pod's, and the files that no marker stands for."""
    read = [*json.loads(os.environ["MODELS"]), *models_of(pods_of_node())]
    revisions = defaultdict[str, set[str]](set)
    for each in read:
        revisions[f"models--{each['model'].replace('/', '--')}"].add(each["revision"])
    kept = {_marker(name, revision) for name, named in revisions.items() for revision in named}
    for marker in home.glob(f"{COMPLETE}*"):
        if marker.name not in kept:
            marker.unlink()
    for folder in home.glob("hub/models--*"):
        named = revisions[folder.name]
        # A copy that was cut off goes on where it was.
        if all((home / _marker(folder.name, revision)).exists() for revision in named):
            sweep_model(folder, named)


def _marker(name: str, revision: str) -> str:
    return f"{COMPLETE}{name.removeprefix('models--')}-{revision}"


def sweep_model(folder: Path, revisions: Collection[str]) -> None:
    """Keep of a model what these revisions are, of which two may be one commit."""
    if not revisions:
        remove(folder)
        say(f"{folder} is deleted: {NOBODY}")
        return
    refs = {revision: folder / "refs" / revision for revision in revisions}
    commits = {ref.read_text().strip() if ref.is_file() else name for name, ref in refs.items()}
    for ref in folder.glob("refs/*"):
        if ref.name not in revisions:
            remove(ref)
    for snapshot in folder.glob("snapshots/*"):
        if snapshot.name not in commits:
            remove(snapshot)
            say(f"{snapshot} is deleted: {NOBODY}")
    used = {path.resolve() for path in folder.glob("snapshots/**/*") if path.is_symlink()}
    for blob in folder.glob("blobs/*"):
        if blob.resolve() not in used:
            remove(blob)


def sweep_compiled(home: Path) -> None:
    """Delete keys that are neither the stack's nor named by a pod."""
    kept, named = json.loads(os.environ["KEYS"]), json.dumps(pods_of_node())
    for folder in home.iterdir():
        if folder.name not in kept and folder.name not in named:
            remove(folder)
            say(f"{folder} is deleted: {NOBODY}")


SWEEPS = {"COMPILED": sweep_compiled, "HF_HOME": sweep_models}
"""What deletes what is old in each folder, by the variable that names it. The smaller one is first to be cleared."""


def sweep() -> None:
    """Delete what nobody needs any more, of each folder that no other pod works in. Raises OSError."""
    for name, sweep_folder in SWEEPS.items():
        if name not in os.environ:
            continue
        home = Path(os.environ[name])
        try:
            # Pods are listed within: one that came since has waited, or made its own.
            with alone(home):
                sweep_folder(home)
        except BlockingIOError:
            say(f"another pod works in {home}; swept in an hour")


def main() -> None:
    """Wait for the end, and see what it means."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    homes = [Path(os.environ[name]) for name in SWEEPS if name in os.environ]
    for home in homes:
        say(f"{home} is kept")
    ended = None
    while ended is None:
        try:
            sweep()
        except OSError as error:
            say(f"what is old stays on this node: {error}")
        ended = signal.sigtimedwait([signal.SIGTERM], SWEEP_SECONDS)
    try:
        if is_deleted(os.environ["DAEMON_SET"]):
            for home in homes:
                clear(home)
    except OSError as error:
        say(f"{', '.join(map(str, homes))} stays on this node: {error}")


if __name__ == "__main__":
    main()
