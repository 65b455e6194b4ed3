"""What `ops init` asks, as data: each question is about one key of a stack file. Nothing is judged here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from facts.hardware import INSTANCE_TYPES, InstanceType
from facts.prices import PRICES
from targets.capacity import ULTRASERVERS, CapacityKind
from targets.catalogue import TARGETS

Answers = Mapping[str, Any]
"""What was answered so far, by the question's key."""
_ON_AWS = ("eks", "existing-eks")


@dataclass(frozen=True, kw_only=True)
class Question:
    """key: of the stack file, with dots. text: what is asked, and the comment in the file.

    choices: all that may be answered, none where that is open. default: None where an answer must be given, "" where
    nothing is written without one. asked: whether, after these answers. stands_in: a value that is good enough to judge
    earlier answers while this one is not given.
    """

    key: str
    text: str
    choices: Callable[[Answers], list[str]] = lambda _: []
    default: Callable[[Answers], Any] = lambda _: None
    asked: Callable[[Answers], bool] = lambda _: True
    parse: Callable[[str], Any] = str
    stands_in: Callable[[Answers], Any] = lambda _: None


def instance(answers: Answers) -> InstanceType | None:
    """The nodes that were chosen."""
    return INSTANCE_TYPES.get(answers.get("pool.instanceType", ""))


def _instance_types(answers: Answers) -> list[str]:
    """Those with the target's GPUs, the published one first, and those of a whole node before parts of one."""
    gpus = TARGETS[answers["target"]].gpu_models
    fitting = [each for each in INSTANCE_TYPES.values() if each.gpu in gpus]
    return [each.name for each in sorted(fitting, key=lambda each: (gpus.index(each.gpu), each.gpus < 4))]


def _on_aws(answers: Answers) -> bool:
    return answers["cluster.kind"] in _ON_AWS


def _is(key: str, *values: str) -> Callable[[Answers], bool]:
    return lambda answers: answers.get(key) in values


def _reserved(answers: Answers) -> bool:
    kind = answers.get("pool.capacity.kind")
    return kind is not None and CapacityKind(kind).prepaid


def _ultraservers(answers: Answers) -> list[str]:
    sizes = (instance(answers) or INSTANCE_TYPES["m7i.4xlarge"]).nodes_per_ultraserver
    return [name for name, nodes in ULTRASERVERS.items() if nodes in sizes]


def _has_no_list_price(answers: Answers) -> bool:
    chosen = instance(answers)
    if chosen is None or not _on_aws(answers):
        return False
    return PRICES.get(chosen.name) is None or _is("pool.capacity.kind", "capacity-block", "spot")(answers)


def _region(answers: Answers) -> str:
    """One that has the nodes."""
    chosen = instance(answers)
    return min(chosen.regions) if chosen and chosen.regions else "us-east-1"


def _subnets(answers: Answers) -> dict[str, str]:
    return {f"{answers.get('cluster.region') or _region(answers)}a": "subnet-00000000"}


