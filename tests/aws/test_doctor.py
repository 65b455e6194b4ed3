"""`ops doctor` against a simulated account: each wrong thing is one line with its remedy, and nothing is changed."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from components.cluster import api_reach
from facts.hardware import INSTANCE_TYPES
from ops import doctor
from ops.checks import reach
from ops.checks.finding import Verdict
from ops.checks.machine import aws_cli, pulumi_cli
from ops.checks.quotas import vcpu_quota
from ops.pulumi import automation, stack_config
from stacks.sections.cluster import ExistingEksClusterSettings
from tests.aws.simulated import Accounts, Answer, Simulated, reservation
from tests.ops.stacks import stack
from tests.project import PROJECT

REGION = "us-east-2"
BLOCK = "cr-0123456789abcdef0"
OWN = "203.0.113.7"
CLUSTER = {"kind": "eks", "region": REGION, "publicAccessFrom": ["203.0.113.0/24"]}
STACK: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": CLUSTER,
    "cache": {"kind": "efs"},
    "tags": {"ttl": "24h"},
}
ON_BLOCK = STACK | {
    "pool": {
        "zones": ["us-east-2b"],
        "capacity": {"kind": "capacity-block", "reservationId": BLOCK},
        "active": True,
    },
    "prices": {"p6-b200.48xlarge": 30.0},
}
ON_GB200 = {
    "target": "trtllm-agg-gb200",
    "cluster": CLUSTER | {"region": "us-east-1"},
    "pool": {
        "zones": ["us-east-1-dfw-2a"],
        "capacity": {"kind": "capacity-block", "reservationId": BLOCK, "ultraserver": "u-p6e-gb200x36"},
        "active": True,
    },
    "prices": {"p6e-gb200.36xlarge": 20.0},
    "cache": {"kind": "efs"},
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Pulumi and `aws`, logged in, behind a known address. Returns the folder of its programs."""
    (tmp_path / "aws").write_text("#!/bin/sh\necho aws-cli/2.31.0 Python/3.13.7\n")
    (tmp_path / "aws").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(
        automation, "place", lambda _, stack: automation.Place(stack, "", "https://app.pulumi.com/ada")
    )
    deployed(monkeypatch)
    monkeypatch.setattr(api_reach, "own_address", lambda: OWN)
    return tmp_path


def deployed(monkeypatch: pytest.MonkeyPatch, *resources: dict[str, Any]) -> None:
    """Let the stack's state hold these."""
    monkeypatch.setattr(automation, "open_stack", lambda *_, **__: None)
    monkeypatch.setattr(automation, "export", lambda *_, **__: {"deployment": {"resources": list(resources)}})


@pytest.fixture(scope="module")
def accounts() -> Accounts:
    return Accounts()


@pytest.fixture
def account(
    accounts: Accounts, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Simulated]]:
    """Makes the account that doctor asks, in a region."""
    with ExitStack() as stack:

        def make(region: str) -> Simulated:
            made = stack.enter_context(accounts.account(region, monkeypatch))
            made.offered = {"p6-b200.48xlarge": (f"{region}b",)}
            monkeypatch.setattr(doctor, "aws_session", lambda *_: made.session)
            return made

        yield make


def examined(config: dict[str, Any]) -> list[str]:
    return [str(finding) for finding in doctor.examine(stack(config), automation.state(PROJECT, "mine"))]


def test_an_account_that_has_everything(account: Callable[[str], Simulated]) -> None:
    account(REGION)
    lines = examined(STACK)
    assert lines[:-2] == [
        "ok           Pulumi: logged in; stack mine in https://app.pulumi.com/ada",
        "ok           stack file: says all that a deployment asks for",
        "ok           aws executable: aws-cli/2.31.0",
        "ok           credentials: account 123456789012 as arn:aws:sts::123456789012:user/moto",
        "ok           region: us-east-2",
        "ok           zones: us-east-2a, us-east-2b, us-east-2c",
        "ok           pool: EC2 offers p6-b200.48xlarge in us-east-2b, which is no promise that one is free",
        "ok           quota Running On-Demand P instances: the stack wants 192 vCPUs, others use 0 of 192",
        "ok           quota Running On-Demand Standard instances: the stack wants 48 vCPUs, others use 0 of 256",
        "ok           quota VPCs per Region: the stack wants 1 VPC, others use 1 of 5",
        "ok           quota EC2-VPC Elastic IPs: the stack wants 1 address, others use 0 of 5",
        "ok           API server: cluster.publicAccessFrom [203.0.113.0/24] lets this machine (203.0.113.7) in",
    ]
    assert lines[-2].startswith("ok           Hugging Face token: none; the model is not gated")
    assert lines[-1].startswith("ok           price: 11")


