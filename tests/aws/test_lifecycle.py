"""Lives of all EKS stacks on an account that says no, and what it says where something that they need is missing.

| taken away | what AWS or Kubernetes then says |
|---|---|
| the address in `publicAccessFrom` | the API server of a VPC that the same `up` makes is out of reach |
| access points of the stack's own | a second EFS stack of the account never mounts: one client token for both |
| mount targets for a file system that is there | the next life's VPC has none |
| `az=` for nodes of a Local Zone | no mount target in their zone |
| `iam`, or the driver's role | access denied by the file system's policy |
| zones that the account has | the region has no zone of that letter |
| the cluster's wait for its way out | routes go while drivers still need them, and volumes and interfaces stay |
| launch templates without tags that change | another owner or time to live replaces nodes |
| characters of chance in the cluster's name | the next life, or a second person, meets what has that name |
| the deployer's own entry, left to EKS though `cluster.admins` lists them | it is in use already |
| add-on versions of the cluster's own Kubernetes release | the version is not supported |
| zones that no pool names, for those that the account lacks | two mount targets in one zone |
| an account for a graph's pods | they have no identity on AWS, and read no bucket |
| a quota of vCPUs | the GPU nodes never start |
| the sweep after a destroy | a log group that EKS made again, and the volumes of charts' claims, are left |
"""

from collections.abc import Iterator
from typing import Any

import boto3
import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.cluster.network import Network
from components.cluster.zones import zones_of_account
from manifests.cache import bucket, storage
from ops.aws.own import find_own
from stacks.plan import StackPlan
from stacks.sections.tags import TagSettings
from stacks.wiring import eks_services as wiring_eks_services
from stacks.wiring.services import Storage
from tests.aws import refusals
from tests.aws.adapters import snapshot
from tests.aws.engine import Stack
from tests.aws.lifecycle import (
    account_of,
    bring_up,
    config_of,
    eks_stacks,
    left,
    live,
    sweep_up,
    take_down,
    with_knobs,
)
from tests.aws.refusals import Refusal, World, world

pytestmark = pytest.mark.xdist_group("lifecycle")


@pytest.fixture
def account() -> Iterator[World]:
    with account_of(config_of("prod")) as made:
        yield made


@pytest.mark.parametrize("name", eks_stacks())
def test_a_stack_lives_twice_and_leaves_nothing(name: str) -> None:
    config = config_of(name)
    with account_of(config) as account:
        assert live(account, name, config).left == {}


@pytest.mark.parametrize("retain", [True, False])
def test_a_stack_whose_models_are_in_a_bucket_lives_twice(retain: bool) -> None:
    """Its pods read the bucket as who they are, the Job fills it, and full it goes with a stack that keeps nothing."""
    config = {**config_of("disagg-b200"), "cache": {"kind": "s3", "retain": retain}}
    with account_of(config) as account:
        life = live(account, "disagg-b200", config, broken_off=(0, 3))
        assert life.left == {}
        assert life.refused > 10
        assert len(snapshot(account.account)["bucket"]) == retain


def test_pods_without_an_identity_read_nothing(account: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket, "readers", lambda *_, **__: ())
    refused(account, "identity", cache={"kind": "s3"})


def test_a_bucket_of_another_region_is_refused(account: World) -> None:
    place = {"LocationConstraint": "eu-west-1"}
    boto3.client("s3", region_name="eu-west-1").create_bucket(
        Bucket="far-away", CreateBucketConfiguration=place
    )
    with pytest.raises(pulumi.RunError, match=r"model-bucket\.bucket: far-away is not in us-east-2"):
        Stack(account, "disagg-b200").up(
            config_of("disagg-b200") | {"cache": {"kind": "s3", "bucket": "far-away"}}
        )


def test_a_bucket_that_is_not_there_is_refused(account: World) -> None:
    with pytest.raises(
        pulumi.RunError, match=r"model-bucket\.bucket: nowhere cannot be used: .*NoSuchBucket"
    ):
        Stack(account, "disagg-b200").up(
            config_of("disagg-b200") | {"cache": {"kind": "s3", "bucket": "nowhere"}}
        )


