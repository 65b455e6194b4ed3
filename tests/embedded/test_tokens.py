"""A token that is on the embedded cluster: in its Secret and in etcd's own files, which nobody else may read."""

import base64
import json
from contextlib import suppress
from pathlib import Path

import psutil

from ops.deploy.apply import _open
from ops.synth import manifests
from tests.embedded.conftest import Cluster
from tests.ops.secrets_by_verb import MARKER, found_in
from tests.plans import evaluated
from tests.waiting import eventually


def holding(state: Path) -> set[Path]:
    """Files of the cluster's state with the token in any form."""
    found = set()
    for path in state.rglob("*"):
        with suppress(FileNotFoundError):  # its owner has renamed or deleted it meanwhile
            if path.is_file() and not path.is_symlink() and found_in(path.read_bytes().decode("latin-1")):
                found.add(path)
    return found


def readable(path: Path, state: Path) -> bool:
    """Whether anybody else gets to a file: every folder down to it lets them through, and it lets them read."""
    above = [each for each in path.parents if each == state or state in each.parents]
    return bool(path.stat().st_mode & 0o077) and all(each.stat().st_mode & 0o011 for each in above)


def test_it_is_in_its_secret_and_in_etcd_alone(cluster: Cluster, namespace: str) -> None:
    stack = evaluated(
        secret=["huggingFace"],
        target="mocker-disagg-cpu",
        cluster={"kind": "existing", "namespace": namespace},
        huggingFace={"token": MARKER},
    )
    (secret,) = [_open(each.inputs) for each in manifests(stack) if each.inputs["kind"] == "Secret"]
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(secret))
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=json.dumps(secret))
    found = json.loads(
        cluster.kubectl("get", "secrets,configmaps,events", "--namespace", namespace, "--output=json")
    )
    (only,) = [each for each in found["items"] if found_in(json.dumps(each))]
    assert base64.b64decode(only["data"]["HF_TOKEN"]).decode() == MARKER
    assert not found_in(json.dumps(only["metadata"]))
    eventually(lambda: holding(cluster.state))
    files = holding(cluster.state)
    assert {path.relative_to(cluster.state).parts[0] for path in files} == {"etcd"}
    assert [path for path in files if readable(path, cluster.state)] == []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):  # ended meanwhile, or a zombie
            if any(str(cluster.state) in word for word in process.cmdline()):
                assert not found_in(f"{process.cmdline()} {process.environ()}")
