"""Models in an S3 bucket: what fills it and what copies from it, in pods with an identity of their own. Pure.

The AWS CLI moves the bytes, with S3's C client (CRT), many parts of many files at once. Sources: the CLI's topic
guide `s3-config`, EKS user guide, "EKS Pod Identity".
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from facts.weights import Weights
from manifests import aws_cli, objects, pod_scripts
from manifests.cache import local_copy
from manifests.command import variables
from manifests.names import CACHE_CLAIM, CACHE_PATH, DOWNLOAD_JOB
from pods.bucket.store import PREFIX

NAME = "model-bucket"
"""Of the ConfigMap that says which bucket, and holds the programs; and of the account of Jobs that read."""
KEYS = f"{PREFIX}*"
"""What of the bucket is the cache: a bucket of somebody's own may hold more."""
_PACKAGE = "bucket"
_FOLDER = f"{pod_scripts.PATH}/{_PACKAGE}"
_SMALL = "1Gi"
"""Room for all of a model but its weights: tens of MB."""
_GLOBAL = """\
[default]
retry_mode = standard
max_attempts = 10
s3 =
  preferred_transfer_client = crt
"""
_TO_NODES = f"{_GLOBAL}  target_bandwidth = 100Gb/s\n"
"""Without it the client aims at what it knows of the instance type, or at 10 Gb/s for one that it does not know."""


def config_map(namespace: str, *, bucket: Any, region: Any) -> dict[str, Any]:
    """Which bucket, how it is read, and the programs. bucket: its name; may be an Output, as may its region."""
    made = pod_scripts.package_config_map(NAME, namespace, _PACKAGE)
    made["data"] |= {
        "download_model.py": pod_scripts.text("download_model.py"),
        "bucket": bucket,
        "region": region,
        "fill.config": _GLOBAL,
        "fetch.config": _TO_NODES,
    }
    return made


def volumes(gib: int | None, folder: str | None = None) -> list[dict[str, Any]]:
    """The pod's own disk instead of a claim, the programs and the CLI.

    gib: its size, None for no weights. folder: of the node, instead of it.
    """
    own = {"emptyDir": {"sizeLimit": _SMALL if gib is None else f"{gib}Gi"}}
    return [
        {"name": CACHE_CLAIM, **(own if folder is None else local_copy.of_node(folder))},
        pod_scripts.volume(NAME, NAME),
        aws_cli.volume(),
    ]


def mounts() -> list[dict[str, Any]]:
    """What a container needs that runs one of the programs."""
    return [
        {"name": CACHE_CLAIM, "mountPath": CACHE_PATH},
        pod_scripts.mount(NAME, _PACKAGE),
        aws_cli.mount(),
    ]


def command(program: str, python: str = "python3") -> dict[str, Any]:
    """A container's command line and folder. program: fill or fetch. python: of its image."""
    return {"command": [python, "-m", f"{_PACKAGE}.{program}"], "workingDir": pod_scripts.PATH}


def environment(program: str) -> list[dict[str, Any]]:
    """What the programs and the CLI read of the ConfigMap."""
    values = {
        "AWS_CLI": aws_cli.EXECUTABLE,
        "AWS_CONFIG_FILE": f"{_FOLDER}/{program}.config",
        # A node's own role is not for pods, and they are not to wait until it does not answer.
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return [
        *variables(values),
        _from_config_map("AWS_REGION", "region"),
        _from_config_map("BUCKET", "bucket"),
    ]


def _from_config_map(name: str, key: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"configMapKeyRef": {"name": NAME, "key": key}}}


def fetch_containers(
    image: str,
    models: Iterable[Weights],
    gib: int | None,
    *,
    of_node: bool = False,
    python: str = "python3",
    resources: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Init containers that copy models to the pod's disk. gib: of their weights, None for everything but those.

    of_node: whether that is a folder of the node, whose space its copier asks for. resources: instead of that space. As
    with copies from a shared cache, there is no limit beside the request: it would be the whole pod's.
    """
    disk = {"requests": {"ephemeral-storage": _SMALL if gib is None else f"{gib}Gi"}}
    read = [asdict(replace(each, tokenizer_only=gib is None)) for each in models]
    env = {
        "HF_HOME": CACHE_PATH,
        "MODELS": json.dumps(read, sort_keys=True),
        # The image asks for every GPU where the container runtime listens to that.
        "NVIDIA_VISIBLE_DEVICES": "void",
    }
    copying = objects.container(
        "copy-weights",
        image,
        **command("fetch", python),
        env=[*variables(env | ({"OF_NODE": "1"} if of_node else {})), *environment("fetch")],
        volumeMounts=mounts(),
        resources=resources or (None if of_node else disk),
        # So that the pod's status says why a copy failed.
        terminationMessagePolicy="FallbackToLogsOnError",
    )
    return [aws_cli.init_container(), copying]


def readers(graphs: Iterable[str], *, picker: bool, more: Iterable[str] = ()) -> tuple[str, ...]:
    """ServiceAccounts of the pods that read. picker: whether one of the graphs has an endpoint picker. more: others.

    The operator makes an account for each graph and gives it to the graph's pods, and one for endpoint pickers (its
    internal/discovery/resource.go and internal/consts; the same from Dynamo 1.0 to 1.5, with Kubernetes discovery).
    """
    accounts = [f"{graph}-k8s-service-discovery" for graph in graphs]
    return (*accounts, *(["epp-serviceaccount"] if picker else []), NAME, *more)


WRITER = DOWNLOAD_JOB
"""ServiceAccount of the Job that fills the bucket."""
