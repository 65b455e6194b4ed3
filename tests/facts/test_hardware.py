"""Hardware facts against AWS's own lists: EC2's instance types as moto ships them, and botocore's enumerations."""

from dataclasses import replace
from typing import Any

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES as EC2

from components.nodes.launch_template import capacity_type
from facts.hardware import (
    GPU_MEMORY_MIB,
    INSTANCE_TYPES,
    Arch,
    InstanceType,
    ami_type,
    efa_choices,
    interfaces,
)
from targets.capacity import CapacityKind
from tests.aws.botocheck import enum

# EC2's lists do not have it: UltraServers are described elsewhere. What the program says of it is from the EC2 page
# "Amazon EC2 P6e", the EKS user guide (ml-eks-nvidia-ultraserver) and the EC2 user guide (efa-for-p6e).
UNLISTED = {
    "p6e-gb200.36xlarge": {
        "arch": "arm64", "vcpus": 144, "memory_gib": 960, "gpus": 4, "efa": (4, 8), "nvme": (3, 7500),
        "ultraservers": (9, 18),
    },
}  # fmt: skip
LISTED = [instance for instance in INSTANCE_TYPES.values() if instance.name not in UNLISTED]
WITH_GPUS = [instance for instance in LISTED if instance.gpus]
ARCH = {"x86_64": Arch.AMD64, "arm64": Arch.ARM64}


def names(instance: InstanceType) -> str:
    return instance.name


def ec2(instance: InstanceType) -> dict[str, Any]:
    described: dict[str, Any] = EC2[instance.name]
    return described


def test_every_type_is_known_to_ec2() -> None:
    assert INSTANCE_TYPES.keys() <= enum("ec2", "InstanceType")
    assert not UNLISTED.keys() & EC2.keys(), "moto has it now: compare it"


@pytest.mark.parametrize("instance", LISTED, ids=names)
def test_size_and_architecture(instance: InstanceType) -> None:
    described = ec2(instance)
    assert instance.vcpus == described["VCpuInfo"]["DefaultVCpus"]
    assert instance.memory_gib * 1024 == described["MemoryInfo"]["SizeInMiB"]
    assert [instance.arch] == [ARCH[each] for each in described["ProcessorInfo"]["SupportedArchitectures"]]


@pytest.mark.parametrize("instance", WITH_GPUS, ids=names)
def test_gpus(instance: InstanceType) -> None:
    (gpu,) = ec2(instance)["GpuInfo"]["Gpus"]
    assert (instance.gpu, instance.gpus) == (gpu["Name"], gpu["Count"])
    # EC2 gives what is soldered on, the driver what it leaves to programs.
    assert instance.gpu is not None
    assert 0.99 <= GPU_MEMORY_MIB[instance.gpu] / gpu["MemoryInfo"]["SizeInMiB"] <= 1


@pytest.mark.parametrize("instance", WITH_GPUS, ids=names)
def test_local_disks(instance: InstanceType) -> None:
    (disks,) = ec2(instance)["InstanceStorageInfo"]["Disks"]
    assert instance.nvme_gb == (disks["Count"], disks["SizeInGB"])


@pytest.mark.parametrize("instance", WITH_GPUS, ids=names)
def test_efa_layout_fits_the_network_cards(instance: InstanceType) -> None:
    network = ec2(instance)["NetworkInfo"]
    cards = {card["NetworkCardIndex"]: card for card in network["NetworkCards"]}
    layout = interfaces(instance)
    assert instance.efa_devices == network["EfaInfo"]["MaximumEfaInterfaces"]
    assert sum(each.type == "efa-only" for each in layout) == instance.efa_devices
    assert {each.card for each in layout} == set(cards)
    assert len({(each.card, each.device) for each in layout}) == len(layout)
    for each in layout:
        assert each.type in cards[each.card]["InterfaceTypes"], each
        assert each.device < cards[each.card]["MaximumNetworkInterfaces"], each
    assert (layout[0].card, layout[0].device) == (network["DefaultNetworkCardIndex"], 0)


@pytest.mark.parametrize("instance", WITH_GPUS, ids=names)
def test_cluster_placement_and_usage(instance: InstanceType) -> None:
    assert "cluster" in ec2(instance)["PlacementGroupInfo"]["SupportedStrategies"]
    assert {"capacity-block", "on-demand", "spot"} <= set(ec2(instance)["SupportedUsageClasses"])


@pytest.mark.parametrize("name", UNLISTED)
def test_unlisted_types_are_what_their_sources_say(name: str) -> None:
    said, instance = UNLISTED[name], INSTANCE_TYPES[name]
    assert {
        "arch": instance.arch.value,
        "vcpus": instance.vcpus,
        "memory_gib": instance.memory_gib,
        "gpus": instance.gpus,
        "efa": efa_choices(instance),
        "nvme": instance.nvme_gb,
        "ultraservers": instance.nodes_per_ultraserver,
    } == said


@pytest.mark.parametrize("instance", WITH_GPUS, ids=names)
def test_regions_that_offer_the_type(instance: InstanceType) -> None:
    from tests.aws.offerings import regions

    assert instance.regions == regions(instance.name)


@pytest.mark.parametrize("instance", INSTANCE_TYPES.values(), ids=names)
def test_image_types_are_eks_s(instance: InstanceType) -> None:
    assert ami_type(instance) in enum("eks", "AMITypes")


@pytest.mark.parametrize("kind", CapacityKind)
def test_capacity_types_are_eks_s(kind: CapacityKind) -> None:
    assert capacity_type(kind) in enum("eks", "CapacityTypes")


def test_a_type_without_layout_is_an_error_and_no_guess() -> None:
    unknown = replace(INSTANCE_TYPES["p5.48xlarge"], name="p7.48xlarge")
    with pytest.raises(KeyError):
        interfaces(unknown)
    assert efa_choices(unknown) == ()
