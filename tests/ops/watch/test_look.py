"""Looking at a namespace: in one call where all may be listed, in fewer words where not."""

import json
from typing import Any

import pytest

from ops.kubectl import KubectlError
from ops.watch.look import Look
from tests.ops.watch.seen import pod

JOB = {"kind": "Job", "metadata": {"name": "model-download"}}


class Asked:
    """kubectl that knows some objects. missing: a word whose question it refuses."""

    def __init__(self, *objects: dict[str, Any], missing: str = "nothing") -> None:
        self.objects, self.missing = objects, missing
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        self.calls.append(arguments)
        if any(self.missing in word for word in arguments):
            raise KubectlError("the server doesn't have a resource type")
        if arguments[0] == "logs":
            return "12:00:00 downloading\n12:01:00 12.3 of 65.2 GB, 31 MB/s\n"
        return json.dumps({"items": list(self.objects)})


def test_one_call_is_enough_where_nothing_waits() -> None:
    asked = Asked(pod(), JOB)
    found = Look(asked, "ns", logs=False)()
    assert len(asked.calls) == 1
    assert [each.name for each in found.pods] == ["g-decode-0"]


def test_what_it_found_can_be_observed() -> None:
    observed: list[Any] = []
    Look(Asked(pod(), JOB), "ns", logs=False, observe=observed.extend)()
    assert [each["kind"] for each in observed] == ["Pod", "Job"]


@pytest.mark.parametrize("missing", ["dynamographdeployments", "nodes", "pods,events,nodes"])
def test_a_kind_that_is_not_there_or_may_not_be_listed_hides_nothing_else(missing: str) -> None:
    found = Look(Asked(pod(), missing=missing), "ns", logs=False)()
    assert [each.name for each in found.pods] == ["g-decode-0"]


def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(KubectlError):
        Look(Asked(missing="get"), "ns", logs=False)()


def test_who_holds_gpus_is_asked_only_while_one_of_ours_finds_none() -> None:
    held = pod("theirs", phase="Running")
    asked = Asked(pod(node=None), held)
    assert {each.name for each in Look(asked, "ns", logs=False)().holders} == {"g-decode-0", "theirs"}
    asked = Asked(pod(node=None), held, missing="--all-namespaces")
    assert Look(asked, "ns", logs=False)().holders == ()


def test_logs_of_the_jobs_that_tell_their_progress() -> None:
    download = pod("model-download-x")
    download["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "model-download"}
    asked = Asked(JOB, download)
    assert Look(asked, "ns", logs=True)().logs == {
        "model-download": ("12:00:00 downloading", "12:01:00 12.3 of 65.2 GB, 31 MB/s")
    }
    assert asked.calls[-1] == ("logs", "pod/model-download-x", "--namespace=ns", "--tail=40")
    assert Look(Asked(JOB, download, missing="logs"), "ns", logs=True)().logs is None
