"""What the page of a stack shows, worked out from its file and from what is on disk."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ops.report.page import Page, page
from ops.rollout.observer import Observer
from stacks.settings import ConfigError
from tests.ops.report import projects
from tests.ops.rollout import rollouts
from tests.ops.watch.seen import existing

B200: dict[str, Any] = {
    "target": "trtllm-disagg-b200",
    "cluster": {"kind": "eks", "region": "us-east-1"},
    "tags": {"ttl": "24h"},
}
GB200: dict[str, Any] = {
    "target": "trtllm-agg-gb200",
    "cluster": {"kind": "eks", "region": "us-east-1"},
    "pool": {
        "zones": ["us-east-1-dfw-2a"],
        "capacity": {
            "kind": "capacity-block",
            "ultraserver": "u-p6e-gb200x36",
            "reservationId": "cr-0123456789abcdef0",
        },
    },
}


def of(folder: Path, config: dict[str, Any] = B200) -> Page:
    return page(projects.project(folder, config), "s", folder / "out" / "s")


def tiles(shown: Page) -> dict[str, tuple[str, str, bool]]:
    return {tile.label: (tile.value, tile.note, tile.warning) for tile in shown.tiles}


def test_a_stack_of_which_nothing_is_known_yet(tmp_path: Path) -> None:
    shown = of(tmp_path)
    found = tiles(shown)
    assert found["GPUs used"] == ("8 of 8", "none is left unused", False)
    assert found["Price"] == ("116.73", "2,801.51 USD a day", False)
    assert found["First token after"][1] == "simulated from assumptions"
    assert found["Most output"][0] == found["Verified"][0] == "–"
    assert (shown.benchmarks, shown.verification) == (None, None)


def test_its_parts_add_up_and_the_largest_has_the_longest_bar(tmp_path: Path) -> None:
    bill = of(tmp_path).bill
    assert sum(float(part.usd) for part in bill.parts) == pytest.approx(float(bill.hour), abs=0.01)
    assert sum(part.share for part in bill.parts) == pytest.approx(100)
    assert max(bill.parts, key=lambda part: part.share).name.startswith("1 × p6-b200.48xlarge")
    assert bill.uses == ("Graph gpt-oss-disagg uses 8 of 8 GPUs of 1 node (p6-b200.48xlarge).",)
    assert any("scaled to 0 after 24h" in note for note in bill.notes)


def test_what_has_no_price_is_said_with_the_key_that_gives_one(tmp_path: Path) -> None:
    shown = of(tmp_path, GB200)
    assert tiles(shown)["GPUs used"] == ("4 of 36", "32 GPUs are paid and unused", True)
    value, note, warning = tiles(shown)["Price"]
    assert (value, warning) == ("unknown", True)
    assert note.startswith("2.31 USD/h without")
    assert any("prices: { p6e-gb200.36xlarge: USD }" in note for note in shown.bill.notes)
    assert [part.usd for part in shown.bill.parts].count("unknown") == 1


def test_a_stack_on_a_cluster_that_is_there_pays_nothing(tmp_path: Path) -> None:
    shown = of(tmp_path, projects.SCALED)
    assert tiles(shown)["Price"][:2] == ("0", "the cluster is there already")
    assert shown.bill.parts == ()


def test_simulated_engines_without_gpus(tmp_path: Path) -> None:
    shown = of(tmp_path, {"target": "mocker-disagg-cpu", "cluster": B200["cluster"]})
    assert tiles(shown)["GPUs used"] == ("none", "engines are SIMULATED by Dynamo's mocker", False)


def test_what_was_measured_gives_figures_and_a_price_for_tokens(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100, 4: 400}, simulated="")
    shown = of(tmp_path)
    assert tiles(shown)["Most output"] == ("400", "at 4 requests at once", False)
    assert shown.bill.per_million.startswith("A million output tokens: 81.0")
    assert "at 400 tokens/s (best point of out/bench/01T10)" in shown.bill.per_million


def test_what_was_simulated_says_so_where_it_stands(tmp_path: Path) -> None:
    projects.run(tmp_path, "01T10", {1: 100, 4: 400})
    projects.verification(tmp_path, ok=True)
    shown = of(tmp_path)
    assert tiles(shown)["Most output"][1:] == ("SIMULATED engines, at 4 requests at once", True)
    assert "SIMULATED engines" in tiles(shown)["Verified"][1]
    assert "SIMULATED" in shown.bill.per_million


def test_what_verification_found(tmp_path: Path) -> None:
    projects.verification(tmp_path, ok=False, simulated="")
    shown = of(tmp_path)
    value, note, warning = tiles(shown)["Verified"]
    assert (value, warning) == ("1 of 2", True)
    assert "SIMULATED" not in note
    assert shown.verification is not None
    assert shown.verification.checks[1] == ("chat", "failed", "0.10", "3 workers No <b>answer</b>. Look.")


def test_the_last_rollout_as_it_was_measured(tmp_path: Path) -> None:
    assert of(tmp_path).timeline.measured is None
    projects.rollout(tmp_path, simulated="")
    shown = of(tmp_path).timeline.measured
    assert shown is not None
    assert shown.picture.sentences[0].startswith("Ready after 90 s, 20")
    assert shown.simulated == ""


def test_what_happened_is_laid_beside_what_was_assumed(tmp_path: Path) -> None:
    assert of(tmp_path).timeline.compared is None
    observer = Observer()
    observer(rollouts.whole())
    observer.keep(replace(existing(), file=replace(existing().file, stack="s")), tmp_path)
    shown = of(tmp_path).timeline.compared
    assert shown is not None
    assert shown.picture.sentences[0] == "Most wrong: weights-rate: download took 12.0 min, 36.3 assumed."
    assert "at least" in shown.picture.wide
    assert shown.simulated == ""


def test_links_lead_to_what_is_there(tmp_path: Path) -> None:
    projects.verification(tmp_path, ok=True)
    links = dict(of(tmp_path).links)
    assert links == {"Stack file": "../../Pulumi.s.yaml", "Last verification": "../verify/s.json"}
    assert all((tmp_path / "out" / "s" / address).resolve().is_file() for address in links.values())


def test_a_way_of_kv_cache_that_is_slow_is_a_warning(tmp_path: Path) -> None:
    slow = {**projects.SCALED, "graph": {"transport": "tcp"}, "autoscaling": {"kind": "none"}}
    assert of(tmp_path / "slow", slow).topology.warnings
    fast = of(tmp_path / "fast")
    assert (fast.topology.warnings, len(fast.topology.sentences)) == ((), 1)


def test_a_stack_that_cannot_work_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one prefill worker needs 4 GPUs"):
        of(tmp_path, {**projects.SCALED, "pool": {"instanceType": "p5.4xlarge", "nodes": 2}})
