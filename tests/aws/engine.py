"""A small engine: the state of stacks, and what their next `up` or `down` makes of it, on an account that says no.

As Pulumi's, it makes what is new, updates what changed, deletes what is gone, keeps what is to be retained, and can be
broken off and run again. Unlike Pulumi's, it replaces nothing (a rule says so) and, of all orders in which a destroy
may delete, takes the worst: whatever nothing depends on goes at once, the network first.
"""

import gc
import json
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from unittest.mock import patch

import pulumi
from pulumi.runtime import mocks, set_mocks

from ops.evaluate import Recorder, Resource
from pods.bucket.store import PREFIX
from stacks.load import parse
from stacks.program import build
from tests.aws import refusals
from tests.aws.adapters import ADAPTERS
from tests.aws.deployment import MotoMocks, _finish
from tests.aws.refusals import Refusal, World

Key = tuple[str, str]
AUTONAMED = {
    "aws:iam/rolePolicy:RolePolicy", "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/placementGroup:PlacementGroup",
    "aws:eks/nodeGroup:NodeGroup", "aws:efs/fileSystem:FileSystem",
}  # fmt: skip
"""Types whose names Pulumi ends with seven characters of chance; of EFS it is the creation token."""
CLUSTER = "aws:eks/cluster:Cluster"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
NETWORK = ("aws:ec2/", "aws:vpc/")


@dataclass
class Held:
    """One resource of a stack's state."""

    resource: Resource
    id: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    retain: bool