def addresses(made: Simulated, number: int) -> None:
    for _ in range(number):
        made.client("ec2").allocate_address(Domain="vpc")


def vpcs(made: Simulated, number: int) -> None:
    for index in range(number):
        made.client("ec2").create_vpc(CidrBlock=f"10.{index}.0.0/16")


def instances(made: Simulated, instance_type: str, **more: Any) -> None:
    client = made.client("ec2")
    image = client.register_image(Name="image")["ImageId"]
    client.run_instances(ImageId=image, InstanceType=instance_type, MinCount=1, MaxCount=1, **more)


def block(**said: Any) -> Callable[[Simulated], None]:
    return lambda made: made.reservations.update({BLOCK: reservation(**said)})


def zoned(made: Simulated) -> None:
    made.reservations[BLOCK] = reservation(
        AvailabilityZone="us-east-1-dfw-2a", InstanceType="p6e-gb200.36xlarge", TotalInstanceCount=9
    )
    made.opted_in = False


QUOTAS = "https://console.aws.amazon.com/servicequotas/home/services"
WRONG: dict[str, tuple[dict[str, Any], Callable[[Simulated], Any], str]] = {
    "no end": (
        STACK | {"tags": {}},
        lambda _: None,
        "stack file: tags.ttl: missing, and 1 × p6-b200.48xlarge (pool) would be paid for until somebody ends them; "
        "say how long the stack may live, for example 24h, or never",
    ),
    "nobody gets in": (
        STACK | {"cluster": CLUSTER | {"publicAccessFrom": []}},
        lambda _: None,
        "stack file: cluster.publicAccessFrom: missing, so nobody would reach the cluster to put anything onto it. "
        "Name the ranges that may (this machine calls from 203.0.113.7: [203.0.113.7/32], or [auto] for the address of "
        "whoever deploys), or for a private one set cluster.privateAccessFrom to ranges that are connected to its VPC",
    ),
    "foreign account": (
        STACK | {"cluster": CLUSTER | {"aws": {"accountId": "210987654321"}}},
        lambda _: None,
        "credentials: account 123456789012 as arn:aws:sts::123456789012:user/moto, but cluster.aws says account "
        "210987654321; use credentials of that one",
    ),
    "region not opted in to": (
        STACK,
        lambda made: made.regions.update({REGION: "not-opted-in"}),
        "region: the account has not opted in to us-east-2; `aws account enable-region --region-name us-east-2`, which "
        "takes minutes to hours",
    ),
    "no such zone": (
        STACK
        | {"cluster": CLUSTER | {"zones": ["us-east-2a", "us-east-2f"]}, "pool": {"zones": ["us-east-2b"]}},
        lambda _: None,
        "zones: the account has no us-east-2f; choose among us-east-2a, us-east-2b, us-east-2c",
    ),
    "type not offered": (
        STACK | {"pool": {"zones": ["us-east-2a"]}},
        lambda _: None,
        "pool: pool.zones: [us-east-2a] have no p6-b200.48xlarge; for this account EC2 offers it in us-east-2b",
    ),
    "no P quota": (
        STACK,
        lambda made: made.quotas.update({"L-417A185B": 0}),
        "quota Running On-Demand P instances: the stack wants 192 vCPUs, others use 0 of 0; ask for 192 at "
        f"{QUOTAS}/ec2/quotas/L-417A185B?region=us-east-2, which takes days, or use a Capacity Block, which needs none",
    ),
    "P quota used by others": (
        STACK,
        lambda made: instances(made, "p4d.24xlarge"),
        "quota Running On-Demand P instances: the stack wants 192 vCPUs, others use 96 of 192; ask for 288 at "
        f"{QUOTAS}/ec2/quotas/L-417A185B?region=us-east-2, which takes days, or use a Capacity Block, which needs none",
    ),
    "no standard quota": (
        STACK,
        lambda made: made.quotas.update({"L-1216C47A": 5}),
        "quota Running On-Demand Standard instances: the stack wants 48 vCPUs, others use 0 of 5; ask for 48 at "
        f"{QUOTAS}/ec2/quotas/L-1216C47A?region=us-east-2",
    ),
    "no VPC left": (
        STACK,
        lambda made: vpcs(made, 4),
        "quota VPCs per Region: the stack wants 1 VPC, others use 5 of 5; ask for 6 at "
        f"{QUOTAS}/vpc/quotas/L-F678F1CE?region=us-east-2",
    ),
    "no address left": (
        STACK,
        lambda made: addresses(made, 5),
        "quota EC2-VPC Elastic IPs: the stack wants 1 address, others use 5 of 5; ask for 6 at "
        f"{QUOTAS}/ec2/quotas/L-0263D0A3?region=us-east-2",
    ),
    "no such block": (
        ON_BLOCK,
        lambda _: None,
        f"pool: pool.capacity.reservationId: {BLOCK}: the account and region have no such reservation, or it is over; "
        "correct it",
    ),
    "reservation that is no block": (
        ON_BLOCK,
        block(ReservationType="default"),
        f"pool: pool.capacity.kind: capacity-block, but {BLOCK} is of kind odcr",
    ),
    "block in another zone": (
        ON_BLOCK,
        block(AvailabilityZone="us-east-2a"),
        f"pool: pool.zones: us-east-2b, but Capacity Block {BLOCK} is in us-east-2a",
    ),
    "block of another type": (
        ON_BLOCK,
        block(InstanceType="p5.48xlarge"),
        f"pool: pool.instanceType: p6-b200.48xlarge, but Capacity Block {BLOCK} is of p5.48xlarge",
    ),
    "block too small": (
        ON_BLOCK | {"pool": ON_BLOCK["pool"] | {"nodes": 2}},
        block(),
        f"pool: pool.nodes: 2, but Capacity Block {BLOCK} has 1",
    ),
    "block not begun": (
        ON_BLOCK,
        block(State="scheduled"),
        f"pool: pool.active: true, but Capacity Block {BLOCK} is scheduled (from 2026-12-01T11:30:00Z to "
        "2026-12-08T11:30:00Z); set it to false until the block is active, or run `up` with --wait-for-block",
    ),
    "kept out": (
        STACK | {"cluster": CLUSTER | {"publicAccessFrom": ["198.51.100.0/24"]}},
        lambda _: None,
        "API server: cluster.publicAccessFrom [198.51.100.0/24] keeps this machine (203.0.113.7) out; add "
        "203.0.113.7/32, or run from there",
    ),
    "no such cluster": (
        STACK
        | {
            "cluster": {
                "kind": "existing-eks",
                "region": REGION,
                "name": "ours",
                "subnets": {"us-east-2b": "subnet-0123456789abcdef0"},
            }
        },
        lambda _: None,
        "API server: us-east-2 has no EKS cluster ours; correct cluster.name or cluster.region",
    ),
    "no such secret": (
        STACK | {"huggingFace": {"awsSecret": {"name": "hf", "region": REGION, "key": "token"}}},
        lambda _: None,
        "Hugging Face token: Secrets Manager has no hf in us-east-2; create it, or correct huggingFace.awsSecret",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_wrong_thing_is_one_line_with_its_remedy(case: str, account: Callable[[str], Simulated]) -> None:
    config, spoil, line = WRONG[case]
    spoil(account(config["cluster"]["region"]))
    assert [each for each in examined(config) if each.startswith("wrong")] == [f"wrong        {line}"]


@pytest.mark.parametrize(
    ("arn", "message"),
    [
        ("arn:aws:ec2:us-east-2:123456789012:vpc/vpc-1", None),
        (
            "arn:aws:ec2:us-east-2:210987654321:vpc/vpc-1",
            "credentials: the stack is in account 210987654321, and these are of account 123456789012; use those of "
            "the stack's account (cluster.aws, AWS_PROFILE)",
        ),
    ],
)
def test_a_stack_in_another_account_is_not_touched(
    arn: str, message: str | None, account: Callable[[str], Simulated]
) -> None:
    account(REGION)
    policy = {
        "type": "aws:iam/policy:Policy",
        "outputs": {"arn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"},
    }
    state: list[dict[str, Any]] = [
        {"type": "aws:ec2/vpc:Vpc", "outputs": {"arn": arn}},
        policy,
        {"type": "pulumi:pulumi:Stack"},
    ]
    checked = stack(STACK).plan
    if message is None:
        doctor.check_account(checked, state)
        return
    with pytest.raises(doctor.DoctorError) as refused:
        doctor.check_account(checked, state)
    assert str(refused.value) == message


def test_what_up_mends_by_itself_is_not_wrong(account: Callable[[str], Simulated]) -> None:
    """It opts in to Local Zones, and takes other zones for letters that nobody named and the account lacks."""
    zoned(account("us-east-1"))
    assert "ok           zones: us-east-1a, us-east-1b, us-east-1c, us-east-1-dfw-2a" in examined(ON_GB200)
    there = account("ap-northeast-1")
    there.offered["p5.48xlarge"] = ("ap-northeast-1d",)
    cluster = CLUSTER | {"region": "ap-northeast-1"}
    lines = examined(STACK | {"target": "vllm-disagg-h100", "cluster": cluster})
    (zones,) = [line for line in lines if " zones: " in line]
    assert sorted(zones.removeprefix("ok           zones: ").split(", ")) == [
        "ap-northeast-1a", "ap-northeast-1c", "ap-northeast-1d",
    ]  # fmt: skip
    assert any(
        line.startswith("ok           pool: EC2 offers p5.48xlarge in ap-northeast-1d") for line in lines
    )


@pytest.mark.parametrize(("cluster", "stack", "others"), [
    ("dynamo-mine-1a2b3c4", "mine", 0),
    ("dynamo-mine-9f8e7d6", "mine", 96),  # another person's stack of that name
    ("dynamo-mine-1a2b3c4", "guest", 96),  # another stack's nodes in this one's cluster
])  # fmt: skip
def test_instances_are_the_stack_s_own_by_its_cluster(
    account: Callable[[str], Simulated],
    monkeypatch: pytest.MonkeyPatch,
    cluster: str,
    stack: str,
    others: int,
) -> None:
    made = account(REGION)
    name = "dynamo-mine-1a2b3c4"
    deployed(monkeypatch, {"type": "aws:eks/cluster:Cluster", "id": name, "outputs": {"name": name}})
    tags = {"project": "dynamo-gpt-oss", "stack": stack, f"kubernetes.io/cluster/{cluster}": "owned"}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    instances(made, "p4d.24xlarge", TagSpecifications=[{"ResourceType": "instance", "Tags": listed}])
    assert any(f"wants 192 vCPUs, others use {others} of 192" in line for line in examined(STACK))


def test_network_is_the_stack_s_own_by_its_state(
    account: Callable[[str], Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    ec2 = account(REGION).client("ec2")
    tags = [{"Key": "project", "Value": "dynamo-gpt-oss"}, {"Key": "stack", "Value": "mine"}]
    made = [
        ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=[{"ResourceType": "vpc", "Tags": tags}])
        for _ in range(2)
    ]
    deployed(monkeypatch, {"type": "aws:ec2/vpc:Vpc", "id": made[0]["Vpc"]["VpcId"]})
    assert any("wants 1 VPC, others use 2 of 5" in line for line in examined(STACK)), "EC2's own, and one"


def test_blocks_and_reservations_need_no_quota(account: Callable[[str], Simulated]) -> None:
    made = account(REGION)
    block()(made)
    lines = examined(ON_BLOCK)
    assert not [line for line in lines if "P instances" in line or not line.startswith("ok")]
    window = "active, from 2026-12-01T11:30:00Z to 2026-12-08T11:30:00Z, 1 instances in us-east-2b"
    assert f"ok           pool: {BLOCK} is {window}" in lines


def test_no_list_says_which_quota_counts_p6_on_spot(account: Callable[[str], Simulated]) -> None:
    account(REGION)
    lines = examined(STACK | {"pool": {"capacity": {"kind": "spot"}}})
    assert "cannot tell  vCPU quota: which quota counts spot instances of p6-b200 is not published" in lines


@pytest.mark.parametrize(
    "name", [name for name, each in INSTANCE_TYPES.items() if not each.nodes_per_ultraserver]
)
def test_each_type_that_is_sold_alone_has_a_quota_on_demand(name: str) -> None:
    assert vcpu_quota(INSTANCE_TYPES[name].family, spot=False) is not None


def test_a_question_that_is_refused_is_said_and_the_others_are_asked(
    account: Callable[[str], Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = account(REGION)
    made.quotas = {}  # moto's own answer, an error, stands for a caller without servicequotas:GetServiceQuota
    lines = examined(STACK)
    (unknown,) = [line for line in lines if not line.startswith("ok") and "vCPU" in line]
    assert unknown.startswith(
        "cannot tell  vCPU quotas: not looked at: An error occurred (NoSuchResourceException)"
    )
    assert any(line.startswith("ok           API server") for line in lines)


NOT_LOOKED_AT = ["region", "zones", "pool", "vCPU quotas", "network quotas", "API server"]


def test_without_credentials_it_says_what_it_did_not_look_at(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = run_without_credentials(machine, monkeypatch, code=3)
    unknown = [line for line in lines if line.startswith("cannot tell")]
    assert unknown[0].startswith("cannot tell  credentials: Unable to locate credentials; have credentials (")
    assert unknown[1:] == [
        f"cannot tell  {about}: not looked at: AWS knows no caller" for about in NOT_LOOKED_AT
    ]


def test_what_is_wrong_without_credentials_decides_the_code(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "aws").unlink()
    lines = run_without_credentials(machine, monkeypatch, code=1)
    (line,) = [line for line in lines if line.startswith("wrong")]
    assert line.startswith("wrong        aws executable: not on PATH, and the cluster's kubeconfig")


def run_without_credentials(machine: Path, patch: pytest.MonkeyPatch, code: int) -> list[str]:
    """The verb's lines about a shipped stack, and its exit code."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        patch.delenv(name)
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    patch.setenv("AWS_CONFIG_FILE", str(machine / "none"))
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(machine / "none"))
    patch.setattr(stack_config, "load", lambda *_: stack(STACK).file)
    verb = typer.Typer()
    verb.command()(doctor.doctor)
    ran = CliRunner().invoke(verb, ["--stack", "mine"])
    assert ran.exit_code == code, ran.output
    return ran.output.splitlines()


def test_an_aws_that_does_not_run_is_wrong(machine: Path) -> None:
    (machine / "aws").write_text("#!/bin/sh\nexit 127\n")
    (line,) = map(str, aws_cli())
    assert line.startswith(f"wrong        aws executable: {machine}/aws does not run (")


@pytest.mark.parametrize(
    ("backend", "given", "verdict"),
    [
        ("file:///home/ada", {}, Verdict.WRONG),
        ("file:///home/ada", {"PULUMI_CONFIG_PASSPHRASE": ""}, Verdict.OK),
        ("s3://state", {"PULUMI_CONFIG_PASSPHRASE_FILE": "key"}, Verdict.OK),
        ("https://app.pulumi.com/ada", {}, Verdict.OK),
    ],
)
def test_a_passphrase_is_asked_for_before_pulumi_does(
    backend: str, given: dict[str, str], verdict: Verdict, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automation, "place", lambda _, stack: automation.Place(stack, "", backend))
    for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    (finding,) = pulumi_cli(machine, "mine")
    assert finding.verdict is verdict


def test_an_endpoint_that_takes_no_connection_is_wrong(account: Callable[[str], Simulated]) -> None:
    made = account(REGION)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"https://127.0.0.1:{closed.getsockname()[1]}"
    said = ExistingEksClusterSettings.model_validate(
        {
            "kind": "existing-eks",
            "region": REGION,
            "name": "ours",
            "subnets": {"us-east-2b": "subnet-01234567"},
        }
    )
    found = Answer(200), {"cluster": {"status": "ACTIVE", "endpoint": address}}
    event = "before-call.eks.DescribeCluster"
    events = made.session.client("eks", region_name=REGION).meta.events
    events.register(event, lambda **_: found, unique_id=event)
    (line,) = map(str, reach.existing_cluster(made.session, said))
    events.unregister(event, unique_id=event)
    assert line.startswith(f"wrong        API server: {address} does not answer (")
