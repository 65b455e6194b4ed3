"""Parts of launch templates, and the node configuration that new nodes read. No resource is made here."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import yaml
from pulumi_aws import ec2

from facts.hardware import InstanceType, Interface
from targets.capacity import ROOT_GIB, ROOT_IOPS, ROOT_MIB_S, CapacityKind

ROOT_DEVICE = "/dev/xvda"
"""Root device of Amazon Linux."""
_MORE_THAN_ANY_NODE_HAS = 2**46
"""Bytes, and exact as a floating-point number, which the usual infinity of 2⁶⁴ - 1 is not."""
_LIMITS = [
    {"type": "RLIMIT_MEMLOCK", "soft": _MORE_THAN_ANY_NODE_HAS, "hard": _MORE_THAN_ANY_NODE_HAS},
    # The image's own (amazon-eks-ami PR#1794), which a list of ours replaces.
    {"type": "RLIMIT_NOFILE", "soft": 65536, "hard": 1048576},
]


def metadata_options() -> ec2.LaunchTemplateMetadataOptionsArgs:
    """Instance metadata by session token only, and not from pods: their identity comes from EKS Pod Identity."""
    return ec2.LaunchTemplateMetadataOptionsArgs(
        http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
    )


def root_volume(
    instance: InstanceType, volume_type: str = "gp3"
) -> list[ec2.LaunchTemplateBlockDeviceMappingArgs]:
    """An encrypted root that goes with its node; faster than the least where it holds the images, for want of NVMe."""
    holds_images = not instance.nvme_gb[0]
    ebs = ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
        volume_type=volume_type,
        volume_size=ROOT_GIB,
        iops=ROOT_IOPS if holds_images else None,
        throughput=ROOT_MIB_S if holds_images else None,
        encrypted="true",
        delete_on_termination="true",
    )
    return [ec2.LaunchTemplateBlockDeviceMappingArgs(device_name=ROOT_DEVICE, ebs=ebs)]


def tag_specifications(tags: Mapping[str, str]) -> list[ec2.LaunchTemplateTagSpecificationArgs]:
    """Tags for what the template launches: EKS hands a node group's own tags to none of it.

    Only such as never change, for another tag is another template, and that is other nodes.
    """
    return [
        ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=dict(tags))
        for kind in ("instance", "volume", "network-interface")
    ]


def network_interfaces(
    layout: tuple[Interface, ...],
    primary_groups: Sequence[pulumi.Input[str]],
    efa_groups: Sequence[pulumi.Input[str]],
) -> list[ec2.LaunchTemplateNetworkInterfaceArgs]:
    """The interfaces of a layout. No subnet: EKS takes those from the node group alone."""
    return [
        ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=interface.card,
            device_index=interface.device,
            interface_type=interface.type,
            delete_on_termination="true",
            security_groups=primary_groups if interface.type == "interface" else efa_groups,
        )
        for interface in layout
    ]


def reservation(
    identity: pulumi.Input[str] | None, group: pulumi.Input[str] | None
) -> ec2.LaunchTemplateCapacityReservationSpecificationArgs:
    """The reservation that instances go into, or the group of them."""
    return ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_target=ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_id=identity,
            capacity_reservation_resource_group_arn=group,
        )
    )


def market(kind: CapacityKind) -> ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """The template's market. EKS refuses any but capacity-block; spot is set on the node group.

    terraform-provider-aws#18025
    """
    if kind is not CapacityKind.CAPACITY_BLOCK:
        return None
    return ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")


def capacity_type(kind: CapacityKind) -> str:
    """The node group's capacityType. A reservation that is no block is on-demand to EKS."""
    match kind:
        case CapacityKind.CAPACITY_BLOCK:
            return "CAPACITY_BLOCK"
        case CapacityKind.SPOT:
            return "SPOT"
        case CapacityKind.ON_DEMAND | CapacityKind.ODCR:
            return "ON_DEMAND"


def user_data(instance: InstanceType, *, parallel_pull: bool = False) -> str:
    """Base64 MIME text: nodeadm stripes the NVMe disks and gives them to kubelet, containerd and SOCI snapshotter.

    Containers of nodes with EFA may lock any amount of memory, which EFA registers. EKS adds the cluster's own
    NodeConfig; nodeadm merges both.
    parallel_pull: by SOCI snapshotter, without an index and on unmodified images; from a registry that serves no parts
    it takes whole layers (soci-snapshotter, fs/artifact_fetcher.go). nodeadm asks for 4 vCPUs and 7 GiB, and refuses
    the gate before image v20250813. Before v20251217 layers were unpacked on the root volume, which should write 600
    MiB/s then (amazon-eks-ami, nodeadm/doc/examples.md, PR#2352, PR#2548).
    """
    spec: dict[str, Any] = {}
    if instance.nvme_gb[0]:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    if instance.efa_devices:
        spec["containerd"] = {"baseRuntimeSpec": {"process": {"rlimits": _LIMITS}}}
    if parallel_pull:
        spec["featureGates"] = {"FastImagePull": True}
    config = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    mime = "\n".join(
        [
            "MIME-Version: 1.0",
            'Content-Type: multipart/mixed; boundary="BOUNDARY"',
            "",
            "--BOUNDARY",
            "Content-Type: application/node.eks.aws",
            "",
            yaml.safe_dump(config, sort_keys=True),
            "--BOUNDARY--",
            "",
        ]
    )
    return base64.b64encode(mime.encode()).decode()
