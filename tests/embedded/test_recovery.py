"""`up` without a CLI, killed at random moments: the next one ends converged and touches nobody else's objects.

`--kills 20` kills more often than `make test` does, `--seed` at the moments of an earlier run.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded import cluster, processes
from embedded.paths import PROJECT
from embedded.processes import Report
from manifests.names import MANAGED_BY
from ops.deploy import deploy
from ops.stack.stack import find
from targets.errors import UserError

pytestmark = pytest.mark.xdist_group("deploy")
KINDS = "configmaps,secrets,persistentvolumeclaims,jobs,dynamographdeployments"
OTHERS = "elsewhere"
UP = """
import sys
from pathlib import Path
from ops.deploy import deploy
from ops.pulumi import automation
from ops.stack.stack import find
automation.available = lambda: False
print("begun", flush=True)
deploy.up(find("dev", embedded=True), lambda line: print(line, flush=True), state=Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    state = tmp_path_factory.mktemp("recovery") / "state"
    patch = pytest.MonkeyPatch()
    patch.setattr("ops.pulumi.automation.available", lambda: False)
    yield state
    patch.undo()
    cluster.stop(print, state)


def objects(state: Path, namespace: str) -> dict[tuple[str, str], str]:
    """Resource version by kind and name, of what no controller made by itself."""
    listed = cluster.kubectl("get", KINDS, f"--namespace={namespace}", "--output=json", state=state)
    return {
        (obj["kind"], obj["metadata"]["name"]): obj["metadata"]["resourceVersion"]
        for obj in json.loads(listed)["items"]
        if obj["metadata"]["name"] != "kube-root-ca.crt" and "ownerReferences" not in obj["metadata"]
    }


def begin(state: Path) -> "subprocess.Popen[str]":
    """An `up` of its own, whose first object is made once it is returned."""
    process = subprocess.Popen(
        [sys.executable, "-c", UP, str(state)], cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    while not (line := process.stdout.readline()).startswith("create "):
        assert line, "it ended before it made anything"
    return process


def test_killed_at_any_moment(state: Path, moments: list[float], progress: Report) -> None:
    dev = find("dev", embedded=True)
    cluster.start(print, state, "v1beta1")
    labels = {"labels": dict(MANAGED_BY), "namespace": OTHERS}
    applyset = {"labels": {"applyset.kubernetes.io/id": "another"}, "namespace": OTHERS}
    theirs = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHERS, "labels": dict(MANAGED_BY)}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "model-download", **labels}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keeps-the-cluster", **applyset}},
    ]
    whole_list = json.dumps({"apiVersion": "v1", "kind": "List", "items": theirs})
    cluster.kubectl("create", "--filename=-", stdin=whole_list, state=state)
    others = objects(state, OTHERS)
    process, began = begin(state), time.monotonic()
    assert process.wait() == 0
    whole, wanted = time.monotonic() - began, set(objects(state, dev.namespace))
    deploy.down(dev, lambda _: None, state=state)
    for moment in moments:
        process = begin(state)
        time.sleep(moment * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
        there = len(objects(state, dev.namespace))
        said: list[str] = []
        deploy.up(dev, said.append, state=state)
        progress(
            f"  killed after {moment * whole:5.2f} s with {there} of {len(wanted)} objects there: converged"
        )
        made = objects(state, dev.namespace)
        assert set(made) == wanted
        deploy.up(dev, said.append, state=state)
        assert f"dev: 0 changes (0 created, 0 changed, 0 removed, {len(wanted)} unchanged)" in said
        assert objects(state, OTHERS) == others
        deploy.down(dev, said.append, state=state)
        assert said[-1] == "embedded cluster: keeps running for what is left on it"


@pytest.mark.parametrize("part", ["kube-scheduler", "kube-apiserver"])
def test_a_part_of_the_cluster_that_ends_is_named_and_started_by_the_next_up(state: Path, part: str) -> None:
    dev = find("dev", embedded=True)

    def end_the_part(line: str) -> None:
        if line.startswith("create "):
            processes.end(state, part)

    with pytest.raises(
        UserError, match=rf"(?m)^{part}: has ended .*; `{dev.command('up')}` starts it again$"
    ):
        deploy.up(dev, end_the_part, state=state)
    deploy.up(dev, print, state=state)
    deploy.down(dev, print, state=state)
