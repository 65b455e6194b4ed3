"""`pulumi preview --policy-pack policy` on the real engine finds what `synth --check` finds.

Simulated: the plugins echo what they are asked for (echo_provider.py).
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi import automation

from ops.evaluate import evaluate
from ops.policy import check
from ops.pulumi.stack_file import StackFile
from policy.check import Finding
from stacks.sections.policy import Rule
from tests.engine.conftest import Engine
from tests.project import PROJECT

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]
Found = tuple[str, str, str, str]
"""Rule, level, name of the resource, sentence."""


@pytest.fixture(scope="module")
def pack() -> Path:
    """The pack with what it needs, which `make test` has installed already."""
    subprocess.run(["make", "policy"], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    return PROJECT / "policy"


def stack_file(engine: Engine, name: str, like: str, **sections: Any) -> StackFile:
    """A stack of the test's own, like a shipped one but for some sections."""
    content = yaml.safe_load((PROJECT / f"Pulumi.{like}.yaml").read_text())
    content["config"] |= {f"dynamo-gpt-oss:{key}": section for key, section in sections.items()}
    (engine.folder / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(content))
    return StackFile.load(engine.folder, name)


def found_by_pulumi(engine: Engine, name: str, pack: Path) -> list[Found]:
    events: list[automation.PolicyEvent] = []

    def keep(event: automation.EngineEvent) -> None:
        if event.policy_event:
            events.append(event.policy_event)

    try:
        engine.stack(name).preview(on_event=keep, policy_packs=[str(pack)])
    except automation.CommandError:
        assert any(event.enforcement_level == "mandatory" for event in events)
    else:
        assert all(event.enforcement_level == "advisory" for event in events)
    return sorted(
        (
            event.policy_name,
            event.enforcement_level,
            str(event.resource_urn).rpartition("::")[2],
            event.message.partition("\n")[2].strip(),
        )
        for event in events
    )


def as_found(findings: list[Finding]) -> list[Found]:
    return sorted((each.rule, each.level, each.resource.name, each.problem) for each in findings)


def test_the_pack_finds_what_the_check_finds(offline: Engine, pack: Path) -> None:
    """Every rule that these settings can break is broken, and none refuses the stack."""
    advisory = {
        rule.value: {"level": "advisory", "reason": "so that Pulumi goes on to the next one"} for rule in Rule
    }
    policy = {"production": True, "maxUsdPerHour": 10, "maxOnDemandGpus": 4, "rules": advisory}
    file = stack_file(offline, "broken", "disagg-b200-v04", policy=policy, tags={"ttl": "24h"})
    ours = as_found(check(evaluate(PROJECT, file), file))
    assert found_by_pulumi(offline, "broken", pack) == ours
    assert {rule for rule, *_ in ours} == {
        "on-demand-gpus", "owner-and-ttl", "pinned-versions", "price-ceiling", "protected-production",
        "unprivileged-pods",
    }  # fmt: skip


def test_the_pack_refuses_what_the_check_refuses(offline: Engine, pack: Path) -> None:
    file = stack_file(offline, "ownerless", "disagg-b200", tags={"ttl": "24h"})
    ours = as_found(check(evaluate(PROJECT, file), file))
    assert found_by_pulumi(offline, "ownerless", pack) == ours
    assert [(rule, level) for rule, level, *_ in ours] == [("owner-and-ttl", "mandatory")]


def test_the_pack_lets_a_shipped_stack_pass(offline: Engine, pack: Path) -> None:
    stack_file(offline, "shipped", "disagg-gb200-8k")
    assert [level for _, level, *_ in found_by_pulumi(offline, "shipped", pack) if level == "mandatory"] == []
