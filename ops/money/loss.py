"""Which data goes with a stack, and which stays, by what Pulumi has written down of it. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from facts.versions import KUBE_PROMETHEUS_STACK

_AGAIN = "the next `up` fills it again"
_NEVER = "nothing brings it back"
Resource = Mapping[str, Any]


@dataclass(frozen=True)
class Loss:
    """What holds data, a text each. gone: with the stack, and what brings it back. kept: what outlives it."""

    gone: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def data_of(resources: Iterable[Resource]) -> Loss:
    """resources: of the stack's state, as Pulumi exports them."""
    gone, kept = [], []
    for each in resources:
        if each.get("external"):
            continue
        for what, after in _data(each):
            if each.get("retainOnDelete"):
                kept.append(what)
            else:
                gone.append(f"{what} ({after})")
    return Loss(tuple(gone), tuple(kept))


def _data(resource: Resource) -> Iterator[tuple[str, str]]:
    """What to call the data of a resource, and what brings it back; nothing for one that holds none."""
    kind, inputs = str(resource["type"]), resource.get("inputs") or {}
    if kind in _ON_AWS:
        what, after = _ON_AWS[kind]
        yield f"{what} {resource.get('id')}", after
    elif kind == "kubernetes:core/v1:PersistentVolumeClaim":
        metadata = inputs["metadata"]
        yield f"PersistentVolumeClaim {metadata.get('namespace', 'default')}/{metadata['name']}", _AGAIN
    elif kind == "kubernetes:helm.sh/v3:Release" and KUBE_PROMETHEUS_STACK.name in str(inputs.get("chart")):
        yield f"Prometheus's series in namespace {inputs.get('namespace')}", _NEVER


_ON_AWS = {
    "aws:efs/fileSystem:FileSystem": ("EFS file system", _AGAIN),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("FSx for Lustre file system", _AGAIN),
    "aws:s3/bucket:Bucket": ("S3 bucket", _AGAIN),
    "aws:ecr/repository:Repository": (
        "images of ECR repository",
        "the next `up` builds or copies them again",
    ),
    "aws:cloudwatch/logGroup:LogGroup": ("log group", _NEVER),
}
"""By type: what to call it, and what brings its data back."""
