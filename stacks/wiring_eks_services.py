"""Wiring of what graphs need from AWS. The program imports this module for EKS stacks alone: it brings pulumi_aws."""

import pulumi

from components.secret_access import SecretAccess, SecretAccessArgs
from components.storage import EfsCache, EfsCacheArgs, LustreCache, LustreCacheArgs, Network
from graphs.storage import EFS_CLASS, lustre_volume_name
from stacks.settings import Settings
from stacks.wiring_eks import Eks
from stacks.wiring_services import Storage, aws_secrets


def storage(settings: Settings, eks: Eks) -> Storage:
    """A file system of the stack's own for the model cache, of kind efs or fsx."""
    cache = settings.cache
    network = Network(
        vpc_id=eks.vpc_id,
        subnet_ids=eks.file_system_subnets(settings.pool_zones()),
        node_security_group_id=eks.cluster.security_group_id,
    )
    on_both = pulumi.ResourceOptions(
        providers=[eks.provider, eks.cluster.provider], depends_on=eks.cluster.ready
    )
    if cache.kind == "efs":
        made = EfsCache("model-cache", EfsCacheArgs(network=network, retain=cache.retain), on_both)
        return Storage(storage_class=EFS_CLASS, needed=[made])
    namespace = settings.cluster.namespace
    args = LustreCacheArgs(
        network=network,
        namespace=namespace,
        size=cache.size,
        throughput=cache.throughput,
    )
    return Storage(volume=lustre_volume_name(namespace), needed=[LustreCache("model-cache", args, on_both)])


def secret_access(settings: Settings, eks: Eks) -> list[pulumi.Resource]:
    """What lets External Secrets read the stack's secrets, where the stack installs it."""
    secrets = aws_secrets(settings)
    if not secrets or not settings.external_secrets.install:
        return []
    args = SecretAccessArgs(cluster_name=eks.cluster.name, secrets=secrets)
    return [SecretAccess("secret-access", args, pulumi.ResourceOptions(providers=[eks.provider]))]
