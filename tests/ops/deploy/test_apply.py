"""`up` without a Pulumi CLI: what it tells kubectl to do with Jobs that are there already."""

import json
from typing import Any

import pytest

from ops.deploy import apply

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "model-download",
        "namespace": "dynamo",
        "annotations": {"pulumi.com/replaceUnready": "true"},
    },
}


class Kubectl:
    """Takes every command and accepts every object."""

    def __init__(self) -> None:
        self.verbs: list[str] = []

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        dry_run = "--dry-run=server" in arguments
        self.verbs += [] if dry_run else [arguments[0]]
        return stdin


@pytest.mark.parametrize(
    ("conditions", "verbs"),
    [
        ([{"type": "Failed", "status": "True"}], ["delete", "apply"]),
        ([], ["delete", "apply"]),
        ([{"type": "Complete", "status": "True"}], ["apply"]),
    ],
)
def test_a_job_that_did_not_complete_is_made_anew(conditions: list[dict[str, Any]], verbs: list[str]) -> None:
    kubectl = Kubectl()
    there = json.loads(json.dumps(JOB)) | {"status": {"conditions": conditions}}
    apply._apply(kubectl, JOB, there)
    assert kubectl.verbs == verbs


def test_a_job_that_does_not_ask_for_it_is_left_alone() -> None:
    kubectl = Kubectl()
    job = JOB | {"metadata": {"name": "theirs"}}
    apply._apply(kubectl, job, job)
    assert kubectl.verbs == ["apply"]
