"""Both orders on the clock."""

from dataclasses import asdict

import pytest

from targets.assumptions import Assumptions
from targets.capacity import CapacityKind
from targets.timeline import (
    Copy,
    Rollout,
    Setting,
    load_minutes,
    new_nodes_minutes,
    our_order,
    published_order,
    restart_minutes,
    sensitivity,
    share,
)

BOUGHT = Setting(gpus=8)
RESERVED = Setting(gpus=8, capacity=CapacityKind.ODCR)
BLOCK = Setting(gpus=8, capacity=CapacityKind.CAPACITY_BLOCK)


def starts(rollout: Rollout) -> dict[str, float]:
    return {step.name: step.start for step in rollout.steps}


def ends(rollout: Rollout) -> dict[str, float]:
    return {step.name: step.end for step in rollout.steps}


def copying(setting: Setting, copy: Copy) -> Setting:
    return Setting(gpus=8, capacity=setting.capacity, copy=copy)


def test_gpus_wait_for_weights_and_platform() -> None:
    ours = our_order(Assumptions(), BOUGHT)
    assert starts(ours)["GPU nodes"] == max(ends(ours)["download"], ends(ours)["platform"])


def test_images_that_are_pulled_in_parallel_are_there_earlier() -> None:
    a = Assumptions()
    saved = our_order(a, BOUGHT).paid_minutes - our_order(a, Setting(gpus=8, parallel_pull=True)).paid_minutes
    assert saved == pytest.approx(a.pull - a.parallel_pull)
    assert saved > 3


def test_reserved_gpus_wait_for_nothing() -> None:
    ours = our_order(Assumptions(), RESERVED)
    assert starts(ours)["GPU nodes"] == 0
    assert starts(ours)["image pull"] == ends(ours)["GPU nodes"]
    assert starts(ours)["model load"] == max(ends(ours)["download"], ends(ours)["image pull"])


def test_a_block_begins_when_all_else_is_there_and_is_paid_from_then_on() -> None:
    a = Assumptions()
    ours = our_order(a, BLOCK)
    assert ours.gpus_from == starts(ours)["scale up"] == max(ends(ours)["download"], ends(ours)["platform"])
    assert ours.paid_gpu_minutes == pytest.approx(8 * (a.scale_up + a.gpu_boot + a.pull + a.load))


def test_a_block_that_nothing_was_made_ready_for_is_paid_while_weights_come() -> None:
    a = Assumptions()
    late = our_order(a, BLOCK, prepared=False)
    assert late == our_order(a, RESERVED)
    assert late.paid_gpu_minutes > our_order(a, BLOCK).paid_gpu_minutes
    assert share(a, BLOCK, prepared=False) > share(a, BLOCK)


def test_published_order_pays_for_every_step_one_after_another() -> None:
    a = Assumptions()
    published = published_order(a, 8)
    assert published.paid_gpu_minutes == pytest.approx(
        8 * (a.gpu_boot + a.platform + a.download + a.pull + a.load)
    )


def test_our_order_pays_for_boot_pull_and_load_only() -> None:
    a = Assumptions()
    assert our_order(a, BOUGHT).paid_gpu_minutes == pytest.approx(8 * (a.gpu_boot + a.pull + a.load))


@pytest.mark.parametrize("setting", [BOUGHT, RESERVED, BLOCK])
def test_a_copy_of_the_node_is_made_beside_the_image_pull(setting: Setting) -> None:
    a = Assumptions()
    steps = {step.name: step for step in our_order(a, copying(setting, Copy.NODE)).steps}
    boot, copied, load = steps["GPU nodes"], steps["weights copy"], steps["model load"]
    assert copied.start == max(boot.end, steps["download"].end)
    assert copied.start < steps["image pull"].end or setting is RESERVED
    assert load.start == max(copied.end, steps["image pull"].end, steps["platform"].end)
    assert load.end - load.start == pytest.approx(a.local_load)


@pytest.mark.parametrize("setting", [BOUGHT, RESERVED, BLOCK])
def test_a_copy_of_the_pod_is_made_between_pull_and_load(setting: Setting) -> None:
    a = Assumptions()
    plain, local = our_order(a, setting), our_order(a, copying(setting, Copy.POD))
    assert starts(local)["weights copy"] == starts(plain)["model load"]
    assert starts(local)["model load"] == ends(local)["weights copy"]
    spared = a.load - a.local_load - a.copy
    assert local.paid_gpu_minutes == pytest.approx(plain.paid_gpu_minutes - 8 * spared)


def test_what_is_bought_with_a_rate_is_loaded_at_it() -> None:
    lustre = Setting(gpus=8, cache="fsx", cache_rate=300)
    a = lustre.assumptions()
    assert a.copy_rate == 300
    assert load_minutes(a, lustre) == pytest.approx(65.3e3 / 300 / 60 + a.local_load)


@pytest.mark.parametrize(("cache", "rate"), [("class", 250), ("efs", 500), ("s3", 1000)])
def test_the_kind_of_cache_decides_how_fast_a_copy_is_made(cache: str, rate: float) -> None:
    assert Setting(gpus=8, cache=cache).assumptions().copy_rate == rate


CACHES = (
    Setting(gpus=8),
    Setting(gpus=8, cache="s3", copy=Copy.POD),
    Setting(gpus=8, cache="s3", copy=Copy.NODE, parallel_pull=True, mirror=True),
    Setting(gpus=8, cache="efs", copy=Copy.NODE),
    Setting(gpus=8, cache="fsx", cache_rate=300),
)


@pytest.mark.parametrize("setting", CACHES)
def test_new_nodes_and_restarts_take_what_the_rollout_pays_for(setting: Setting) -> None:
    ours = our_order(setting.assumptions(), setting)
    assert new_nodes_minutes(setting, rounds=1) == ours.paid_minutes
    before = {"GPU nodes", "image pull", *(("weights copy",) if setting.copy is Copy.NODE else ())}
    there = max(end for name, end in ends(ours).items() if name in before)
    assert restart_minutes(setting) == pytest.approx(ours.first_token - there)


def test_an_assumption_that_nothing_rests_on_moves_nothing() -> None:
    a = Assumptions()
    minutes = sensitivity(a, BOUGHT)
    now = our_order(a, BOUGHT).paid_minutes
    still = {name for name, moved in minutes.items() if moved == pytest.approx((now, now))}
    assert {"scale_up", "copy_rate", "local_load", "weights_rate"} <= still, (
        "the guides alone pay for the download"
    )
    assert set(list(minutes)[-len(still) :]) == still
    assert minutes["load"] == pytest.approx((now - a.load / 2, now + a.load))


def test_each_assumption_of_a_stack_has_a_source() -> None:
    near = Setting(gpus=8, cache="s3", mirror=True)
    assert near.sources().keys() == BOUGHT.sources().keys() == asdict(near.assumptions()).keys()
    assert all(near.sources().values())
    other = {name for name, source in near.sources().items() if source != BOUGHT.sources()[name]}
    assert other == {"copy_rate", "parallel_image_rate"}
