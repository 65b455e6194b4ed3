"""EFS and FSx for Lustre: encrypted, reached by nodes alone, kept if asked."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from components.cache.storage import EfsCache, EfsCacheArgs, LustreCache, LustreCacheArgs, Network
from tests.components.recording import Retained, deploy, named

NETWORK = Network(
    vpc_id="vpc-1", subnets={"a": "subnet-a", "b": "subnet-b"}, node_security_group_id="sg-nodes"
)


def efs(**more: Any) -> Callable[[], object]:
    given: dict[str, Any] = {"network": NETWORK, "namespace": "dynamo", "size": "100Gi"}
    return lambda: EfsCache("model-cache", EfsCacheArgs(**given | more))


@pytest.mark.parametrize("retain", [True, False])
def test_efs_is_encrypted_reached_from_every_subnet_and_kept_if_asked(retain: bool) -> None:
    recorder = Retained()
    deploy(efs(retain=retain), recorder)
    assert recorder.retained == ({"model-cache"} if retain else set())
    file_system = named(recorder, "model-cache", "fileSystem:FileSystem")
    assert file_system.inputs["encrypted"] is True
    assert "creationToken" not in file_system.inputs, "the provider's own is never used twice"
    targets = [r for r in recorder.recorded if r.type.endswith(":MountTarget")]
    assert [r.inputs["subnetId"] for r in sorted(targets, key=lambda r: r.name)] == ["subnet-a", "subnet-b"]
    volume = named(recorder, "model-cache-dynamo", ":PersistentVolume")
    assert {r.urn for r in targets} <= {*volume.dependencies}
    (rule,) = [r for r in recorder.recorded if r.type.endswith(":SecurityGroupIngressRule")]
    assert rule.inputs["referencedSecurityGroupId"] == "sg-nodes"
    assert (rule.inputs["fromPort"], rule.inputs["toPort"]) == (2049, 2049)


def test_efs_is_mounted_through_an_access_point_and_by_no_class() -> None:
    """A class with `reuseAccessPoint` gives one client token to every claim of a name in account and region."""
    recorder = deploy(efs())
    assert not [r for r in recorder.recorded if r.type.endswith(":StorageClass")]
    point = named(recorder, "model-cache", "accessPoint:AccessPoint").inputs
    assert point["rootDirectory"] == {
        "path": "/dynamo-gpt-oss/dynamo/model-cache",
        "creationInfo": {"ownerUid": 1000, "ownerGid": 1000, "permissions": "0700"},
    }
    assert point["posixUser"] == {"uid": 1000, "gid": 1000}
    volume = named(recorder, "model-cache-dynamo", ":PersistentVolume").inputs["spec"]
    assert volume["csi"] == {"driver": "efs.csi.aws.com", "volumeHandle": "model-cache-id::model-cache-id"}
    assert volume["claimRef"] == {"namespace": "dynamo", "name": "model-cache"}
    assert volume["mountOptions"] == ["tls", "iam"]


def test_a_later_stack_takes_the_file_system_up_with_mount_targets_of_its_own() -> None:
    recorder = deploy(efs(file_system="fs-0123456789abcdef0"))
    assert not [r for r in recorder.recorded if r.type.endswith(":FileSystem")]
    targets = [r.inputs for r in recorder.recorded if r.type.endswith(":MountTarget")]
    assert [each["fileSystemId"] for each in targets] == ["fs-0123456789abcdef0"] * 2
    assert named(recorder, "model-cache", ":AccessPoint").inputs["fileSystemId"] == "fs-0123456789abcdef0"


def test_a_file_system_with_mount_targets_of_its_own_keeps_them_and_its_policy() -> None:
    recorder = deploy(efs(network=None, file_system="fs-0123456789abcdef0"))
    made = {r.type.rpartition(":")[2] for r in recorder.recorded if r.type.startswith("aws:")}
    assert made == {"AccessPoint"}


@pytest.mark.parametrize("role", ["arn:aws:iam::123456789012:role/efs", None])
def test_efs_lets_in_the_drivers_role_alone_by_tls_and_access_point(role: str | None) -> None:
    recorder = deploy(efs(client_role=role))
    policy = json.loads(named(recorder, "model-cache", ":FileSystemPolicy").inputs["policy"])
    (statement,) = policy["Statement"]
    assert statement["Principal"] == {"AWS": role or "*"}
    assert not any("Root" in action for action in statement["Action"])
    assert statement["Condition"]["Bool"]["aws:SecureTransport"] == "true"
    assert statement["Condition"]["Null"] == {"elasticfilesystem:AccessPointArn": "false"}


@pytest.mark.parametrize(
    ("size", "gib"), [("100Gi", 1200), ("1200Gi", 1200), ("1201Gi", 2400), ("2Ti", 2400), ("3Ti", 4800)]
)
def test_lustre_is_bought_in_the_sizes_that_are_sold(size: str, gib: int) -> None:
    def program() -> None:
        args = LustreCacheArgs(network=NETWORK, namespace="dynamo", size=size, throughput=250)
        LustreCache("model-cache", args)

    recorder = deploy(program)
    file_system = named(recorder, "model-cache", "lustreFileSystem:LustreFileSystem").inputs
    assert file_system["storageCapacity"] == gib
    assert file_system["subnetIds"] == "subnet-a"
    volume = named(recorder, "model-cache-dynamo", ":PersistentVolume").inputs["spec"]
    assert volume["csi"]["volumeHandle"] == "model-cache-id"
    assert volume["claimRef"] == {"namespace": "dynamo", "name": "model-cache"}


def test_lustre_clients_and_servers_reach_each_other() -> None:
    def program() -> None:
        args = LustreCacheArgs(network=NETWORK, namespace="dynamo", size="100Gi", throughput=250)
        LustreCache("model-cache", args)

    rules = [r for r in deploy(program).recorded if "SecurityGroup" in r.type and r.type.endswith("Rule")]
    ports = {(r.inputs["fromPort"], r.inputs["toPort"]) for r in rules}
    assert ports == {(988, 988), (1018, 1023)}
    nodes = [r for r in rules if r.inputs["referencedSecurityGroupId"] == "sg-nodes"]
    assert len(nodes) == 2
    assert all(r.type.endswith("IngressRule") for r in nodes)