class Stack(MotoMocks):
    """A stack of one person.

    broken_off: (part, parts) of the resources that are refused once, when first made and when first deleted; None for
    no refusal. All parts together are every resource.
    """

    def __init__(self, world: World, name: str, *, broken_off: tuple[int, int] | None = None) -> None:
        super().__init__(world.account)
        self.world, self.name, self.broken_off = world, name, broken_off
        self.state: dict[Key, Held] = {}
        self.outputs: dict[str, Any] = {}
        self.steps: list[tuple[str, Key]] = []
        """All that was made, changed and deleted so far."""
        self._broken: set[tuple[str, Key]] = set()

    def up(self, config: Mapping[str, Any]) -> None:
        """Bring the stack to the config. Raises Refusal, or what the program raises; the state keeps what was made."""
        monitor = _Monitor(self)
        self._refusals = list[Refusal]()
        checked = parse(config, set())
        outputs: dict[str, Any] = {}

        def program() -> None:
            for name, value in build(checked).items():
                pulumi.Output.from_input(value).apply(partial(outputs.__setitem__, name))

        try:
            with self.at_the_keyboard(self._answers):
                _finish(
                    lambda: set_mocks(self, "dynamo-gpt-oss", self.name, preview=False, monitor=monitor),
                    program,
                )
        except Exception as error:
            # What waited for it goes now: collected while Python compiles something, it would confuse the compiler.
            gc.collect()
            # Its traceback goes through every output that waited for it, too deep for pytest to show.
            shown = self._refusals[0] if self._refusals else error
            raise shown.with_traceback(None) from None
        self.outputs = outputs
        registered = {(each.type, each.name) for each in monitor.recorded}
        self._delete([key for key in self.state if key not in registered])

    def down(self) -> None:
        """Delete everything but what is retained. Raises Refusal; running it again goes on."""
        self._delete(list(self.state))

    def resources(self) -> list[dict[str, Any]]:
        """The state as Pulumi exports it, as far as it is asked for."""
        made = [
            {
                "type": token,
                "id": held.id,
                "inputs": held.inputs,
                "outputs": held.outputs,
                "retainOnDelete": held.retain,
            }
            for (token, _), held in self.state.items()
        ]
        # It goes with the last of them.
        return [*made, {"type": "pulumi:pulumi:Stack", "outputs": self.outputs}] if made else []

    @contextmanager
    def at_the_keyboard(self, answers: Callable[..., bool] | None = None) -> Iterator[None]:
        """Where the caller calls from, and whether the API server answers there."""
        with (
            patch("components.cluster.api_reach.answers", answers or self._reached),
            patch("components.cluster.api_reach.own_address", lambda: self.world.address),
            patch("components.cluster.api_reach.knows", lambda *_: True),
        ):
            yield

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """What the engine does with one registration."""
        key, given = (args.typ, args.name), dict(args.inputs)
        if key not in self._record:
            return super().new_resource(args)  # it is read, not managed
        try:
            held = self.state.get(key)
            if held is not None:
                given = _with_ignored(given, held.inputs, self._ignored[key])
            if held is None:
                return self._make(key, given, args)
            if held.inputs != given:
                self._change(held, key, given)
            return held.id, held.outputs
        except Refusal as refusal:
            self._refusals.append(refusal)
            raise

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """As of the account; who calls is at the keyboard, with a session of their role."""
        answer, failures = super().call(args)
        if args.token.endswith(":getCallerIdentity"):
            role = self.world.caller.rpartition("/")[2]
            answer["arn"] = f"arn:aws:sts::{answer['accountId']}:assumed-role/{role}/session"
        return answer, failures

    def _make(
        self, key: Key, given: dict[str, Any], args: mocks.MockResourceArgs
    ) -> tuple[str | None, dict[str, Any]]:
        token, name = key
        self._break_off("make", key)
        for rule in refusals.CREATED.get(token, ()):
            rule(self.world, given)
        self._kubernetes(token, given)
        physical = f"{name}-{next(self.world.chance):07x}" if token in AUTONAMED else name
        if token == "aws:ec2/availabilityZoneGroup:AvailabilityZoneGroup":
            self.account.beside.pop(
                ("zone-group", given["groupName"]), None
            )  # opting in again changes nothing
        made, outputs = super().new_resource(_named(args, physical))
        if token == "aws:iam/role:Role":
            refusals.role_name(self.world, outputs["name"])
        if token == CONFIG_MAP:
            created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            outputs["metadata"] = {**given["metadata"], "creationTimestamp": created}
        held = Held(self._record[key], made or "", given, outputs, key in self._retained)
        self.state[key] = held
        if token == "aws:eks/nodeGroup:NodeGroup":
            self.world.nodes[held.id] = given
        if token == "kubernetes:helm.sh/v3:Release" and given["namespace"] != "kube-system":
            driver = json.loads(self._one(":Addon", "ebs").inputs["configurationValues"])
            tags = driver["controller"]["extraVolumeTags"]
            refusals.volume_of_a_claim(self.world, self._one(CLUSTER).id, given["namespace"], tags)
        if token == CLUSTER:
            self.world.clusters[held.id] = outputs
            if given["accessConfig"]["bootstrapClusterCreatorAdminPermissions"]:
                self.world.creators[held.id] = self.world.caller
        self.steps.append(("make", key))
        return made, outputs

    def _answers(self, *_: str) -> bool:
        """Whether the API server answers the caller; where it does not, nobody waits for it here."""
        try:
            refusals.reach(self.world, self._one(CLUSTER).id)
        except Refusal as refusal:
            self._refusals.append(refusal)
            raise
        return True

    def _reached(self, *_: str) -> bool:
        try:
            refusals.reach(self.world, self._one(CLUSTER).id)
        except Refusal:
            return False
        return True

    def _break_off(self, what: str, key: Key) -> None:
        if self.broken_off is None or not key[0].startswith(("aws:", "kubernetes:")):
            return
        part, parts = self.broken_off
        if zlib.crc32("".join(key).encode()) % parts == part and (what, key) not in self._broken:
            self._broken.add((what, key))
            raise self.world.no("broken off", f"{what} {key}: RequestLimitExceeded")

    def _change(self, held: Held, key: Key, given: dict[str, Any]) -> None:
        token, name = key
        if token.startswith("aws:"):
            refusals.in_place(self.world, token, name, held.inputs, given)
        outputs = held.outputs | given
        if token == CLUSTER:
            self._endpoint(held, given)
            outputs["vpcConfig"] = held.outputs["vpcConfig"] | given["vpcConfig"]  # with what EKS made
            self.world.clusters[held.id] = outputs
        if token == CONFIG_MAP:
            outputs["metadata"] = held.outputs["metadata"] | given["metadata"]
        self._kubernetes(token, given)
        held.inputs, held.outputs = given, outputs
        self.steps.append(("change", key))

    def _endpoint(self, held: Held, given: Mapping[str, Any]) -> None:
        """As the provider does: the subnets are not said again."""
        said = {key: value for key, value in given["vpcConfig"].items() if "ccess" in key}
        if said != {key: value for key, value in held.inputs["vpcConfig"].items() if "ccess" in key}:
            self.account.call("eks", "UpdateClusterConfig", name=held.id, resourcesVpcConfig=said)

    def _kubernetes(self, token: str, given: Mapping[str, Any]) -> None:
        """What the cluster, its drivers and its nodes say to an object."""
        if not token.startswith("kubernetes:"):
            return
        cluster = self._one(CLUSTER)
        refusals.reach(self.world, cluster.id)
        if token.endswith(":PersistentVolumeClaim") and (name := given["spec"].get("storageClassName")):
            refusals.claim(self.world, given, self._one(":StorageClass", name).inputs)
        mounts = (
            token.endswith(":DynamoGraphDeployment")
            or given.get("metadata", {}).get("name") == "model-download"
        )
        if mounts and token.endswith((":Job", ":DynamoGraphDeployment")):
            self._mount(cluster, on_gpus=not token.endswith(":Job"))
            self._use_bucket(cluster, given, fills=token.endswith(":Job"))

    def _mount(self, cluster: Held, *, on_gpus: bool) -> None:
        claims = [
            held for (token, name), held in self.state.items() if token.endswith(":PersistentVolumeClaim")
        ]
        names = [claim.inputs["spec"].get("volumeName") for claim in claims]
        for volume in (self._one(":PersistentVolume", name) for name in names if name):
            groups = [
                each for (token, _), each in self.state.items() if token == "aws:eks/nodeGroup:NodeGroup"
            ]
            chosen = [each for each in groups if on_gpus or not each.inputs.get("taints")]
            subnets = self.account.subnets(*{s for each in chosen for s in each.inputs["subnetIds"]})
            zones = {each["AvailabilityZone"] for each in subnets}
            vpc = cluster.outputs["vpcConfig"]["vpcId"]
            refusals.mount(self.world, volume.inputs["spec"], zones, vpc, self._mount_role())

    def _mount_role(self) -> str | None:
        """The role of the EFS driver's pods; None if they were there before it (EKS user guide, Pod Identity)."""
        made = list(self.state.values())
        before = made[: made.index(self._one(":Addon", "efs"))]
        roles = (h.inputs["roleArn"] for h in before if h.inputs.get("serviceAccount") == "efs-csi-node-sa")
        return next(roles, None)

    def _use_bucket(self, cluster: Held, given: Mapping[str, Any], *, fills: bool) -> None:
        """What a pod does to the stack's bucket, if there is one: the Job fills it, with next to nothing."""
        bucket = self.outputs_of("kubernetes:core/v1:ConfigMap", "model-bucket").get("data", {}).get("bucket")
        if bucket is None:
            return
        named = given["metadata"]
        account = f"{named['name']}-k8s-service-discovery"
        if fills:
            account = given["spec"]["template"]["spec"]["serviceAccountName"]
        pod = f"{cluster.outputs['name']}:{named['namespace']}/{account}"
        refusals.bucket(self.world, pod, bucket, "s3:PutObject" if fills else "s3:GetObject")
        if fills:
            self.account.call("s3", "PutObject", Bucket=bucket, Key=f"{PREFIX}weights", Body=b"0")

    def outputs_of(self, token: str, name: str) -> dict[str, Any]:
        """What a resource of the state has; nothing where it is not there."""
        held = self.state.get((token, name))
        return held.outputs if held else {}

    def _one(self, token: str, name: str = "") -> Held:
        (found,) = [h for (t, n), h in self.state.items() if t.endswith(token) and name in n]
        return found

    def _delete(self, keys: list[Key]) -> None:
        left = {self.state[key].resource.urn: key for key in keys}
        while left:
            needed = {need for urn in left for need in self._needs(self.state[left[urn]].resource)}
            free = [urn for urn in left if urn not in needed]
            assert free, "a circle of dependencies"
            worst = sorted(free, key=lambda urn: (not left[urn][0].startswith(NETWORK), urn))
            for urn in worst:
                self._remove(left[urn])
                del left[urn]

    def _needs(self, resource: Resource) -> set[str]:
        """Direct needs; components stand for what they hold, which the SDK spells out."""
        return {*resource.dependencies, resource.provider, resource.parent}

    def _remove(self, key: Key) -> None:
        held, (token, _) = self.state[key], key
        if not held.retain:
            self._break_off("delete", key)
            self._refuse_removal(token, held)
            if token.startswith("aws:"):
                ADAPTERS[token].delete(self.account, held.id, held.outputs)
            if token == "aws:cloudwatch/logGroup:LogGroup":
                refusals.log_group_made_again(self.world, held.inputs)
        self.world.nodes.pop(held.id, None)
        if token == CLUSTER:
            self.world.clusters.pop(held.id)
        del self.state[key]
        self.steps.append(("delete", key))

    def _refuse_removal(self, token: str, held: Held) -> None:
        if token.startswith("kubernetes:"):
            refusals.reach(self.world, self._one(CLUSTER).id)
        if token == "aws:iam/rolePolicyAttachment:RolePolicyAttachment":
            refusals.detach(self.world, held.inputs["role"])
        kind = token.rpartition(":")[2]
        if kind in ("Route", "RouteTableAssociation", "NatGateway", "InternetGateway", "VpcEndpoint"):
            vpcs = {h.id for (t, _), h in self.state.items() if t == "aws:ec2/vpc:Vpc"}
            for vpc in vpcs:
                refusals.way_out(self.world, vpc, f"{kind} {held.resource.name}")

    # Filled by the monitor, which alone sees whole registrations.
    _record: dict[Key, Resource]
    _retained: set[Key]
    _ignored: dict[Key, list[str]]
    _refusals: list[Refusal]


