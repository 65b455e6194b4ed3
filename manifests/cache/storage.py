"""Storage of the model cache on AWS as Kubernetes objects. Pure.

Sources: the EFS and FSx CSI drivers' docs and parameters, and the mount options of efs-utils.
"""

from typing import Any

from manifests.names import CACHE_CLAIM
from manifests.objects import manifest
from manifests.security import USER

EFS_CLASS = "model-cache-efs"
_EFS_BASE = "/dynamo-gpt-oss"
"""Folder of an EFS file system below which each namespace has one, whoever makes its access point."""
FSX_STEP_GIB = 2400
FSX_SMALLEST_GIB = 1200
_GIB = {"Gi": 1, "Ti": 1024}


def efs_folder(namespace: str) -> str:
    """Folder of a namespace's weights; a later stack of that namespace finds them there."""
    return f"{_EFS_BASE}/{namespace}/{CACHE_CLAIM}"


def efs_volume(namespace: str, *, size: Any, handle: Any, zone: Any) -> dict[str, Any]:
    """A volume for an access point. handle: `fs-…::fsap-…`, may be an Output, as may zone.

    zone: `az=` with the zone of the mount target that every node goes through; None for the one of the node's own zone,
    whose name is all that resolves otherwise (EFS user guide, "Mounting with a DNS name").
    """
    return _volume(
        namespace,
        size,
        # `iam` signs with the driver's identity, or the node's where it has none.
        options=["tls", "iam", *([zone] if zone is not None else [])],
        csi={"driver": "efs.csi.aws.com", "volumeHandle": handle},
    )


def default_storage_class() -> dict[str, Any]:
    """For volumes of one node: EKS marks no class as default, and its own does not encrypt."""
    return manifest(
        "storage.k8s.io/v1",
        "StorageClass",
        "gp3",
        None,
        annotations={"storageclass.kubernetes.io/is-default-class": "true"},
        provisioner="ebs.csi.aws.com",
        parameters={"type": "gp3", "encrypted": "true"},
        volumeBindingMode="WaitForFirstConsumer",
    )


def efs_storage_class(file_system: str) -> dict[str, Any]:
    """A class for clusters whose stack makes nothing on AWS: the driver makes an access point for each claim.

    No `reuseAccessPoint`: its client token is the claim's name, and tokens are unique to an account and region, so that
    a second file system's claim of the name never binds (aws-efs-csi-driver, docs/parameters.md). The same folder is
    found without it. The access point makes every write the pods' user's, so 700 is enough.
    """
    return manifest(
        "storage.k8s.io/v1",
        "StorageClass",
        EFS_CLASS,
        None,
        provisioner="efs.csi.aws.com",
        reclaimPolicy="Retain",
        volumeBindingMode="Immediate",
        mountOptions=["tls", "iam"],
        parameters={
            "provisioningMode": "efs-ap",
            "fileSystemId": file_system,
            "directoryPerms": "700",
            "uid": str(USER),
            "gid": str(USER),
            "basePath": _EFS_BASE,
            "subPathPattern": "${.PVC.namespace}/${.PVC.name}",
            "ensureUniqueDirectory": "false",
        },
    )


def lustre_capacity(size: str) -> int:
    """GiB that FSx sells for a claim of that size: 1200, then multiples of 2400."""
    wanted = int(size[:-2]) * _GIB[size[-2:]]
    if wanted <= FSX_SMALLEST_GIB:
        return FSX_SMALLEST_GIB
    return -(-wanted // FSX_STEP_GIB) * FSX_STEP_GIB


def volume_name(namespace: str) -> str:
    """Name of the PersistentVolume; volumes are not namespaced."""
    return f"{CACHE_CLAIM}-{namespace}"


def lustre_volume(
    namespace: str, *, size: str, file_system: Any, dns_name: Any, mount_name: Any
) -> dict[str, Any]:
    """A volume for a file system that the CSI driver did not make. The last three may be Outputs."""
    return _volume(
        namespace,
        size,
        options=["flock"],
        csi={
            "driver": "fsx.csi.aws.com",
            "volumeHandle": file_system,
            "volumeAttributes": {"dnsname": dns_name, "mountname": mount_name},
        },
    )


def _volume(namespace: str, size: Any, *, options: list[str], csi: dict[str, Any]) -> dict[str, Any]:
    """A volume for the cache's claim and no other."""
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "claimRef": {"namespace": namespace, "name": CACHE_CLAIM},
        "mountOptions": options,
        "csi": csi,
    }
    return manifest("v1", "PersistentVolume", volume_name(namespace), None, spec=spec)
