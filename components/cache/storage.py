"""Shared file systems on AWS for the model cache. Only EKS stacks import this module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.manifests import name_of, rendered, resource
from facts.versions import LUSTRE
from manifests.cache import storage
from manifests.security import USER

NFS_PORTS = ((2049, 2049),)
LUSTRE_PORTS = ((988, 988), (1018, 1023))
"""Ports that Lustre clients and servers use, in both directions (FSx for Lustre user guide)."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """Where the nodes are."""

    vpc_id: pulumi.Input[str]
    """Id of the VPC."""
    subnets: Mapping[str, pulumi.Input[str]]
    """Id by zone, the GPU nodes' first."""
    node_security_group_id: pulumi.Input[str]
    """Id of a group that every node is in."""


@dataclass(frozen=True, kw_only=True)
class EfsCacheArgs:
    """The file system, and the claim that it is for."""

    network: Network | None
    """Where mount targets go; None where the file system has its own."""
    namespace: pulumi.Input[str]
    """Of the claim."""
    size: pulumi.Input[str]
    """Of the claim."""
    file_system: pulumi.Input[str] | None = None
    """Id of one that is there; None for one of the stack's own."""
    retain: bool = False
    """Whether one of the stack's own stays when the stack goes."""
    client_role: pulumi.Input[str] | None = None
    """ARN of the role that nodes mount with; None where whoever reaches a mount target may."""
    through_zone: pulumi.Input[str] | None = None
    """Zone of the mount target for every node; None for each node's own."""


class EfsCache(pulumi.ComponentResource):
    """Amazon EFS: no size to choose, reached from every zone, slower than Lustre; with an access point and its volume.

    Provider, driver and stack agree on nothing by name: access point and volume are found by their ids alone. Where
    the mount targets are the stack's, nothing else can mount the file system, so its policy is the stack's too.
    """

    file_system_id: pulumi.Output[str]
    """Id of the file system."""

    def __init__(self, name: str, args: EfsCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:EfsCache", name, None, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        self.file_system_id = self._file_system()
        mountable = [] if args.network is None else self._mount_targets(args.network)
        self._volume(self._access_point(), mountable)
        self.register_outputs({"fileSystemId": self.file_system_id})

    def _file_system(self) -> pulumi.Output[str]:
        if self._args.file_system is not None:
            return pulumi.Output.from_input(self._args.file_system)
        return aws.efs.FileSystem(
            self._name,
            encrypted=True,
            throughput_mode="elastic",
            tags={"Name": self._name},
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=self._args.retain),
        ).id

    def _mount_targets(self, network: Network) -> list[pulumi.Resource]:
        """One for each zone, by whose place they were called once, and who may mount through them."""
        name, group = self._name, _security_group(self._name, network, NFS_PORTS, self._child)
        return [
            *(
                aws.efs.MountTarget(
                    f"{name}-{zone}",
                    file_system_id=self.file_system_id,
                    subnet_id=subnet,
                    security_groups=[group.id],
                    opts=pulumi.ResourceOptions(parent=self, aliases=[pulumi.Alias(name=f"{name}-{place}")]),
                )
                for place, (zone, subnet) in enumerate(network.subnets.items())
            ),
            aws.efs.FileSystemPolicy(
                self._name,
                file_system_id=self.file_system_id,
                policy=pulumi.Output.json_dumps(client_policy(self._args.client_role)),
                opts=self._child,
            ),
        ]

    def _access_point(self) -> aws.efs.AccessPoint:
        return aws.efs.AccessPoint(
            self._name,
            file_system_id=self.file_system_id,
            posix_user=aws.efs.AccessPointPosixUserArgs(uid=USER, gid=USER),
            root_directory=aws.efs.AccessPointRootDirectoryArgs(
                path=rendered(storage.efs_folder, self._args.namespace),
                # Every write is that user's, so nobody else needs a right.
                creation_info=aws.efs.AccessPointRootDirectoryCreationInfoArgs(
                    owner_uid=USER, owner_gid=USER, permissions="0700"
                ),
            ),
            tags={"Name": self._name},
            opts=self._child,
        )

    def _volume(self, point: aws.efs.AccessPoint, mountable: Sequence[pulumi.Resource]) -> pulumi.Resource:
        args = self._args
        handle = pulumi.Output.concat(self.file_system_id, "::", point.id)
        zone = None if args.through_zone is None else pulumi.Output.concat("az=", args.through_zone)
        manifest = rendered(
            lambda namespace: storage.efs_volume(namespace, size=args.size, handle=handle, zone=zone),
            args.namespace,
        )
        after = pulumi.ResourceOptions(parent=self, depends_on=list(mountable))
        return resource(manifest, after, name_of(manifest["metadata"]["name"], self._name))


def client_policy(role: pulumi.Input[str] | None) -> dict[str, Any]:
    """The policy of a file system whose mount targets are the stack's: TLS, through an access point, never as root.

    role: ARN of the one role that may; None for whoever reaches a mount target (EFS user guide, "Using IAM").
    """
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": role or "*"},
                "Action": ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
                "Condition": {
                    "Bool": {
                        "elasticfilesystem:AccessedViaMountTarget": "true",
                        "aws:SecureTransport": "true",
                    },
                    "Null": {"elasticfilesystem:AccessPointArn": "false"},
                },
            }
        ],
    }


@dataclass(frozen=True, kw_only=True)
class LustreCacheArgs:
    """The file system, and the claim that it is for."""

    network: Network
    """Where the nodes are."""
    namespace: pulumi.Input[str]
    """Of the claim."""
    size: str
    """Of the claim, in Gi or Ti."""
    throughput: int
    """MB/s for each TiB."""


class LustreCache(pulumi.ComponentResource):
    """Amazon FSx for Lustre: fastest to load from, in one zone, paid by provisioned size; with its volume.

    The subnet is the first of the network's: give the zone of the GPU pool first.
    """

    file_system_id: pulumi.Output[str]
    """Id of the file system."""

    def __init__(self, name: str, args: LustreCacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:LustreCache", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        group = _security_group(name, args.network, LUSTRE_PORTS, child)
        _lustre_servers_talk(name, group, child)
        file_system = aws.fsx.LustreFileSystem(
            name,
            subnet_ids=next(iter(args.network.subnets.values())),
            security_group_ids=[group.id],
            deployment_type="PERSISTENT_2",
            storage_type="SSD",
            storage_capacity=storage.lustre_capacity(args.size),
            per_unit_storage_throughput=args.throughput,
            file_system_type_version=LUSTRE,
            data_compression_type="LZ4",
            # The weights can be downloaded again; a final backup would cost and outlive the stack unseen.
            skip_final_backup=True,
            tags={"Name": name},
            opts=child,
        )
        self.file_system_id = file_system.id
        manifest = rendered(
            lambda namespace: storage.lustre_volume(
                namespace,
                size=args.size,
                file_system=file_system.id,
                dns_name=file_system.dns_name,
                mount_name=file_system.mount_name,
            ),
            args.namespace,
        )
        resource(manifest, child, name_of(manifest["metadata"]["name"], name))
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