class _Monitor(Recorder):
    """Hands the engine what a mock does not see: dependencies, and what is to be retained."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.mocks, self._stack = stack, stack
        self._one_by_one = threading.RLock()
        stack._record, stack._retained, stack._ignored = {}, set(), {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        with self._one_by_one:
            super().RegisterResource(request)
            if request.type != "pulumi:pulumi:Stack":
                key = request.type, request.name
                self._stack._record[key] = self.recorded[-1]
                self._stack._ignored[key] = list(request.ignoreChanges)
                if request.retainOnDelete:
                    self._stack._retained.add(key)
            return mocks.MockMonitor.RegisterResource(self, request)  # type: ignore[no-untyped-call]

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        return Recorder.ReadResource(self, request) and mocks.MockMonitor.ReadResource(self, request)  # type: ignore[no-untyped-call]


def _with_ignored(given: dict[str, Any], old: Mapping[str, Any], paths: list[str]) -> dict[str, Any]:
    """The inputs, with those at the paths as they were."""
    for field, _, inner in (path.partition(".") for path in paths):
        if field in old and not inner:
            given |= {field: old[field]}
        elif inner in old.get(field, {}):
            given |= {field: {**given[field], inner: old[field][inner]}}
    return given


def _named(args: mocks.MockResourceArgs, name: str) -> mocks.MockResourceArgs:
    return mocks.MockResourceArgs(
        typ=args.typ, name=name, inputs=args.inputs, provider=args.provider, resource_id=args.resource_id,
        custom=args.custom,
    )  # fmt: skip
