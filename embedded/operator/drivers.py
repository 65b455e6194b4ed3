"""What of a real cluster else is simulated: the storage provisioner, and NVIDIA's driver of ComputeDomains."""

from typing import Any

import kopf

from embedded.operator.api import is_deleted
from embedded.operator.components import Object
from embedded.operator.platform import PROVISIONER, SIMULATED
from facts.hardware import GPU_PRODUCT, Gpu

CHANNEL_CLASS, CHANNEL_DRIVER = "compute-domain-default-channel.nvidia.com", "compute-domain.nvidia.com"


@kopf.on.event(
    "v1", "persistentvolumeclaims", annotations={"volume.kubernetes.io/storage-provisioner": PROVISIONER}
)
async def claim_changed(body: kopf.Body, type: str | None, memo: kopf.Memo, **_: Any) -> None:
    """Gives a pending claim its volume; the controller manager asks for one by the annotation."""
    metadata, spec = body["metadata"], body["spec"]
    if "volumeName" in spec or is_deleted(body, type):
        return
    volume = {
        "accessModes": spec["accessModes"],
        "capacity": spec["resources"]["requests"],
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        | {key: metadata[key] for key in ("name", "namespace", "uid")},
        # Never mounted: simulated nodes run no containers.
        "nfs": {"server": "127.0.0.1", "path": f"/{metadata['namespace']}/{metadata['name']}"},
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": spec["storageClassName"],
        "volumeMode": spec["volumeMode"],
    }
    annotations = {"pv.kubernetes.io/provisioned-by": PROVISIONER}
    name = f"pvc-{metadata['uid']}"
    await memo.api.apply(_cluster_object("PersistentVolume", name, volume, annotations=annotations))


@kopf.on.event("v1", "persistentvolumes", labels=SIMULATED)
async def volume_changed(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """Removes a volume whose claim is gone."""
    if body.get("status", {}).get("phase") == "Released" and not is_deleted(body):
        await memo.api.request("DELETE", f"/api/v1/persistentvolumes/{body['metadata']['name']}")


@kopf.on.event("resource.nvidia.com", "v1beta1", "computedomains")
async def domain_changed(body: kopf.Body, type: str | None, memo: kopf.Memo, **_: Any) -> None:
    """Gives a ComputeDomain the claim template that its pods name."""
    if is_deleted(body, type):
        return
    request = {"name": "channel", "exactly": {"deviceClassName": CHANNEL_CLASS}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": body["spec"]["channel"]["resourceClaimTemplate"]["name"],
            "namespace": body["metadata"]["namespace"],
            "labels": SIMULATED,
            "ownerReferences": [kopf.build_owner_reference(body)],
        },
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
    await memo.api.apply(template)
    await memo.api.set_status(dict(body), {"status": "Ready"})


@kopf.on.event("v1", "nodes", labels={"nvidia.com/gpu.product": GPU_PRODUCT[Gpu.GB200]})
async def node_changed(body: kopf.Body, type: str | None, memo: kopf.Memo, **_: Any) -> None:
    """Offers the one IMEX channel of a GB200 node; as on real ones, a second claim has to go to another node."""
    name = body["metadata"]["name"]
    if is_deleted(body, type):
        return
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": body["metadata"]["uid"]}
    channel = {"name": "channel-0", "attributes": {"type": {"string": "channel"}, "id": {"int": 0}}}
    slice_ = {
        "driver": CHANNEL_DRIVER,
        "nodeName": name,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [channel],
    }
    slice_name = f"{name}-{CHANNEL_DRIVER}"
    await memo.api.apply(_cluster_object("ResourceSlice", slice_name, slice_, ownerReferences=[owner]))


def _cluster_object(kind: str, name: str, spec: Object, **metadata: Any) -> Object:
    """An object without a namespace, labelled as simulated."""
    version = "v1" if kind == "PersistentVolume" else "resource.k8s.io/v1"
    labelled = {"name": name, "labels": SIMULATED, **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": labelled, "spec": spec}
