"""The end of a stack's time to live, from inside its cluster: for when whoever should have ended it was killed. Pure.

A CronJob looks every few minutes whether the stack's time is over. Then it deletes the stack's graphs and benchmark
Jobs by their names, since the namespace may hold others', and sets the stack's GPU node groups to size 0. The rest
costs little and goes with `down` or `ops reap`.

The clock is the age of the script's ConfigMap, which has the time to live in its name: it begins anew where that is
changed, and goes on through every other `up`. CronJob, `ops reap`, alert and refusal all read it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from manifests import aws_cli, objects, pod_scripts
from manifests.benchmark import job as benchmark
from manifests.benchmark.job import AIPERF_IMAGE, AIPERF_PYTHON
from manifests.command import variables

NAME = "time-to-live"
SCRIPT = "end_of_life.py"
SCHEDULE = "*/5 * * * *"
_MARK_PATH = "/var/run/time-to-live"
_MARK = f"{_MARK_PATH}/over"
_JOBS = (benchmark.NAME, benchmark.RUN_NAME)
_RBAC = "rbac.authorization.k8s.io"
_UNITS = {"h": 3600, "d": 86400}
_CLOCK = re.compile(rf"{NAME}-([1-9][0-9]*[hd])")


SHRINK = """\
[ -e "$MARK" ] || exit 0
wanted=$(printf '%s\\ttrue' "$STACK")
query='nodegroup.[tags.stack, labels."nvidia.com/gpu.present"]'
for group in $(aws eks list-nodegroups --cluster-name "$CLUSTER" --query 'nodegroups[]' --output text); do
  found=$(aws eks describe-nodegroup --cluster-name "$CLUSTER" --nodegroup-name "$group" --query "$query" --output text)
  [ "$found" = "$wanted" ] || continue
  aws eks update-nodegroup-config --cluster-name "$CLUSTER" --nodegroup-name "$group" \\
    --scaling-config minSize=0,desiredSize=0
done
"""
"""Sets the size of every GPU node group of the stack to 0. Environment: MARK, CLUSTER, STACK, AWS_REGION."""


@dataclass(frozen=True, kw_only=True)
class NodeGroups:
    """The stack's GPU node groups on EKS, found by their tag `stack`, since they get their names when they are made.

    The ServiceAccount needs a role that may list, describe and update them. cluster: its name, or what stands for it.
    """

    cluster: Any
    region: str
    stack: str


@dataclass(frozen=True, kw_only=True)
class TimeToLiveSpec:
    """ttl: as `72h` or `14d`. graphs: names of the stack's DynamoGraphDeployments. graph_api_version: theirs.

    image, python: what looks at the clock; a small image by default.
    """

    namespace: str
    ttl: str
    graphs: tuple[str, ...]
    graph_api_version: str
    node_groups: NodeGroups | None = None
    pull_secret: str | None = None
    image: str = AIPERF_IMAGE
    python: str = AIPERF_PYTHON


def seconds(text: str) -> int:
    """Seconds of `72h` or `14d`, as `tags.ttl` has it."""
    return int(text[:-1]) * _UNITS[text[-1]]


def clock(ttl: str) -> str:
    """Name of the ConfigMap from whose creation a stack's time is counted."""
    return f"{NAME}-{ttl}"


def end_of(created: str, ttl: str) -> datetime:
    """When the time of a clock is over. created: as Kubernetes writes it."""
    return datetime.fromisoformat(created).astimezone(UTC) + timedelta(seconds=seconds(ttl))


def is_clock(resource: Mapping[str, Any], ttl: str) -> bool:
    """Whether it is the ConfigMap of that time to live. resource: as Pulumi exports it."""
    return bool(((resource.get("outputs") or {}).get("metadata") or {}).get("name") == clock(ttl))


def deployed_end(resources: Iterable[Mapping[str, Any]]) -> datetime | None:
    """When a deployed stack's time is over; None where no clock of it runs. resources: as Pulumi exports them."""
    for each in resources:
        metadata = (each.get("outputs") or {}).get("metadata") or {}
        named = _CLOCK.fullmatch(metadata.get("name", ""))
        if each["type"] == "kubernetes:core/v1:ConfigMap" and named and metadata.get("creationTimestamp"):
            return end_of(metadata["creationTimestamp"], named[1])
    return None


def manifests(spec: TimeToLiveSpec) -> list[dict[str, Any]]:
    """Everything of it, in the order it is made: script, account, rights, CronJob."""
    namespace = spec.namespace
    role = {"apiGroup": _RBAC, "kind": "Role", "name": NAME}
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
    return [
        pod_scripts.config_map(clock(spec.ttl), namespace, SCRIPT),
        objects.service_account(NAME, namespace),
        objects.manifest(f"{_RBAC}/v1", "Role", NAME, namespace, rules=_rules(spec)),
        objects.manifest(f"{_RBAC}/v1", "RoleBinding", NAME, namespace, roleRef=role, subjects=[account]),
        objects.manifest("batch/v1", "CronJob", NAME, namespace, spec=_cron_job(spec)),
    ]


def _rules(spec: TimeToLiveSpec) -> list[dict[str, Any]]:
    return [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [clock(spec.ttl)],
            "verbs": ["get"],
        },
        _may_delete("batch", "jobs", _JOBS),
        _may_delete("nvidia.com", "dynamographdeployments", spec.graphs),
    ]


def _may_delete(group: str, resource: str, names: Sequence[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [*names], "verbs": ["delete"]}


def _cron_job(spec: TimeToLiveSpec) -> dict[str, Any]:
    look = objects.container(
        "end-graphs",
        spec.image,
        [spec.python, f"{pod_scripts.PATH}/{SCRIPT}"],
        env=variables(
            {
                "CLOCK": clock(spec.ttl),
                "GRAPHS": " ".join(spec.graphs),
                "GRAPH_API_VERSION": spec.graph_api_version,
                "JOBS": " ".join(_JOBS),
                "MARK": _MARK,
                "NAMESPACE": spec.namespace,
                "SECONDS_TO_LIVE": str(seconds(spec.ttl)),
            }
        ),
        volumeMounts=[pod_scripts.mount(), {"name": "mark", "mountPath": _MARK_PATH}],
        resources=_little(),
    )
    groups = spec.node_groups
    containers: dict[str, Any] = {"containers": [look]}
    if groups is not None:
        containers = {"initContainers": [look], "containers": [_shrink(groups)]}
    volumes = [pod_scripts.volume(clock(spec.ttl)), {"name": "mark", "emptyDir": {}}]
    pod = objects.pod([spec.pull_secret], serviceAccountName=NAME, volumes=volumes, **containers)
    job = objects.job_spec(pod, labels={"app": NAME}, backoffLimit=1, activeDeadlineSeconds=270)
    return {
        "schedule": SCHEDULE,
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": job},
    }


def _shrink(groups: NodeGroups) -> dict[str, Any]:
    """The second container: nothing unless the first left its mark."""
    return objects.container(
        "shrink-gpu-pools",
        aws_cli.IMAGE,
        ["/bin/sh", "-ec", SHRINK],
        env=variables(
            {
                "AWS_REGION": groups.region,
                "CLUSTER": groups.cluster,
                "HOME": _MARK_PATH,
                "MARK": _MARK,
                "STACK": groups.stack,
            }
        ),
        volumeMounts=[{"name": "mark", "mountPath": _MARK_PATH}],
        resources=_little(),
    )


def _little() -> dict[str, Any]:
    return {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}
