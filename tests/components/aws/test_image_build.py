"""An image that a stack builds itself: the guide's command, what AWS gets, and the graph that runs the result."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from components.aws.image_build import (
    BuiltImageArgs,
    ImageCopy,
    _policy,
    _spec,
    docker_build,
    image_tag,
    run_build,
)
from facts.hardware import Arch
from ops.evaluate import Evaluation
from targets.knobs import ImageBuild
from tests import plans
from tests.dependencies import before

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BUILD = {"gitRef": COMMIT, "region": "us-east-1"}
WANTED = {"project": "builder", "repository": "dynamo", "tag": "1.2.1-abc"}


def args(arch: Arch, **build: Any) -> BuiltImageArgs:
    said = ImageBuild.model_validate({**BUILD, **build})
    return BuiltImageArgs(repository="dynamo", build=said, arch=arch, version="1.2.1")


def evaluated(target: str) -> Evaluation:
    return plans.evaluated(
        "own",
        target=target,
        cluster={"kind": "existing"},
        platform={"install": False},
        graph={"image": {"runtimeVersion": "1.4.2", "build": BUILD}},
    )


def test_the_commands_are_the_guide_s() -> None:
    base = "--build-arg BASE_IMAGE=nvcr.io/nvidia/tensorrt-llm/release --build-arg BASE_IMAGE_TAG=gpt-oss-dev"
    assert " ".join(docker_build(ImageBuild.model_validate(BUILD), Arch.ARM64, "t")) == (
        "docker build --platform linux/arm64 --file container/Dockerfile.trtllm_prebuilt "
        f"--build-arg ARCH=arm64 --build-arg ARCH_ALT=aarch64 {base} --tag t ."
    )
    assert " ".join(docker_build(ImageBuild.model_validate(BUILD), Arch.AMD64, "t")) == (
        f"docker build --platform linux/amd64 --file container/Dockerfile.trtllm_prebuilt {base} --tag t ."
    )


def test_the_tag_changes_with_everything_that_is_built() -> None:
    tags = {
        image_tag(args(Arch.AMD64)),
        image_tag(args(Arch.ARM64)),
        image_tag(args(Arch.AMD64, gitRef=COMMIT[::-1])),
        image_tag(args(Arch.AMD64, dockerfile="container/Dockerfile.vllm")),
        image_tag(args(Arch.AMD64, buildArgs={"BASE_IMAGE_TAG": "other"})),
    }
    assert len(tags) == 5
    assert image_tag(args(Arch.AMD64)) in tags
    assert all(tag.startswith("1.2.1-") for tag in tags)


@pytest.mark.parametrize(
    ("target", "kind", "arch"),
    [("trtllm-agg-gb200", "ARM_CONTAINER", "arm64"), ("trtllm-disagg-b200", "LINUX_CONTAINER", "amd64")],
)
def test_it_is_built_natively_and_the_graph_runs_the_digest(target: str, kind: str, arch: str) -> None:
    evaluation = evaluated(target)
    by_type = {resource.type: resource for resource in evaluation.resources}
    repository = by_type["aws:ecr/repository:Repository"].inputs
    assert repository["imageTagMutability"] == "IMMUTABLE"
    assert repository["imageScanningConfiguration"] == {"scanOnPush": True}
    environment = by_type["aws:codebuild/project:Project"].inputs["environment"]
    assert environment["type"] == kind
    assert f"-{'aarch64' if arch == 'arm64' else 'x86_64'}-" in environment["image"]
    run = by_type["pulumi-python:dynamic/dynamo-gpt-oss:ImageBuild"]
    assert by_type["aws:codebuild/project:Project"].urn in run.dependencies

    graph = next(r for t, r in by_type.items() if t.endswith(":DynamoGraphDeployment"))
    text = json.dumps(graph.inputs)
    assert '"image": "[computed]"' in text
    assert "nvcr.io" not in text
    assert json.dumps({"key": "kubernetes.io/arch", "operator": "In", "values": [arch]}) in text
    assert run.urn in graph.property_dependencies["spec"]
    # The weights need not wait for the image.
    job = by_type["kubernetes:batch/v1:Job"].inputs["spec"]["template"]["spec"]
    assert job["containers"][0]["image"].startswith("nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:")


def mirrored(active: bool) -> Evaluation:
    return plans.evaluated(
        "own",
        target="trtllm-disagg-b200",
        cluster={"kind": "eks", "region": "us-east-2"},
        pool={"active": active},
        graph={"image": {"mirror": {}}, "dynamoVersion": "1.4.2"},
        tags={"owner": "one", "ttl": "24h"},
    )


def test_the_published_image_is_copied_and_everything_on_gpu_nodes_runs_the_copy() -> None:
    resources = mirrored(active=True).resources
    by_type = {resource.type: resource for resource in resources}
    project = by_type["aws:codebuild/project:Project"].inputs
    assert (project["environment"]["type"], project["source"]["type"]) == ("LINUX_CONTAINER", "NO_SOURCE")
    copied = by_type["pulumi-python:dynamic/dynamo-gpt-oss:ImageBuild"]
    assert copied.inputs["region"] == "us-east-2"
    assert copied.inputs["tag"].startswith("1.4.2-")
    for suffix in (":DynamoGraphDeployment", ":DaemonSet"):
        (on_nodes,) = [r for r in resources if r.type.endswith(suffix) and r.name != "model-copy"]
        assert "nvcr.io" not in json.dumps(on_nodes.inputs)
        assert copied.urn in on_nodes.property_dependencies["spec"]


def test_no_gpu_is_paid_while_an_image_is_made() -> None:
    resources = mirrored(active=True).resources
    (copied,) = [r for r in resources if r.type.endswith(":ImageBuild")]
    (nodes,) = [r for r in resources if r.type.endswith(":NodeGroup") and r.name == "gpu-nodes"]
    assert copied.urn in before(nodes, {r.urn: r for r in resources})


def test_the_copy_is_made_before_nodes_run() -> None:
    assert any(r.type.endswith(":ImageBuild") for r in mirrored(active=False).resources)


def test_the_commands_of_a_copy() -> None:
    source = "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.4.2"
    said = ImageCopy(source=source, region="us-east-2")
    copied = BuiltImageArgs(repository="dynamo", build=said, arch=Arch.ARM64, version="1.4.2")
    image = f"123456789012.dkr.ecr.us-east-2.amazonaws.com/dynamo:{image_tag(copied)}"
    commands = json.loads(_spec(copied, image.partition(":")[0]))["phases"]["build"]["commands"]
    assert commands[1:] == [
        f"docker pull --quiet --platform linux/arm64 {source}",
        f"docker tag {source} {image}",
        f"docker push --quiet {image}",
    ]


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        session = boto3.Session(region_name="us-east-1")
        ecr, codebuild, iam = (session.client(service) for service in ("ecr", "codebuild", "iam"))
        ecr.create_repository(repositoryName="dynamo")
        builder = iam.create_role(RoleName="builder", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        codebuild.create_project(
            name="builder",
            source={"type": "GITHUB", "location": "https://localhost/x"},  # moto asks for one always
            artifacts={"type": "NO_ARTIFACTS"},
            environment={"type": "ARM_CONTAINER", "image": "i", "computeType": "BUILD_GENERAL1_2XLARGE"},
            serviceRole=builder,
        )
        yield codebuild, ecr


def push(ecr: Any) -> str:
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.dumps({"schemaVersion": 2, "mediaType": kind, "layers": []})
    pushed = ecr.put_image(repositoryName="dynamo", imageManifest=manifest, imageTag=WANTED["tag"])
    return str(pushed["image"]["imageId"]["imageDigest"])


def test_a_build_is_started_and_waited_for(clients: tuple[Any, Any]) -> None:
    codebuild, ecr = clients
    pushed: list[str] = []
    identity, digest = run_build(codebuild, ecr, WANTED, lambda _: pushed.append(push(ecr)))
    assert [digest] == pushed
    assert codebuild.list_builds_for_project(projectName="builder")["ids"] == [identity]


def test_an_image_that_is_there_is_not_built_again(clients: tuple[Any, Any]) -> None:
    codebuild, ecr = clients
    digest = push(ecr)
    assert run_build(codebuild, ecr, WANTED, lambda _: pytest.fail("it waited")) == (WANTED["tag"], digest)
    assert codebuild.list_builds_for_project(projectName="builder")["ids"] == []


def test_a_build_without_an_image_is_an_error_with_its_log(clients: tuple[Any, Any]) -> None:
    codebuild, ecr = clients
    with pytest.raises(RuntimeError, match=r"the image build builder:.* ended with SUCCEEDED; its log: "):
        run_build(codebuild, ecr, WANTED, lambda _: None)


class Builds:
    """CodeBuild with builds of an earlier update: moto says of each that it ended once it is asked for."""

    def __init__(self, ecr: Any, *running: str) -> None:
        """running: tags of builds at work. The next look finds them ended, as FAILED, and the wanted tag pushed."""
        self.started: list[str] = []
        self.waits = 0
        self._ecr = ecr
        self._builds = {f"builder:{tag}": self._build(tag) for tag in running}

    def list_builds_for_project(self, *, projectName: str, sortOrder: str) -> dict[str, Any]:  # noqa: N803
        assert (projectName, sortOrder) == ("builder", "DESCENDING")
        return {"ids": [*self._builds]}

    def batch_get_builds(self, *, ids: list[str]) -> dict[str, Any]:
        assert 1 <= len(ids) <= 100
        return {"builds": [self._builds[each] for each in ids]}

    def start_build(self, *, projectName: str) -> dict[str, Any]:  # noqa: N803
        self.started.append(projectName)
        build = self._builds["builder:new"] = self._build(WANTED["tag"], "new")
        return {"build": build}

    def pause(self, _: float) -> None:
        self.waits += 1
        self._builds = {key: {**build, "buildStatus": "FAILED"} for key, build in self._builds.items()}
        push(self._ecr)

    @staticmethod
    def _build(tag: str, name: str | None = None) -> dict[str, Any]:
        source = {
            "type": "NO_SOURCE",
            "buildspec": json.dumps({"commands": [f"docker push --quiet dynamo:{tag}"]}),
        }
        return {"id": f"builder:{name or tag}", "buildStatus": "IN_PROGRESS", "source": source}


def test_a_build_that_a_killed_update_has_left_is_waited_for(clients: tuple[Any, Any]) -> None:
    _, ecr = clients
    builds = Builds(ecr, "1.2.1-other", WANTED["tag"])
    identity, _ = run_build(builds, ecr, WANTED, builds.pause)
    assert identity == f"builder:{WANTED['tag']}"
    assert (builds.started, builds.waits) == ([], 1)


def test_a_running_build_of_another_recipe_is_not(clients: tuple[Any, Any]) -> None:
    _, ecr = clients
    builds = Builds(ecr, "1.2.1-other")
    identity, _ = run_build(builds, ecr, WANTED, builds.pause)
    assert identity == "builder:new"
    assert builds.started == ["builder"]


def test_an_image_that_another_build_pushed_meanwhile_is_taken(clients: tuple[Any, Any]) -> None:
    """Of two builds at once the second fails at its push."""
    _, ecr = clients
    builds = Builds(ecr)
    _, digest = run_build(builds, ecr, WANTED, builds.pause)
    assert digest.startswith("sha256:")


def test_the_build_may_do_what_a_push_asks_for() -> None:
    push_statement = json.loads(_policy("logs", "repository"))["Statement"][1]
    assert push_statement["Resource"] == "repository"
    assert {
        "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:CompleteLayerUpload",
        "ecr:InitiateLayerUpload", "ecr:PutImage", "ecr:UploadLayerPart",
    } == {*push_statement["Action"]}  # fmt: skip
