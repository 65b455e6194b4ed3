"""What a stack looks up on a cluster, and the sentence for each thing that is not there."""

import json
from typing import Any

import pytest

from ops.deploy.preflight import PreflightError, check
from ops.evaluate import Evaluation, Resource
from tests.ops.deploy.clusters import obj

CRD = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
GRAPH_CRD = "dynamographdeployments.nvidia.com"


def resource(inputs: dict[str, Any], kind: str = "k", *, read: bool = False) -> Resource:
    return Resource(
        urn="u::n",
        type=kind,
        parent="",
        dependencies=(),
        property_dependencies={},
        provider="",
        inputs=inputs,
        read=read,
    )


def evaluation(*resources: Resource) -> Evaluation:
    return Evaluation(stack="dev", resources=resources, outputs={})


def kubectl(secrets: tuple[str, ...] = (), versions: dict[str, bool] | None = None) -> Any:
    """A cluster with these Secrets, and a graph definition of these versions (name to whether served), if any."""
    definition = {"spec": {"versions": [{"name": n, "served": s} for n, s in (versions or {}).items()]}}

    def answer(*arguments: str, stdin: str = "") -> str:
        if arguments[1] == "secrets":
            return json.dumps({"items": [obj("Secret", name) for name in secrets]})
        assert arguments[1:3] == ("customresourcedefinition", GRAPH_CRD)
        return json.dumps(definition) if versions else ""

    return answer


def download(secret: str) -> Resource:
    volumes = [{"name": "token", "secret": {"secretName": secret}}, {"name": "weights"}]
    return resource(obj("Job", "model-download", spec={"template": {"spec": {"volumes": volumes}}}))


GRAPH = resource(obj("DynamoGraphDeployment", "g"))
PLATFORM = resource({"id": GRAPH_CRD}, CRD, read=True)


def test_a_secret_that_is_there_or_made_is_no_problem() -> None:
    check(evaluation(download("hf")), kubectl(secrets=("hf",)))
    check(evaluation(download("hf"), resource(obj("Secret", "hf"))), kubectl())
    check(evaluation(download("hf"), resource(obj("ExternalSecret", "hf"))), kubectl())


@pytest.mark.parametrize(("there", "named"), [((), "none"), (("a", "b"), "a, b")])
def test_a_secret_that_is_not_there_is_named_with_those_that_are(there: tuple[str, ...], named: str) -> None:
    with pytest.raises(
        PreflightError, match=rf"existingSecret: 'hf' is no Secret in namespace ns \(there: {named}\)"
    ):
        check(evaluation(download("hf")), kubectl(secrets=there))


def test_a_platform_that_is_there_and_serves_the_graphs_version_is_no_problem() -> None:
    check(evaluation(PLATFORM, GRAPH), kubectl(versions={"v1alpha1": True, "v1beta1": False}))


def test_a_platform_that_is_not_looked_up_is_not_asked_for() -> None:
    check(evaluation(GRAPH), kubectl())


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        (
            None,
            rf"platform.install: false, but the cluster has no Dynamo platform \({GRAPH_CRD}\); set it to true$",
        ),
        (
            {"v1alpha1": False, "v1beta1": True},
            r"its graphs are nvidia.com/v1alpha1, but the cluster's Dynamo platform serves nvidia.com/v1beta1; choose",
        ),
    ],
    ids=["none", "another version"],
)
def test_a_platform_that_cannot_serve_the_graphs(versions: dict[str, bool] | None, says: str) -> None:
    with pytest.raises(PreflightError, match=says):
        check(evaluation(PLATFORM, GRAPH), kubectl(versions=versions))


def test_every_problem_gets_a_line() -> None:
    with pytest.raises(PreflightError) as problems:
        check(evaluation(download("hf"), PLATFORM, GRAPH), kubectl())
    assert len(str(problems.value).splitlines()) == 2