def _ranges(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


def _yes(text: str) -> Any:
    return {"yes": True, "no": False}.get(text.lower(), text)


QUESTIONS = (
    Question(key="target", text="Published system to serve.", choices=lambda _: [*TARGETS]),
    Question(
        key="cluster.kind",
        text="Where: a new EKS cluster, an EKS cluster that is there, or any Kubernetes cluster that is there.",
        choices=lambda _: ["eks", "existing-eks", "existing"],
        stands_in=lambda _: "existing",
    ),
    Question(
        key="cluster.context",
        text="Context in the kubeconfig; nothing for the current one.",
        default=lambda _: "",
        asked=_is("cluster.kind", "existing"),
    ),
    Question(
        key="pool.instanceType",
        text="EC2 instance type of the GPU nodes, or what nodes that are there are like.",
        choices=_instance_types,
        default=lambda answers: _instance_types(answers)[0],
        asked=lambda answers: bool(TARGETS[answers["target"]].gpu_models),
    ),
    Question(
        key="pool.capacity.kind",
        text="How they are bought. p5 and p6 are seldom free on demand; a Capacity Block is the usual way.",
        choices=lambda _: [*CapacityKind],
        default=lambda answers: "capacity-block" if _ultraservers(answers) else "on-demand",
        asked=lambda answers: _on_aws(answers) and instance(answers) is not None,
    ),
    Question(
        key="pool.capacity.ultraserver",
        text="UltraServer that the block is of; it is sold whole.",
        choices=_ultraservers,
        default=lambda answers: _ultraservers(answers)[0],
        asked=lambda answers: (
            _is("pool.capacity.kind", "capacity-block")(answers) and bool(_ultraservers(answers))
        ),
    ),
    Question(
        key="pool.capacity.reservationId",
        text="Id of the Capacity Reservation (cr-…), which must be there.",
        asked=_reserved,
    ),
    Question(
        key="cluster.region",
        text="AWS region, one that sells these nodes.",
        default=lambda answers: "us-east-2" if "us-east-2" in _regions(answers) else _region(answers),
        asked=_on_aws,
        stands_in=_region,
    ),
    Question(
        key="cluster.name",
        text="Name of the EKS cluster that is there.",
        asked=_is("cluster.kind", "existing-eks"),
        stands_in=lambda _: "there",
    ),
    Question(
        key="cluster.subnets",
        text="Its private subnets for GPU nodes, by zone: {us-east-2a: subnet-…}",
        asked=_is("cluster.kind", "existing-eks"),
        parse=yaml.safe_load,
        stands_in=_subnets,
    ),
    Question(
        key="pool.zones",
        text="Zone of the reservation, which holds in no other.",
        asked=_reserved,
        parse=_ranges,
    ),
    Question(
        key="pool.active",
        text="Whether GPU nodes come; `up --wait-for-block` brings them when the block begins, and all else before.",
        choices=lambda _: ["yes", "no"],
        default=lambda _: "yes",
        asked=_is("pool.capacity.kind", "capacity-block"),
        parse=_yes,
    ),
    Question(
        key="pool.parallelPull",
        text="Whether nodes pull an image in parallel, assumed 1.9 times as fast; AWS calls it experimental.",
        choices=lambda _: ["yes", "no"],
        default=lambda _: "yes",
        asked=lambda answers: _on_aws(answers) and instance(answers) is not None,
        parse=_yes,
    ),
    Question(
        key="cluster.publicAccessFrom",
        text="Ranges that reach the API server from the internet, comma between; auto is the address of `up`.",
        default=lambda _: "auto",
        asked=_is("cluster.kind", "eks"),
        parse=_ranges,
    ),
    Question(
        key="platform.install",
        text="Whether the stack installs the Dynamo platform; no where it is on the cluster.",
        choices=lambda _: ["yes", "no"],
        default=lambda answers: "no" if _is("cluster.kind", "existing")(answers) else "yes",
        asked=_is("cluster.kind", "existing", "existing-eks"),
        parse=_yes,
    ),
    Question(
        key="cache.kind",
        text="Where the weights are kept: EFS, FSx for Lustre, or a bucket that every worker copies from.",
        choices=lambda _: ["efs", "fsx", "s3"],
        default=lambda _: "efs",
        asked=_on_aws,
    ),
    Question(
        key="cache.localCopy",
        text="Whether workers copy the weights to the node's disks before they load them, which is faster.",
        choices=lambda _: ["yes", "no"],
        default=lambda _: "yes",
        asked=lambda answers: _is("cache.kind", "efs", "fsx")(answers) and instance(answers) is not None,
        parse=_yes,
    ),
    Question(
        key="cache.storageClass",
        text="StorageClass whose claims are ReadWriteMany, for the weights; nothing for the cluster's default.",
        default=lambda _: "",
        asked=_is("cluster.kind", "existing"),
    ),
    Question(key="tags.owner", text="Who answers for what it costs.", asked=_on_aws),
    Question(
        key="tags.ttl",
        text="How long it may live (24h, 14d, never); then its GPUs are given back.",
        default=lambda _: "24h",
        asked=lambda answers: _on_aws(answers) and not _is("pool.capacity.kind", "capacity-block")(answers),
    ),
    Question(
        key="prices",
        text="What one such node costs by the hour, in USD: it has no list price.",
        asked=_has_no_list_price,
        parse=yaml.safe_load,
    ),
    Question(
        key="policy.maxUsdPerHour",
        text="What the whole stack may cost by the hour, in USD.",
        default=lambda _: 200,
        asked=_on_aws,
        parse=yaml.safe_load,
    ),
)


def _regions(answers: Answers) -> frozenset[str]:
    chosen = instance(answers)
    return chosen.regions or frozenset() if chosen else frozenset({"us-east-2"})
