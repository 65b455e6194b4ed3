"""How kubectl is told which cluster: from the config, or from a stack's output, which nobody else may read."""

import stat
from pathlib import Path
from typing import Any

import pytest

from ops.pulumi import automation
from ops.stack.kubeconfig import KubeconfigError, kubectl_options
from stacks.plan import StackPlan
from tests.plans import stack

ON_EKS = {"kind": "eks", "region": "us-east-2"}


def on(**cluster: Any) -> StackPlan:
    return stack("trtllm-disagg-b200", cluster=cluster, platform={})


@pytest.mark.parametrize(
    ("cluster", "options"),
    [
        ({}, []),
        ({"kubeconfig": "some/config"}, ["--kubeconfig=some/config"]),
        ({"kubeconfig": "a", "context": "ours"}, ["--kubeconfig=a", "--context=ours"]),
    ],
)
def test_a_cluster_that_is_there_is_named_as_the_config_names_it(
    cluster: dict[str, str], options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automation, "available", lambda: pytest.fail("it asked Pulumi"))
    with kubectl_options(on(kind="existing", **cluster), "dev") as given:
        assert given == options


@pytest.mark.parametrize(
    ("plan", "asked"),
    [(on(**ON_EKS), "acme/dev"), (on(kind="stack", stack="acme/shared/prod"), "acme/shared/prod")],
    ids=["its own", "another stack's"],
)
def test_a_stacks_kubeconfig_is_private_and_gone_afterwards(
    plan: StackPlan, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "output", lambda _, stack, name: f"{stack} {name}")
    with kubectl_options(plan, "acme/dev") as (option,):
        path = Path(option.removeprefix("--kubeconfig="))
        assert path.read_text() == f"{asked} kubeconfig"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_stack_that_is_not_deployed_has_no_way_to_its_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "output", lambda *_: None)
    with (
        pytest.raises(KubeconfigError, match="dev has no output `kubeconfig`"),
        kubectl_options(on(**ON_EKS), "dev"),
    ):
        pass


def test_without_a_cli_the_other_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automation, "available", lambda: False)
    with (
        pytest.raises(KubeconfigError, match="no Pulumi CLI is on PATH"),
        kubectl_options(on(**ON_EKS), "dev"),
    ):
        pass
