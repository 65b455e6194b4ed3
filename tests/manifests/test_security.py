"""Who pods run as, and what they may."""

from typing import Any

import pytest

from manifests.security import (
    USER,
    as_root,
    container_security,
    pod_security,
    security_beside,
    worker_pod_security,
    worker_security,
)


def capabilities(context: dict[str, Any]) -> list[str]:
    added: list[str] = context["capabilities"].get("add", [])
    return added


def test_whoever_needs_nothing_is_a_user_without_capabilities() -> None:
    """What Kubernetes calls the restricted standard."""
    pod = pod_security()
    assert (pod["runAsNonRoot"], pod["runAsUser"], pod["fsGroup"]) == (True, USER, USER)
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    for context in (container_security(), worker_security("none", network=True), security_beside("none")):
        assert context == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@pytest.mark.parametrize("grants", ["capabilities", "privileged"])
def test_granted_workers_are_root_and_nobody_beside_them(grants: str) -> None:
    """A capability that is added for another user than root is never effective."""
    assert worker_pod_security(grants)["runAsUser"] == 0
    beside = security_beside(grants)
    assert (beside["runAsNonRoot"], beside["runAsUser"]) == (True, USER)
    assert not capabilities(beside)


def test_only_a_network_device_takes_the_right_to_more_locked_memory() -> None:
    alone, over = (worker_security("capabilities", network=network) for network in (False, True))
    assert set(capabilities(over)) - set(capabilities(alone)) == {"SYS_RESOURCE"}
    assert {"IPC_LOCK", "SYS_PTRACE"} <= set(capabilities(alone))
    assert "privileged" not in over


def test_root_in_an_image_of_another_user_may_write_its_home() -> None:
    plain = as_root(container_security())
    assert (plain["runAsUser"], plain["runAsNonRoot"]) == (0, False)
    assert capabilities(plain) == ["DAC_OVERRIDE"]
    assert plain["capabilities"]["drop"] == ["ALL"]
    granted = worker_security("capabilities", network=False)
    assert capabilities(as_root(granted)) == capabilities(granted), "none twice"
    assert as_root({"privileged": True}) == {"privileged": True, "runAsNonRoot": False, "runAsUser": 0}
    assert container_security() == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
