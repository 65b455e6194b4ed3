"""An image that a stack builds itself: the guide's command, what AWS gets, and the graph that runs the result."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from components.aws.image_build import BuiltImageArgs, docker_build, image_tag, run_build
from facts.hardware import Arch
from ops.evaluate import Evaluation
from targets.knobs import ImageBuild
from tests import plans

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
    assert " ".join(docker_build(args(Arch.ARM64), "t")) == (
        "docker build --platform linux/arm64 --file container/Dockerfile.trtllm_prebuilt "
        f"--build-arg ARCH=arm64 --build-arg ARCH_ALT=aarch64 {base} --tag t ."
    )
    assert " ".join(docker_build(args(Arch.AMD64), "t")) == (
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
