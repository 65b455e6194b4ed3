"""Storage of the model cache on AWS as Kubernetes objects. Pure.

Sources: the EFS and FSx CSI drivers' parameters, and the EKS example of Dynamo's docs for EFS.
"""

from typing import Any

from graphs.names import CACHE_CLAIM, MANAGED_BY
from graphs.security import USER

EFS_CLASS = "model-cache-efs"
FSX_STEP_GIB = 2400
FSX_SMALLEST_GIB = 1200
_GIB = {"Gi": 1, "Ti": 1024}


def efs_storage_class(file_system: Any) -> dict[str, Any]:
    """The class whose claims get a folder of the file system each. file_system: id, may be an Output.

    The access point makes every write the pods' user's, so 700 is enough. The folder's name follows the claim's and
    is not unique: a later claim of that name finds the weights again.
    """
    return {
        "metadata": {"name": EFS_CLASS, "labels": dict(MANAGED_BY)},
        "provisioner": "efs.csi.aws.com",
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "Immediate",
        "mountOptions": ["tls"],
        "parameters": {
            "provisioningMode": "efs-ap",
            "fileSystemId": file_system,
            "directoryPerms": "700",
            "uid": str(USER),
            "gid": str(USER),
            "basePath": "/dynamo-gpt-oss",
            "subPathPattern": "${.PVC.namespace}/${.PVC.name}",
            "ensureUniqueDirectory": "false",
            "reuseAccessPoint": "true",
        },
    }


def lustre_capacity(size: str) -> int:
    """GiB that FSx sells for a claim of that size: 1200, then multiples of 2400."""
    wanted = int(size[:-2]) * _GIB[size[-2:]]
    if wanted <= FSX_SMALLEST_GIB:
        return FSX_SMALLEST_GIB
    return -(-wanted // FSX_STEP_GIB) * FSX_STEP_GIB


def lustre_volume_name(namespace: str) -> str:
    """Name of the PersistentVolume; volumes are not namespaced."""
    return f"{CACHE_CLAIM}-{namespace}"


def lustre_volume(
    namespace: str, *, size: str, file_system: Any, dns_name: Any, mount_name: Any
) -> dict[str, Any]:
    """A volume for a file system that the CSI driver did not make. The last three may be Outputs."""
    return {
        "metadata": {"name": lustre_volume_name(namespace), "labels": dict(MANAGED_BY)},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"namespace": namespace, "name": CACHE_CLAIM},
            "mountOptions": ["flock"],
            "csi": {
                "driver": "fsx.csi.aws.com",
                "volumeHandle": file_system,
                "volumeAttributes": {"dnsname": dns_name, "mountname": mount_name},
            },
        },
    }