def test_broken_off_it_goes_on(account: World) -> None:
    life = live(account, "prod", config_of("prod"), broken_off=(0, 10))
    assert life.left == {}
    assert life.refused > 10, "a tenth of what is made and deleted was refused once"


def test_stacks_and_people_share_an_account(account: World) -> None:
    empty = snapshot(account.account)
    mine, yours, ours = (Stack(account, name) for name in ("disagg-b200", "disagg-b200", "prod"))
    for stack in (mine, yours, ours):
        stack.up(config_of(stack.name))
    for stack in (mine, yours, ours):
        stack.up(config_of(stack.name))
        done = len(stack.steps)
        assert {what for what, _ in stack.steps} == {"make"}
        take_down(stack)
        assert {what for what, _ in stack.steps[done:]} == {"delete"}
    assert left(account, empty) == {"file system": [ours.outputs["fileSystemId"]]}


def refused(account: World, rule: str, *, name: str = "disagg-b200", **knobs: Any) -> None:
    with pytest.raises(Refusal):
        Stack(account, name).up(with_knobs(config_of(name), knobs))
    assert set(account.refused) == {rule}


def test_a_private_api_server_is_out_of_reach(account: World) -> None:
    account.address = "203.0.113.9"
    refused(account, "reach")


def test_a_class_that_reuses_access_points_lets_one_stack_live(
    account: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = wiring_eks_services.storage

    def by_class(settings: StackPlan, eks: Any) -> Storage:
        made = real(settings, eks)
        said = storage.efs_storage_class("")
        parameters = {**said["parameters"], "fileSystemId": made.file_system_id, "reuseAccessPoint": "true"}
        there = kubernetes.storage.v1.StorageClass(
            said["metadata"]["name"],
            metadata=said["metadata"],
            provisioner=said["provisioner"],
            parameters=parameters,
            opts=pulumi.ResourceOptions(provider=eks.cluster.provider),
        )
        return Storage(
            storage_class=said["metadata"]["name"],
            file_system_id=made.file_system_id,
            needed=[*made.needed, there],
        )

    monkeypatch.setattr(wiring_eks_services, "storage", by_class)
    Stack(account, "disagg-b200").up(config_of("disagg-b200"))
    refused(account, "client token", name="prod")


def test_a_retained_file_system_without_mount_targets_cannot_be_mounted(account: World) -> None:
    stack = Stack(account, "prod")
    bring_up(stack, config_of("prod"))
    system = stack.outputs["fileSystemId"]
    take_down(stack)
    refused(account, "mount", name="prod", cache={"fileSystem": system, "mountTargets": False})


def test_a_local_zone_has_no_mount_target(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of("agg-gb200")
    monkeypatch.setattr(wiring_eks_services, "is_local_zone", lambda _: False)
    with account_of(config) as account:
        refused(account, "mount", name="agg-gb200")


@pytest.mark.parametrize("option", ["iam", "tls"])
def test_the_file_systems_policy_lets_nobody_else_in(
    account: World, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    real = storage.efs_volume

    def without(*args: Any, **more: Any) -> dict[str, Any]:
        made = real(*args, **more)
        made["spec"]["mountOptions"].remove(option)
        return made

    monkeypatch.setattr(storage, "efs_volume", without)
    refused(account, "mount")


def test_a_zone_that_the_account_lacks_is_refused() -> None:
    with world("ap-northeast-1") as account:
        zones = ["ap-northeast-1a", "ap-northeast-1b"]
        refused(
            account, "zone", name="disagg-h100-vllm", cluster={"region": "ap-northeast-1", "zones": zones}
        )


def test_a_cluster_of_a_fixed_name_has_one_life(account: World) -> None:
    """Late streams make the log group again."""
    stack, config = (
        Stack(account, "disagg-b200"),
        with_knobs(config_of("disagg-b200"), {"cluster": {"name": "ours"}}),
    )
    stack.up(config)
    stack.down()
    refused(account, "log group", cluster={"name": "ours"})


def test_what_aws_and_drivers_leave_is_gone_after_ops_down_alone(account: World) -> None:
    empty, stack = snapshot(account.account), Stack(account, "disagg-b200")
    stack.up(config_of("disagg-b200"))
    cluster, mine = stack.outputs["cluster"], find_own(stack.resources())
    stack.down()
    remains = left(account, empty)
    assert remains.pop("log group") == [f"/aws/eks/{cluster}/cluster"]
    assert set(remains) == {"volume"}
    sweep_up(stack, mine)
    assert left(account, empty) == {}


def test_a_way_out_that_goes_first_leaves_things_behind(
    account: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Network, "ready", property(lambda _: [], lambda *_: None), raising=False)
    stack = Stack(account, "disagg-b200")
    stack.up(config_of("disagg-b200"))
    with pytest.raises(Refusal, match="DependencyViolation"):
        stack.down()


@pytest.mark.parametrize("kind", ["owner", "ttl"])
def test_tags_that_change_are_not_the_nodes(
    account: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(
        TagSettings, "immutable", lambda self, **_: {"owner": str(self.owner), "ttl": str(self.ttl)}
    )
    stack, config = Stack(account, "disagg-b200"), config_of("disagg-b200")
    stack.up(config)
    with pytest.raises(Refusal, match=r"LaunchTemplate .*: tagSpecifications would replace it"):
        stack.up(with_knobs(config, {"tags": {kind: "72h"}}))


FIRST, SECOND = (f"arn:aws:iam::123456789012:role/people/{name}" for name in ("first", "second"))


def test_who_makes_the_cluster_may_be_one_of_its_admins(account: World) -> None:
    stack, config = (
        Stack(account, "disagg-b200"),
        with_knobs(config_of("disagg-b200"), {"cluster": {"admins": [FIRST, SECOND]}}),
    )
    for caller in (FIRST, SECOND):
        account.caller = caller
        stack.up(config)
        assert {what for what, _ in stack.steps} == {"make"}
    entries = [key[1] for key in account.account.beside if key[0] == "access-entry"]
    assert sorted(entry.rpartition("/")[2] for entry in entries) == ["first", "second"]


def test_who_made_the_cluster_and_is_listed_later_keeps_one_entry(account: World) -> None:
    stack, config = Stack(account, "disagg-b200"), config_of("disagg-b200")
    stack.up(config)
    account.caller = SECOND
    stack.up(with_knobs(config, {"cluster": {"admins": [SECOND]}}))
    assert account.creators == {stack.outputs["cluster"]: FIRST}, "the cluster is not made anew"


def test_the_creators_entry_is_the_only_one(account: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stacks.wiring.eks.is_caller", lambda *_: False)
    refused(account, "access entry", cluster={"admins": [FIRST]})


def test_an_add_on_of_another_kubernetes_is_refused(account: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "components.cluster.eks_addons.held", lambda *_: pulumi.Output.from_input("v1.30.0-eksbuild.1")
    )
    refused(account, "add-on")


def test_an_add_on_takes_no_identity_for_the_pods_that_mount(account: World) -> None:
    stack = Stack(account, "disagg-b200")
    stack.up(config_of("disagg-b200"))
    driver = stack._one(":Addon", "efs").inputs
    mounts = {"serviceAccount": "efs-csi-node-sa", "roleArn": "arn:aws:iam::123456789012:role/mounts"}
    with pytest.raises(Refusal, match="does not support pod identity associations for efs-csi-node-sa"):
        refusals.addon(account, {**driver, "podIdentityAssociations": [mounts]})


@pytest.mark.parametrize("named", [True, False])
def test_a_spare_zone_is_not_the_one_that_a_pool_names(monkeypatch: pytest.MonkeyPatch, named: bool) -> None:
    """named: whether the pool's zones are known where spare ones are chosen."""
    knobs: dict[str, dict[str, Any]] = {"cluster": {"region": "us-east-1"}, "pool": {"zones": ["us-east-1d"]}}
    config = with_knobs(config_of("disagg-h100-vllm"), knobs)
    if not named:
        monkeypatch.setattr("stacks.wiring.eks.zones_of_account", lambda a, b, _: zones_of_account(a, b))
    with world("us-east-1", lacks=("us-east-1b",)) as account:
        stack = Stack(account, "disagg-h100-vllm")
        if named:
            stack.up(config)
        else:
            with pytest.raises(Refusal, match="MountTargetConflict"):
                stack.up(config)


def test_a_fresh_accounts_quota_is_refused(account: World) -> None:
    account.vcpus = 0
    refused(account, "quota")
