"""What is told of Pulumi's engine: a line when something changes, and none twice."""

from typing import Any

import pytest
from pulumi.automation import EngineEvent

from ops.pulumi.events import Events
from ops.watch.made import Made

JOB = "kubernetes:batch/v1:Job"


class Told:
    """Events that are told at a clock of the test's own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.seconds = 0.0
        self.made = Made(3)
        self.events = Events(self.lines.append, self.made, clock=lambda: self.seconds)

    def __call__(self, **event: dict[str, Any]) -> None:
        self.events(EngineEvent.from_json(event))

    def step(self, kind: str, op: str, resource: str, name: str = "model-download", **new: Any) -> None:
        urn = f"urn:pulumi:s::p::x${resource}::{name}"
        state = {"new": {"type": resource, "urn": urn, "id": "", **new}} if new else {}
        self(**{kind: {"metadata": {"op": op, "urn": urn, "type": resource, "provider": "", **state}}})


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_resource_is_told_when_it_is_begun_and_again_only_if_it_took_long(told: Told) -> None:
    told.step("resourcePreEvent", "create", JOB)
    assert str(told.made) == "0 of 3; now job/model-download"
    told.seconds = 9
    told.step("resOutputsEvent", "create", JOB)
    assert str(told.made) == "1 of 3"
    told.step("resourcePreEvent", "create", JOB, "slow")
    told.seconds = 600
    told.step("resOutputsEvent", "create", JOB, "slow")
    assert told.lines == ["create job/model-download", "create job/slow", "create job/slow: done after 591 s"]


def test_what_stays_as_it_is_counts_and_says_nothing(told: Told) -> None:
    for kind in ("resourcePreEvent", "resOutputsEvent"):
        told.step(kind, "same", JOB)
        told.step(kind, "create", "dynamo-gpt-oss:index:ModelCache", "model-cache")
    assert not told.lines
    assert str(told.made) == "2 of 3"


def test_a_replacement_is_told_by_its_two_halves(told: Told) -> None:
    for op in ("delete-replaced", "replace", "create-replacement"):
        told.step("resourcePreEvent", op, JOB)
        told.step("resOutputsEvent", op, JOB)
    assert told.lines == ["delete-replaced job/model-download", "create-replacement job/model-download"]


def test_words_of_the_engine_come_once_without_colours_and_noise(told: Told) -> None:
    urn = f"urn:pulumi:s::p::{JOB}::model-download"
    for text, severity, ephemeral in (
        ("<{%reset%}>deprecated<{%reset%}>\n", "warning", False),
        ("deprecated", "warning", False),
        ("Has no .status.conditions", "warning", False),
        ("[1/2] waiting", "info", True),
        ("", "info#err", False),
        ("two\nlines", "error", False),
    ):
        told(diagnosticEvent={"message": text, "severity": severity, "ephemeral": ephemeral, "urn": urn})
    assert told.lines == [
        "warning: model-download: deprecated",
        "error: model-download: two",
        "error: model-download: lines",
    ]


def test_a_failure_names_its_resource(told: Told) -> None:
    told.step("resourcePreEvent", "create", JOB)
    told.step("resOpFailedEvent", "create", JOB)
    assert told.lines[-1] == "failed: create job/model-download"


def test_policies_are_heard(told: Told) -> None:
    told(policyEvent={"message": "no ttl", "policyName": "ttl"})
    assert told.lines == ["policy ttl: no ttl"]


def test_the_way_to_the_cluster_is_kept(told: Told) -> None:
    told.step("resOutputsEvent", "create", "pulumi:providers:kubernetes", "cluster", inputs={"context": "c"})
    assert told.events.provider == {"context": "c"}
