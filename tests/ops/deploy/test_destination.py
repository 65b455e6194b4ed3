"""Where a stack can be deployed from."""

import pytest

from ops.deploy import deploy
from ops.deploy.destination import DestinationError
from ops.progress import Progress
from ops.pulumi import automation
from ops.stack.stack import find


def test_without_a_pulumi_cli_a_real_cluster_is_refused_with_what_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(automation, "available", lambda: False)
    with pytest.raises(DestinationError) as refusal:
        deploy.up(find("prod"), Progress())
    assert str(refusal.value) == (
        "--stack: prod is for a cluster of kind eks, which takes a Pulumi CLI, and none is on PATH; install the Pulumi "
        "CLI (https://www.pulumi.com/docs/install/) and run the verb again, or put this stack's graph on simulated "
        "nodes: add --embedded (with make: ARGS=--embedded) to each verb"
    )
