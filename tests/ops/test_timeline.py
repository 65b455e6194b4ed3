"""The simulated rollout: arithmetic, order, overrides and pictures."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ops.timeline import draw, simulate
from targets.errors import UserError
from targets.timeline import Rollout
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


@pytest.mark.parametrize(("stack", "most"), [("disagg-b200", 0.20), ("prod", 0.21), ("agg-gb200", 0.21)])
def test_shipped_stacks_pay_about_a_fifth_of_the_published_order(stack: str, most: float) -> None:
    """Of a block a minute more is paid, from its start until its instances are asked for."""
    simulated = simulate(PROJECT, stack, [])
    assert simulated.ours.gpus == simulated.published.gpus
    assert simulated.ours.paid_gpu_minutes <= most * simulated.published.paid_gpu_minutes


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
            "--assume: 'lod' is no assumption; choose one of cpu-boot, scale-up, gpu-boot, platform, weights-gb, "
            "weights-rate, image-gb, image-rate, parallel-image-rate, copy-rate, load, local-load",
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


def test_only_a_stack_that_copies_pays_for_a_copy_and_loads_from_it(project: Path) -> None:
    plain, copying = (simulate(project, name, ["copy-rate=100"]) for name in ("on-demand", "copying"))
    assert plain.ours == simulate(project, "on-demand", []).ours
    assert "copied to a node" not in plain.text()
    assert "weights copy" not in plain.text()
    spared = plain.assumptions.load - plain.assumptions.local_load
    assert copying.ours.first_token - plain.ours.first_token == pytest.approx(65.3e3 / 100 / 60 - spared)
    assert copying.published == plain.published
    assert (
        "copied to a node at 100 MB/s, load 3.6 min from a copy on the node; the guides: 22.5 min from a shared file"
        in copying.text()
    )


def test_how_the_pool_is_bought_decides_the_order(project: Path) -> None:
    on_demand, block = simulate(project, "on-demand", []), simulate(project, "block", [])
    assert "scale up" not in starts(on_demand.ours)
    assert starts(block.ours)["scale up"] == block.ours.gpus_from
    assert "begun together with it, " in block.text()
    assert "block" not in on_demand.text().partition("\n")[2]


def test_what_one_assumption_moves_is_told_from_most_to_least(project: Path) -> None:
    shown = simulate(project, "copying", [])
    spread = [abs(doubled - halved) for halved, doubled in shown.moved.values()]
    assert spread == sorted(spread, reverse=True)
    assert shown.moved["gpu-boot"][0] < shown.ours.paid_minutes < shown.moved["gpu-boot"][1]
    assert "scale-up" not in shown.moved, "which only a block waits for"
    assert "weights-rate" not in shown.moved, "which the guides' GPUs alone wait for"
    most = next(iter(shown.moved))
    assert f"\npaid minutes with one assumption   halved  doubled\n  {most} " in shown.text()
    assert shown.data()["sensitivity"][0]["assumption"] == most


def test_each_assumption_is_shown_with_where_it_is_from(project: Path) -> None:
    shown = simulate(project, "copying", ["load=20"])
    data = shown.data()
    assert data["sources"].keys() == data["assumptions"].keys()
    assert (
        "(vllm#19824); TensorRT-LLM and SGLang, unpublished, are taken to be as fast"
        in data["sources"]["local_load"]
    )
    assert data["sources"]["load"] == "--assume"
    lines = shown.text().splitlines()
    for name, source in data["sources"].items():
        value = f"{data['assumptions'][name]:6.4g}"
        assert f"  {name.replace('_', '-'):20}{value}  {source}" in lines


def test_usd_only_where_a_price_is_known(project: Path) -> None:
    on_demand, block = simulate(project, "on-demand", []), simulate(project, "block", [])
    assert on_demand.usd_per_hour == pytest.approx(113.9328)
    assert "USD" in on_demand.text()
    assert block.usd_per_hour is None
    assert "GPU-minutes, " not in block.text()


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


def test_the_picture_of_a_block_counts_from_its_start(project: Path, tmp_path: Path) -> None:
    simulated = simulate(project, "block", [])
    _, svg = draw(simulated, tmp_path / "out")
    minutes = simulated.ours.paid_minutes
    assert f"first token {minutes:.0f} min after the block begins" in svg.read_text()


def test_picture_is_the_same_to_the_byte(project: Path, tmp_path: Path) -> None:
    simulated = simulate(project, "on-demand", [])
    first = [path.read_bytes() for path in draw(simulated, tmp_path / "first")]
    second = [path.read_bytes() for path in draw(simulated, tmp_path / "second")]
    assert first == second


def test_what_has_no_price_is_told_with_the_line_that_gives_one(project: Path) -> None:
    text = simulate(project, "block", []).text()
    assert text.endswith("  dynamo-gpt-oss:prices: { p6-b200.48xlarge: USD }")
    assert "dynamo-gpt-oss:prices" not in simulate(project, "on-demand", []).text()


def test_for_programs_it_is_data(project: Path) -> None:
    data = simulate(project, "on-demand", []).data()
    ours, published = data["orders"]
    assert ours["paidUsd"] < published["paidUsd"]
    assert ours["firstToken"] == ours["steps"][-1]["end"]
    assert simulate(project, "block", []).data()["orders"][0]["paidUsd"] is None
