"""Wiring of what graphs need from AWS."""

import pulumi

from components.cache.model_bucket import ModelBucket, ModelBucketArgs
from components.cache.model_cache import Bucket
from components.cache.storage import EfsCache, EfsCacheArgs, LustreCache, LustreCacheArgs, Network
from components.services.secret_access import SecretAccess, SecretAccessArgs
from components.services.shrink_role import ShrinkRole, ShrinkRoleArgs
from facts.weights import room_gib
from manifests.cache import bucket, node_copy
from manifests.cache.storage import volume_name
from manifests.services.time_to_live import NodeGroups
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster
from stacks.wiring.eks import Eks
from stacks.wiring.secrets import aws_secrets
from stacks.wiring.services import Storage
from targets.capacity import is_local_zone
from targets.plan import all_weights

_BESIDE_WEIGHTS_GIB = 1
"""Room for tokenizers and the vocabulary."""


def storage(stack: StackPlan, eks: Eks) -> Storage:
    """A volume of the stack's own for the model cache, of kind efs or fsx."""
    cache, namespace = stack.cache, stack.cluster.namespace
    zones = eks.file_system_zones(stack.pool_zones)
    network = Network(
        vpc_id=eks.vpc_id,
        subnets={zone: eks.subnets[zone] for zone in zones},
        node_security_group_id=eks.cluster.security_group_id,
    )
    on_both = pulumi.ResourceOptions(
        providers=[eks.provider, eks.cluster.provider], depends_on=eks.cluster.ready
    )
    if cache.kind == "fsx":
        lustre = LustreCacheArgs(
            network=network, namespace=namespace, size=cache.size, throughput=cache.throughput
        )
        return Storage(
            volume=volume_name(namespace), own_root=True, needed=[LustreCache("model-cache", lustre, on_both)]
        )
    args = EfsCacheArgs(
        network=network if stack.cache.mount_targets else None,
        namespace=namespace,
        size=cache.size,
        file_system=cache.file_system,
        retain=cache.retain,
        client_role=eks.cluster.efs_client_role,
        # A Local Zone has no mount target, and EFS's name resolves only beside one.
        through_zone=eks.zones.get(zones[0], zones[0]) if any(map(is_local_zone, stack.pool_zones)) else None,
    )
    made = EfsCache("model-cache", args, on_both)
    return Storage(volume=volume_name(namespace), file_system_id=made.file_system_id, needed=[made])


def model_bucket(stack: StackPlan, eks: Eks) -> Storage:
    """A bucket for the models, of the stack's own or one that is there, and who may use it."""
    cluster = stack.cluster
    assert isinstance(cluster, AwsCluster)
    args = ModelBucketArgs(
        cluster_name=eks.cluster.name,
        namespace=cluster.namespace,
        region=cluster.region,
        readers=bucket.readers(
            (each.name for each in stack.graphs),
            picker=stack.main.frontend.inference_extension,
            more=(node_copy.NAME,) if stack.cache.copies_to_nodes else (),
        ),
        writer=bucket.WRITER,
        bucket=stack.cache.bucket,
        retain=stack.cache.retain,
    )
    made = ModelBucket(
        "model-bucket", args, pulumi.ResourceOptions(providers=[eks.provider], depends_on=eks.cluster.ready)
    )
    room = room_gib(all_weights(stack.graphs)) + _BESIDE_WEIGHTS_GIB
    return Storage(bucket=Bucket(name=made.bucket, region=cluster.region, gib=room), needed=[made])


def secret_access(stack: StackPlan, eks: Eks) -> list[pulumi.Resource]:
    """What lets External Secrets read the stack's secrets, where the stack installs it."""
    secrets = aws_secrets(stack)
    if not secrets or not stack.secrets.external.install:
        return []
    args = SecretAccessArgs(cluster_name=eks.cluster.name, secrets=secrets)
    return [SecretAccess("secret-access", args, pulumi.ResourceOptions(providers=[eks.provider]))]


def shrink_role(stack: StackPlan, eks: Eks) -> tuple[NodeGroups, list[pulumi.Resource]]:
    """The node groups that the time to live empties, and the role that lets it."""
    cluster, name = stack.cluster, pulumi.get_stack()
    assert isinstance(cluster, AwsCluster)
    args = ShrinkRoleArgs(
        cluster_name=eks.cluster.name, cluster_arn=eks.cluster.arn, namespace=cluster.namespace, stack=name
    )
    role = ShrinkRole("shrink-gpu-pools", args, pulumi.ResourceOptions(providers=[eks.provider]))
    return NodeGroups(cluster=cluster.name or eks.cluster.name, region=cluster.region, stack=name), [role]
