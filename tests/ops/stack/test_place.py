"""Where a stack is that was deployed."""

import json
from pathlib import Path

import pytest

from embedded import cluster
from ops.pulumi import automation
from ops.stack import place
from ops.stack.place import PlaceError, find_deployed


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stacks that have nodes on the embedded cluster, which runs."""
    known: list[str] = []

    def kubectl(*arguments: str, state: Path) -> str:
        wanted = next(word for word in arguments if word.startswith("--selector=")).rpartition("=")[2]
        return json.dumps({"items": [{}] if wanted in known else []})

    monkeypatch.setattr(cluster, "is_running", lambda _: True)
    monkeypatch.setattr(cluster, "kubectl", kubectl)
    monkeypatch.setattr(automation, "available", lambda: False)
    return known


def test_a_stack_whose_nodes_are_on_the_embedded_cluster_is_there(nodes: list[str]) -> None:
    assert not find_deployed("disagg-b200").embedded
    nodes.append("disagg-b200")
    found = find_deployed("disagg-b200")
    assert (found.embedded, found.own_nodes, found.namespace) == (True, True, "disagg-b200")
    assert not find_deployed("disagg-b200", embedded=False).embedded


def test_what_is_said_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_has_nodes", lambda _: pytest.fail("nobody has to look"))
    assert find_deployed("disagg-b200", embedded=True).embedded
    assert find_deployed("dev").embedded, "its own file says so"


def test_a_cluster_that_does_not_run_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "is_running", lambda _: False)
    assert not find_deployed("disagg-b200").embedded


def test_one_that_is_in_two_places_has_to_be_named(nodes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    nodes.append("disagg-b200")
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "place", lambda *_: automation.Place("disagg-b200", "acme", "s3://state"))
    resources = [{"type": "aws:eks/cluster:Cluster"}]
    monkeypatch.setattr(automation, "state", lambda *_: automation.State(lambda: resources))  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(automation, "export", lambda _: {"deployment": {"resources": resources}})
    with pytest.raises(PlaceError) as twice:
        find_deployed("disagg-b200")
    assert str(twice.value) == (
        "--stack: disagg-b200 is on the embedded cluster, and as stack disagg-b200 of organization acme in s3://state; "
        "add --embedded or --no-embedded"
    )
    resources.clear()
    assert find_deployed("disagg-b200").embedded


def test_who_is_not_logged_in_has_no_other_place(nodes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def logged_out() -> None:
        raise automation.LoggedOutError("log in")

    nodes.append("disagg-b200")
    monkeypatch.setattr(automation, "available", lambda: True)
    monkeypatch.setattr(automation, "state", lambda *_: automation.State(logged_out))  # type: ignore[arg-type]
    assert find_deployed("disagg-b200").embedded
