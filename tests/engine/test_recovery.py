"""The real engine on an embedded cluster, killed at random moments, and Jobs that fail: the next update ends converged.

`--kills 20` kills more often than `make test` does, `--seed` at the moments of an earlier run.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
import yaml
from pulumi import automation

from embedded import cluster, processes
from embedded.processes import Report
from manifests.names import MANAGED_BY
from ops.pulumi import pending
from ops.pulumi.locks import run_unlocked
from tests.engine.conftest import Engine
from tests.project import PROJECT
from tests.waiting import eventually

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
KINDS = "configmaps,secrets,persistentvolumeclaims,jobs,dynamographdeployments"
OF_OTHERS = "elsewhere"


class Live:
    """The stack `dev` on an embedded cluster of its own."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.state = engine, engine.folder / ".embedded"
        self.kubectl = partial(cluster.kubectl, state=self.state)
        self.said: list[str] = []

    def stack(self) -> automation.Stack:
        return self.engine.stack("dev")

    def set_key(self, key: str, value: object) -> None:
        path = self.engine.folder / "Pulumi.dev.yaml"
        content = yaml.safe_load(path.read_text())
        content["config"][f"dynamo-gpt-oss:{key}"] = value
        path.write_text(yaml.safe_dump(content))

    def begin(self) -> "subprocess.Popen[bytes]":
        """An `up` of its own, at work once it is returned; what it says is in `up.log`."""
        command = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", "dev"]
        with (self.engine.folder / "up.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=self.engine.folder, env=os.environ | self.engine.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        locks = self.engine.folder / "backend" / ".pulumi" / "locks"
        eventually(lambda: list(locks.rglob("*.json")) or process.poll() is not None)
        return process

    def mended(self) -> automation.Stack:
        """The stack as `ops` opens it before it deploys or destroys."""
        stack = self.stack()
        pending.mend(stack, self.said.append, kubectl=self.kubectl)
        return stack

    def up(self) -> dict[str, int]:
        """Deploy as `ops up` does; returns how many resources changed in which way."""
        stack = self.mended()
        result = run_unlocked(stack, "deploy", self.said.append, stack.up)
        return {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}

    def down(self) -> None:
        stack = self.mended()
        run_unlocked(stack, "destroy", self.said.append, stack.destroy)

    def objects(self, namespace: str) -> dict[tuple[str, str], str]:
        """Uid by kind and name, of what no controller made by itself."""
        listed = self.kubectl("get", KINDS, f"--namespace={namespace}", "--output=json")
        return {
            (obj["kind"], obj["metadata"]["name"]): obj["metadata"]["uid"]
            for obj in json.loads(listed)["items"]
            if obj["metadata"]["name"] != "kube-root-ca.crt" and "ownerReferences" not in obj["metadata"]
        }

    def versions(self, namespace: str) -> Mapping[str, str]:
        """Resource version by uid: another one is another content."""
        items = json.loads(self.kubectl("get", KINDS, f"--namespace={namespace}", "--output=json"))["items"]
        return {obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"] for obj in items}

    def asked(self) -> int:
        """Resources that Pulumi asked for and knows no answer to."""
        found = (self.stack().export_stack().deployment or {}).get("pending_operations") or []
        return sum(each["type"] == "creating" for each in found)


@pytest.fixture(scope="module")
def live(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    made = Live(engine.copy(tmp_path_factory.mktemp("live")))
    shutil.copy(PROJECT / "Pulumi.dev.yaml", made.engine.folder)
    made.set_key("verify", {"enabled": True})
    try:
        cluster.start(print, made.state, "v1beta1")
        made.stack()
        yield made
    finally:
        cluster.stop(print, made.state)


def test_killed_at_any_moment(live: Live, moments: list[float], progress: Report) -> None:
    labels = {"labels": dict(MANAGED_BY), "namespace": OF_OTHERS}
    theirs = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": OF_OTHERS, "labels": dict(MANAGED_BY)},
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "model-download", **labels}},
    ]
    live.kubectl(
        "create", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": theirs})
    )
    others = live.versions(OF_OTHERS)
    process, began = live.begin(), time.monotonic()
    assert process.wait() == 0
    whole, wanted = time.monotonic() - began, set(live.objects("dynamo"))
    live.down()
    progress("  killed after   asked for, unanswered   taken up   then")
    for moment in moments:
        live.said.clear()
        process = live.begin()
        time.sleep(moment * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
        asked = live.asked()
        live.up()
        taken = sum(line.startswith("take up") for line in live.said)
        progress(f"  {moment * whole:6.2f} s {asked:16} {taken:20}          converged")
        made = live.objects("dynamo")
        assert set(made) == wanted
        assert set(live.up()) <= {"same", "read"}
        assert live.objects("dynamo") == made
        assert live.versions(OF_OTHERS) == others
        resources = (live.stack().export_stack().deployment or {})["resources"]
        urns = [resource["urn"] for resource in resources]
        assert len(urns) == len(set(urns))
        live.down()
        assert not live.kubectl("get", "namespace", "dynamo", "--ignore-not-found")


@pytest.mark.parametrize("job", ["model-download", "gpt-oss-disagg-verify", "benchmark"])
def test_a_job_that_failed_once_is_made_anew(live: Live, job: str) -> None:
    shapes = {"demo": {"isl": 1024, "osl": 128, "concurrency": 16}}
    live.set_key("benchmark", {"run": True, "shape": "demo", "shapes": shapes})
    kwok = processes.find(live.state, "kwok")
    assert kwok is not None
    process = live.begin()

    def there() -> Any:
        assert process.poll() is None, "it is over already"
        return live.kubectl("get", "job", job, "--namespace=dynamo", "--ignore-not-found", "--output=name")

    try:
        eventually(there)
        kwok.suspend()  # nothing completes now
        within = ("--namespace=dynamo", "--timeout=60s")
        late = ("--type=merge", '--patch={"spec": {"activeDeadlineSeconds": 1}}')
        live.kubectl("patch", "job", job, "--namespace=dynamo", *late)
        live.kubectl("wait", f"job/{job}", "--for=condition=FailureTarget", *within)
        kwok.resume()  # a Job has failed once its pods are gone
        live.kubectl("wait", f"job/{job}", "--for=condition=Failed", *within)
        assert process.wait() != 0
    finally:
        kwok.resume()
    failed = live.objects("dynamo")[("Job", job)]
    live.up()
    made = live.objects("dynamo")
    assert made[("Job", job)] != failed
    conditions = json.loads(live.kubectl("get", "job", job, "--namespace=dynamo", "--output=json"))["status"]
    assert "Complete" in {each["type"] for each in conditions["conditions"]}
    live.down()
