"""The simulated rollout: arithmetic, order, overrides and pictures."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ops.timeline import draw, simulate
from targets.errors import UserError
from targets.timeline import Assumptions, Rollout, our_order, published_order
from tests.project import PROJECT

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose stacks differ in how their GPUs are bought."""
    (tmp_path / "Pulumi.yaml").write_text((PROJECT / "Pulumi.yaml").read_text())
    stack = (
        "config:\n"
        "  dynamo-gpt-oss:target: trtllm-disagg-b200\n"
        "  dynamo-gpt-oss:cluster: {kind: existing}\n"
        "  dynamo-gpt-oss:pool: {capacity: {kind: %s}}\n"
    )
    (tmp_path / "Pulumi.on-demand.yaml").write_text(stack % "on-demand")
    copying = stack % "on-demand" + "  dynamo-gpt-oss:cache: {localCopy: true}\n"
    (tmp_path / "Pulumi.copying.yaml").write_text(copying)
    (tmp_path / "Pulumi.block.yaml").write_text(stack % "capacity-block, reservationId: cr-0123456789abcdef0")
    return tmp_path


def test_it_says_that_it_shows_the_main_pool_alone(project: Path) -> None:
    shown = simulate(project, "on-demand", [])
    stack = project / "Pulumi.on-demand.yaml"
    stack.write_text(
        stack.read_text()
        + "  dynamo-gpt-oss:pools: [{name: h100}]\n"
        + "  dynamo-gpt-oss:graphs: [{name: vllm, target: vllm-disagg-h100, pool: h100}]\n"
    )
    several = simulate(project, "on-demand", [])
    assert several.ours == shown.ours
    assert several.text().startswith("Rollout of on-demand (main pool; 1 further not shown) on a cluster")
    assert "further" not in shown.text()


def starts(rollout: Rollout) -> dict[str, float]:
    return {step.name: step.start for step in rollout.steps}


def ends(rollout: Rollout) -> dict[str, float]:
    return {step.name: step.end for step in rollout.steps}


def test_gpus_wait_for_weights_and_platform() -> None:
    ours = our_order(Assumptions(), 8, prepaid=False)
    assert starts(ours)["GPU nodes"] == max(ends(ours)["download"], ends(ours)["platform"])


def test_prepaid_gpus_wait_for_nothing() -> None:
    ours = our_order(Assumptions(), 8, prepaid=True)
    assert starts(ours)["GPU nodes"] == 0
    assert starts(ours)["image pull"] == ends(ours)["GPU nodes"]
    assert starts(ours)["model load"] == max(ends(ours)["download"], ends(ours)["image pull"])


def test_published_order_pays_for_every_step_one_after_another() -> None:
    a = Assumptions()
    published = published_order(a, 8)
    assert published.paid_gpu_minutes == pytest.approx(
        8 * (a.gpu_boot + a.platform + a.download + a.pull + a.load)
    )


def test_our_order_pays_for_boot_pull_and_load_only() -> None:
    a = Assumptions()
    assert our_order(a, 8, prepaid=False).paid_gpu_minutes == pytest.approx(
        8 * (a.gpu_boot + a.pull + a.load)
    )


@pytest.mark.parametrize("prepaid", [True, False])
def test_a_local_copy_is_made_between_pull_and_load(prepaid: bool) -> None:
    a = Assumptions()
    plain = our_order(a, 8, prepaid=prepaid)
    copying = our_order(a, 8, prepaid=prepaid, local_copy=True)
    assert starts(copying)["weights copy"] == starts(plain)["model load"]
    assert starts(copying)["model load"] == ends(copying)["weights copy"]
    assert copying.paid_gpu_minutes == pytest.approx(plain.paid_gpu_minutes + 8 * a.copy)


def test_sizes_and_rates_give_minutes() -> None:
    a = Assumptions(weights_gb=60, weights_rate=100, image_gb=30, image_rate=50, copy_rate=200)
    assert (a.download, a.pull, a.copy) == (10, 10, 5)


def test_disaggregated_b200_pays_at_most_60_percent_of_the_published_order() -> None:
    simulated = simulate(PROJECT, "disagg-b200", [])
    assert simulated.ours.gpus == simulated.published.gpus == 8
    assert simulated.ours.paid_gpu_minutes <= 0.6 * simulated.published.paid_gpu_minutes


def test_overrides_reach_the_clock(project: Path) -> None:
    plain = simulate(project, "on-demand", [])
    slower = simulate(project, "on-demand", ["load=32.5", "weights-rate=15"])
    assert slower.ours.paid_gpu_minutes - plain.ours.paid_gpu_minutes == pytest.approx(80)
    assert slower.assumptions.download == pytest.approx(2 * plain.assumptions.download)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "lod=1",
            "--assume: 'lod' is no assumption; choose one of cpu-boot, gpu-boot, platform, weights-gb, weights-rate, "
            "image-gb, image-rate, copy-rate, load",
        ),
        ("load=soon", "--assume: 'load=soon' needs a number above 0, as in load=10"),
        ("load=0", "--assume: 'load=0' needs a number above 0, as in load=10"),
        ("load=nan", "--assume: 'load=nan' needs a number above 0, as in load=10"),
    ],
)
def test_bad_overrides_are_refused(project: Path, override: str, message: str) -> None:
    with pytest.raises(UserError) as refusal:
        simulate(project, "on-demand", [override])
    assert str(refusal.value) == message


def test_only_a_stack_that_copies_pays_for_a_copy(project: Path) -> None:
    plain, copying = (simulate(project, name, ["copy-rate=100"]) for name in ("on-demand", "copying"))
    assert plain.ours == simulate(project, "on-demand", []).ours
    assert "cop" not in plain.text()
    assert copying.ours.first_token - plain.ours.first_token == pytest.approx(65.3e3 / 100 / 60)
    assert copying.published == plain.published
    assert "copied at 100 MB/s, load 22.5 min (as without a copy: not known better)" in copying.text()


def test_how_the_pool_is_bought_decides_the_order(project: Path) -> None:
    assert starts(simulate(project, "on-demand", []).ours)["GPU nodes"] > 0
    assert starts(simulate(project, "block", []).ours)["GPU nodes"] == 0


def test_usd_only_where_a_price_is_known(project: Path) -> None:
    on_demand, block = simulate(project, "on-demand", []), simulate(project, "block", [])
    assert on_demand.usd_per_hour == pytest.approx(113.9328)
    assert "USD" in on_demand.text()
    assert block.usd_per_hour is None
    assert "USD" not in block.text()


def test_table_says_that_it_is_simulated(project: Path) -> None:
    assert "simulated from assumptions, not measured" in simulate(project, "on-demand", []).text()


def test_pictures_hold_both_orders(project: Path, tmp_path: Path) -> None:
    simulated = simulate(project, "on-demand", [])
    png, svg = draw(simulated, tmp_path / "out")
    assert png.read_bytes().startswith(PNG_SIGNATURE)
    texts = [element.text or "" for element in ElementTree.parse(svg).iter() if element.tag.endswith("text")]
    assert sum(text == "download" for text in texts) == 2
    for rollout in (simulated.ours, simulated.published):
        assert any(f"{rollout.paid_gpu_minutes:.0f} GPU-minutes paid" in text for text in texts)
    assert any("simulated" in text for text in texts)


def test_picture_is_the_same_to_the_byte(project: Path, tmp_path: Path) -> None:
    simulated = simulate(project, "on-demand", [])
    first = [path.read_bytes() for path in draw(simulated, tmp_path / "first")]
    second = [path.read_bytes() for path in draw(simulated, tmp_path / "second")]
    assert first == second
