"""`up` without a Pulumi CLI: what it tells kubectl to do with Jobs that are there already."""

import json
from typing import Any

import pytest

from manifests.names import RETAINED
from ops.deploy import apply
from ops.synth import manifests
from targets.errors import UserError
from tests.ops.deploy.clusters import obj
from tests.plans import evaluated

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
        self.verbs.append(arguments[0])
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
    apply._apply(kubectl, [JOB], [there])
    assert kubectl.verbs == verbs


def test_a_job_that_does_not_ask_for_it_is_left_alone() -> None:
    kubectl = Kubectl()
    job = JOB | {"metadata": {"name": "theirs"}}
    apply._apply(kubectl, [job], [job])
    assert kubectl.verbs == ["apply"]


class Refusing(Kubectl):
    """Refuses the first object that it is told to apply."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        told = super().__call__(*arguments, stdin=stdin)
        if self.verbs == ["apply"]:
            raise UserError(self.why)
        return told


def test_a_job_whose_pod_template_is_another_is_made_anew() -> None:
    kubectl = Refusing("spec.template: Invalid value: core.PodTemplateSpec{}: field is immutable")
    job = JOB | {"metadata": {"name": "theirs"}}
    assert apply._apply(kubectl, [job], [job]) == [job]
    assert kubectl.verbs == ["apply", "delete", "apply"]


@pytest.mark.parametrize(
    ("kind", "why"), [("PersistentVolumeClaim", "spec: field is immutable"), ("Job", "exceeded quota")]
)
def test_what_else_is_refused_is_not_made_anew(kind: str, why: str) -> None:
    kubectl = Refusing(why)
    there = JOB | {"kind": kind, "metadata": {"name": "theirs"}}
    with pytest.raises(UserError, match=why):
        apply._apply(kubectl, [there], [there])
    assert kubectl.verbs == ["apply"]


def test_a_job_that_somebody_made_meanwhile_is_not_deleted() -> None:
    kubectl = Refusing("spec.template: field is immutable")
    with pytest.raises(UserError, match="field is immutable"):
        apply._apply(kubectl, [JOB], [None])
    assert kubectl.verbs == ["apply"]


class Taken(Kubectl):
    """A cluster with one object of a stack."""

    def __init__(self, there: dict[str, Any]) -> None:
        super().__init__()
        self.there = there

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        verb, kind, *_ = arguments
        if verb != "get":
            return super().__call__(*arguments, stdin=stdin)
        if "--selector=dynamo-gpt-oss/stack" not in arguments:
            return ""
        same = self.there["kind"] in {each.partition(".")[0] for each in kind.split(",")}
        return json.dumps({"items": [self.there] if same else []})


def theirs(kind: str, name: str, **labels: str) -> dict[str, Any]:
    made = obj(kind, name, "dynamo", labels={"dynamo-gpt-oss/stack": "theirs", **labels})
    times = {"uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return made | {"metadata": made["metadata"] | times}


EMBEDDED = {"target": "trtllm-disagg-b200", "cluster": {"kind": "existing"}, "platform": {"install": False}}


def test_another_stacks_objects_are_not_taken_over() -> None:
    evaluation = evaluated("mine", **EMBEDDED)
    graph = next(r.inputs for r in manifests(evaluation) if r.inputs["kind"] == apply.GRAPH_KIND)
    there = theirs(apply.GRAPH_KIND, graph["metadata"]["name"]) | {"apiVersion": graph["apiVersion"]}
    kubectl = Taken(there)
    with pytest.raises(apply.TakenError) as error:
        apply.apply(evaluation, "dynamo", kubectl, wait=lambda _: None, end=lambda _: None, report=print)
    assert str(error.value) == (
        f"cluster.namespace: the stack theirs has dynamographdeployment/{graph['metadata']['name']} in dynamo; choose "
        "another namespace, or take that stack down"
    )
    assert kubectl.verbs == []


@pytest.mark.parametrize(
    "there",
    [
        theirs("DynamoGraphDeployment", "of-another-name"),
        theirs("PersistentVolumeClaim", "model-cache", **RETAINED),
    ],
)
def test_other_names_and_retained_weights_are_not_in_the_way(there: dict[str, Any]) -> None:
    evaluation = evaluated("mine", **EMBEDDED)
    assert apply.members(Taken(there), evaluation, "dynamo") == []
    apply._refuse_taken([there], [r.inputs for r in manifests(evaluation)], "dynamo")


@pytest.mark.parametrize("going", [False, True])
def test_what_is_being_removed_is_waited_for(going: bool) -> None:
    """A `down` that was killed at the namespace leaves it terminating, where nothing can be made."""
    job, claim = obj("Job", "model-download", "dynamo"), obj("PersistentVolumeClaim", "model-cache", "dynamo")
    found = job | {"metadata": job["metadata"] | ({"deletionTimestamp": "now"} if going else {})}
    there, said = [claim, found], list[str]()
    waited: list[tuple[str, ...]] = []

    def kubectl(*arguments: str, stdin: str = "") -> str:
        if arguments[0] == "get":
            return json.dumps({"items": there})
        waited.append(arguments)
        there.clear()  # a namespace takes with it what is in it
        return ""

    assert apply._settled(kubectl, [job, claim], said.append) == ([None, None] if going else [job, claim])
    wait = ("wait", "--for=delete", "Job.batch/model-download", "--namespace=dynamo", "--timeout=120s")
    assert waited == ([wait] if going else [])
    assert said == (["wait for job/model-download, which is being removed"] if going else [])


def test_objects_are_applied_together_up_to_one_that_is_waited_for() -> None:
    """Each call of kubectl takes longer than the change; what comes after may need what is waited for."""
    claim, job, graph = obj("PersistentVolumeClaim", "c"), obj("Job", "j"), obj("ConfigMap", "g")
    assert list(apply._waves([claim, job, graph])) == [[claim, job], [graph]]
    assert list(apply._waves([job])) == [[job]]
    assert list(apply._waves([])) == []


def test_what_waits_is_applied_once_the_rest_was_taken() -> None:
    """kubectl goes on after a refusal: a graph would be made without its files."""
    applied: list[list[str]] = []

    def kubectl(*arguments: str, stdin: str = "") -> str:
        objects = json.loads(stdin)["items"]
        applied.append([one["kind"] for one in objects])
        if "ConfigMap" in applied[-1]:
            raise ValueError("refused")
        return stdin

    wave = [obj("ConfigMap", "engine"), obj("ConfigMap", "script"), obj("Pod", "g")]
    with pytest.raises(ValueError, match="refused"):
        apply._apply(kubectl, wave, [None] * 3)
    assert applied == [["ConfigMap", "ConfigMap"]]


class Recorded(Kubectl):
    """A cluster with a stack on it, of which an `up` that broke off has left something more."""

    def __init__(self, there: list[dict[str, Any]], parent: dict[str, Any]) -> None:
        super().__init__()
        self.there, self.parent = there, parent
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        self.asked.append(arguments)
        if arguments[0] == "apply":
            applied = json.loads(stdin)["items"]
            unchanged = [one | {"metadata": one["metadata"] | {"resourceVersion": "1"}} for one in applied]
            return json.dumps({"items": unchanged})
        if arguments[0] != "get":
            return ""
        if arguments[1] == "secret":
            return json.dumps(self.parent)
        return json.dumps({"items": self.there})


@pytest.mark.parametrize("whole", [False, True])
def test_what_an_up_that_broke_off_has_made_goes_and_joins_the_applyset(whole: bool) -> None:
    evaluation = evaluated("mine", **EMBEDDED)
    members = {"dynamo-gpt-oss/stack": "mine", **({"applyset.kubernetes.io/part-of": "set"} if whole else {})}
    times = {"uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    there: list[dict[str, Any]] = [
        {**inputs, "metadata": {**inputs["metadata"], **times, "uid": str(number), "labels": members}}
        for number, inputs in enumerate(resource.inputs for resource in manifests(evaluation))
    ]
    job = obj("CronJob", "time-to-live", "dynamo", labels=members) | {"apiVersion": "batch/v1"}
    job["metadata"] |= times | {"uid": "of the job"}
    weights = obj("PersistentVolumeClaim", "of-an-earlier-life", "dynamo", labels=members | RETAINED)
    weights["metadata"] |= times | {"uid": "of the weights"}
    kubectl = Recorded([*there, weights, *([] if whole else [job])], {"metadata": {"annotations": {}}})
    apply.apply(evaluation, "dynamo", kubectl, wait=lambda _: None, end=lambda _: None, report=print)
    kubectl_apply = [arguments for arguments in kubectl.asked if "--prune" in arguments]
    deleted = [
        arguments[1]
        for arguments in kubectl.asked
        if arguments[0] == "delete" and "--wait=false" in arguments
    ]
    assert (len(kubectl_apply), deleted) == ((0, []) if whole else (1, ["CronJob.batch/time-to-live"]))


def test_a_kind_that_nobody_serves_is_refused_before_anything_is_made() -> None:
    evaluation = evaluated("mine", **EMBEDDED, monitoring={"kind": "existing"})
    kubectl = Recorded([], {})
    with pytest.raises(apply.UnservedError) as error:
        apply.apply(evaluation, "dynamo", kubectl, wait=lambda _: None, end=lambda _: None, report=print)
    assert "the cluster serves no PodMonitor.monitoring.coreos.com; install what brings it" in str(
        error.value
    )
    assert {arguments[0] for arguments in kubectl.asked} == {"api-resources"}
