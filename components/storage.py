"""Shared file systems on AWS for the model cache. Only EKS stacks import this module."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from components.storage_class import efs_storage_class
from graphs import storage

NFS_PORTS = ((2049, 2049),)
LUSTRE_PORTS = ((988, 988), (1018, 1023))
"""Ports that Lustre clients and servers use, in both directions (FSx for Lustre user guide)."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """Where the nodes are. subnet_ids: one a zone; how many there are must be known before a deployment."""

    vpc_id: pulumi.Input[str]
    subnet_ids: Sequence[pulumi.Input[str]]
    node_security_group_id: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class EfsCacheArgs:
    """network: where mount targets go. retain: keep the file system when the stack goes."""

    network: Network
    retain: bool


class EfsCache(pulumi.ComponentResource):
    """Amazon EFS: no size to choose, reached from every zone, slower than Lustre; its own security group and class.

    With `retain` mount targets go with their subnets and the file system stays, to be named in cache.fileSystem.
    """

    file_system_id: pulumi.Output[str]
    storage_class: kubernetes.storage.v1.StorageClass

    def __init__(self, name: str, args: EfsCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:EfsCache", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        file_system = aws.efs.FileSystem(
            name,
            encrypted=True,
            throughput_mode="elastic",
            tags={"Name": name},
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=args.retain),
        )
        group = _security_group(name, args.network, NFS_PORTS, child)
        targets = [
            aws.efs.MountTarget(
                f"{name}-{position}",
                file_system_id=file_system.id,
                subnet_id=subnet,
                security_groups=[group.id],
                opts=child,
            )
            for position, subnet in enumerate(args.network.subnet_ids)
        ]
        self.file_system_id = file_system.id
        self.storage_class = efs_storage_class(
            file_system.id, pulumi.ResourceOptions(parent=self, depends_on=targets)
        )
        self.register_outputs({"fileSystemId": self.file_system_id})


@dataclass(frozen=True, kw_only=True)
class LustreCacheArgs:
    """namespace: of the claim. size: the claim's. throughput: MB/s for each TiB."""

    network: Network
    namespace: str
    size: str
    throughput: int


class LustreCache(pulumi.ComponentResource):
    """Amazon FSx for Lustre: fastest to load from, in one zone, paid by provisioned size; with its volume.

    The subnet is the first of the network's: give the zone of the GPU pool first.
    """

    file_system_id: pulumi.Output[str]
    volume: kubernetes.core.v1.PersistentVolume

    def __init__(self, name: str, args: LustreCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:LustreCache", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        group = _security_group(name, args.network, LUSTRE_PORTS, child)
        _lustre_servers_talk(name, group, child)
        file_system = aws.fsx.LustreFileSystem(
            name,
            subnet_ids=args.network.subnet_ids[0],
            security_group_ids=[group.id],
            deployment_type="PERSISTENT_2",
            storage_type="SSD",
            storage_capacity=storage.lustre_capacity(args.size),
            per_unit_storage_throughput=args.throughput,
            file_system_type_version="2.15",
            data_compression_type="LZ4",
            # The weights can be downloaded again; a final backup would cost and outlive the stack unseen.
            skip_final_backup=True,
            tags={"Name": name},
            opts=child,
        )
        self.file_system_id = file_system.id
        manifest = storage.lustre_volume(
            args.namespace,
            size=args.size,
            file_system=file_system.id,
            dns_name=file_system.dns_name,
            mount_name=file_system.mount_name,
        )
        self.volume = kubernetes.core.v1.PersistentVolume(
            storage.lustre_volume_name(args.namespace),
            metadata=manifest["metadata"],
            spec=manifest["spec"],
            opts=child,
        )
        self.register_outputs({"fileSystemId": self.file_system_id})


def _security_group(
    name: str,
    network: Network,
    ports: Sequence[tuple[int, int]],
    child: pulumi.ResourceOptions,
) -> aws.ec2.SecurityGroup:
    group = aws.ec2.SecurityGroup(
        name,
        description="Model cache: file system traffic from the cluster's nodes",
        vpc_id=network.vpc_id,
        tags={"Name": name},
        opts=child,
    )
    for first, last in ports:
        aws.vpc.SecurityGroupIngressRule(
            f"{name}-nodes-{first}",
            security_group_id=group.id,
            referenced_security_group_id=network.node_security_group_id,
            ip_protocol="tcp",
            from_port=first,
            to_port=last,
            opts=child,
        )
    return group


def _lustre_servers_talk(name: str, group: aws.ec2.SecurityGroup, child: pulumi.ResourceOptions) -> None:
    for first, last in LUSTRE_PORTS:
        for direction, rule in (
            ("in", aws.vpc.SecurityGroupIngressRule),
            ("out", aws.vpc.SecurityGroupEgressRule),
        ):
            rule(
                f"{name}-servers-{direction}-{first}",
                security_group_id=group.id,
                referenced_security_group_id=group.id,
                ip_protocol="tcp",
                from_port=first,
                to_port=last,
                opts=child,
            )
