"""The StorageClass of an EFS file system; needs nothing of AWS itself."""

import pulumi
import pulumi_kubernetes as kubernetes

from graphs import storage


def efs_storage_class(
    file_system_id: str, opts: pulumi.ResourceOptions
) -> kubernetes.storage.v1.StorageClass:
    """A class whose claims get a folder of the file system each, kept when the claim goes."""
    manifest = storage.efs_storage_class(file_system_id)
    return kubernetes.storage.v1.StorageClass(
        storage.EFS_CLASS,
        metadata=manifest["metadata"],
        provisioner=manifest["provisioner"],
        parameters=manifest["parameters"],
        reclaim_policy=manifest["reclaimPolicy"],
        volume_binding_mode=manifest["volumeBindingMode"],
        mount_options=manifest["mountOptions"],
        opts=opts,
    )
