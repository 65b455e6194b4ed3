"""The cache of weights: its claim, and the Job that fills it or a bucket. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from facts.weights import Weights
from manifests import aws_cli, objects, pod_scripts
from manifests.cache import bucket
from manifests.command import variables
from manifests.graph.placement import on_archs
from manifests.names import (
    CACHE_CLAIM,
    CACHE_PATH,
    DOWNLOAD_JOB,
    TOKEN_KEY,
    VOCABULARY_PATH,
)  # fmt: skip
from manifests.security import USER, container_security

_SCRIPT = "download_model.py"
_TOKEN_PATH = "/var/run/secrets/hugging-face"
_TOKEN_MOUNT = {"name": "token", "mountPath": _TOKEN_PATH, "readOnly": True}
_CHOWN = f"import os; os.chown({CACHE_PATH!r}, {USER}, {USER})"
"""In Python, which every image here has; small ones have no shell tools."""


def claim(namespace: str, *, size: Any, storage_class: Any, volume: Any = None) -> dict[str, Any]:
    """The ReadWriteMany claim that the Job fills and every pod of the graph reads. What it is told may be Outputs.

    volume: name of the PersistentVolume that it takes, None for one that its class makes.
    """
    return objects.claim(
        CACHE_CLAIM, namespace, objects.claim_spec(size, "ReadWriteMany", storage_class, volume)
    )


def script_config_map(namespace: str) -> dict[str, Any]:
    """The download script, so that the Job installs nothing."""
    return pod_scripts.config_map(DOWNLOAD_JOB, namespace, _SCRIPT)


def download_job(
    namespace: str,
    *,
    weights: Sequence[Weights],
    image: Any,
    archs: Sequence[str],
    token_secret: Any,
    pull_secret: Any,
    own_root: bool = False,
    source: Mapping[str, Any] | None = None,
    existing_claim: Any = None,
    bucket_gib: int | None = None,
) -> dict[str, Any]:
    """The Job that downloads the weights, checks every file's size and leaves a done marker. Names may be Outputs.

    source: variables that say where from (a mirror, a proxy). existing_claim: a claim that is filled already, which
    the Job checks and writes nothing to.
    token_secret: name of the Secret with the Hugging Face token, mounted as a file so that no environment shows it.
    own_root: give the volume's root to the pods' user first, for file systems whose CSI driver does not (FSx).
    bucket_gib: room on the pod's own disk, from which it then fills a bucket; None for a claim.
    """
    if bucket_gib is None:
        volumes, mounts = _on_claim(existing_claim)
        runs: dict[str, Any] = {"command": ["python3", f"{pod_scripts.PATH}/{_SCRIPT}"]}
    else:
        volumes, mounts, runs = bucket.volumes(bucket_gib), bucket.mounts(), bucket.command("fill")
    if token_secret:
        volumes, mounts = [*volumes, _token(token_secret)], [*mounts, _TOKEN_MOUNT]
    env = _environment(
        weights, {"EXISTING": "1"} if existing_claim else source or {}, token=bool(token_secret)
    )
    # Without a request the Job is the first to be killed when the node runs short (ai-on-eks#320).
    asked = {"cpu": "2", "memory": "8Gi"}
    before: dict[str, Any] = {"initContainers": [_own_root(image)]} if own_root else {}
    if bucket_gib is not None:
        # The scheduler finds a node whose disk has room for the download; on CPU nodes of the stack's that is the root.
        asked["ephemeral-storage"] = f"{bucket_gib}Gi"
        before = {"initContainers": [aws_cli.init_container()], "serviceAccountName": bucket.WRITER}
    container = objects.container(
        "download",
        image,
        **runs,
        env=[*variables(env), *(bucket.environment("fill") if bucket_gib else [])],
        volumeMounts=mounts,
        # So that the pod's status, and with it the message of a failed `up`, says why.
        terminationMessagePolicy="FallbackToLogsOnError",
        resources={"requests": asked, "limits": {"memory": "16Gi"}},
    )
    pod = objects.pod(
        [pull_secret], containers=[container], volumes=volumes, affinity=on_archs(archs), **before
    )
    return objects.job(
        DOWNLOAD_JOB,
        namespace,
        pod,
        labels={"app": DOWNLOAD_JOB},
        backoffLimit=3,
        completions=1,
        parallelism=1,
    )


def _environment(weights: Sequence[Weights], source: Mapping[str, Any], *, token: bool) -> dict[str, Any]:
    models = json.dumps([asdict(each) for each in weights], sort_keys=True)
    env = {"HF_HOME": CACHE_PATH, "MODELS": models, "VOCABULARY_PATH": VOCABULARY_PATH, **source}
    return env | {"HF_TOKEN_PATH": f"{_TOKEN_PATH}/{TOKEN_KEY}"} if token else env


def _token(secret: Any) -> dict[str, Any]:
    return {"name": "token", "secret": {"secretName": secret, "defaultMode": 0o440}}


def _on_claim(existing: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Volumes and mounts of the claim and the script. existing: a claim of somebody's own, which is only read."""
    read_only = {"readOnly": True} if existing else {}
    volumes = [
        {"name": CACHE_CLAIM, "persistentVolumeClaim": {"claimName": existing or CACHE_CLAIM, **read_only}},
        pod_scripts.volume(DOWNLOAD_JOB),
    ]
    mounts = [
        {"name": CACHE_CLAIM, "mountPath": CACHE_PATH, **read_only},
        pod_scripts.mount(),
    ]
    return volumes, mounts


def _own_root(image: Any) -> dict[str, Any]:
    """Root with one capability, for one call: a new Lustre file system belongs to root and ignores fsGroup."""
    security = container_security() | {"runAsUser": 0, "runAsNonRoot": False}
    security["capabilities"] = {"drop": ["ALL"], "add": ["CHOWN"]}
    return objects.container(
        "own-root",
        image,
        ["python3", "-c", _CHOWN],
        volumeMounts=[{"name": CACHE_CLAIM, "mountPath": CACHE_PATH}],
        security=security,
    )
