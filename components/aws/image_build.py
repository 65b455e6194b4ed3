"""A runtime image in the account: an ECR repository, a CodeBuild project and one build or copy that is waited for."""

import hashlib
import json
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi.dynamic import CreateResult, DiffResult, ResourceProvider
from pulumi.dynamic import Resource as DynamicResource

from components.aws.iam import role
from components.aws.session import session
from facts.hardware import Arch
from facts.versions import CODEBUILD_AARCH64, CODEBUILD_X86_64
from targets.aws_access import AwsAccess
from targets.knobs import ImageBuild
from targets.strict import Strict

_MACHINE = {
    Arch.AMD64: ("LINUX_CONTAINER", f"aws/codebuild/amazonlinux-x86_64-standard:{CODEBUILD_X86_64}"),
    Arch.ARM64: ("ARM_CONTAINER", f"aws/codebuild/amazonlinux-aarch64-standard:{CODEBUILD_AARCH64}"),
}
"""Environment type and image of CodeBuild: each architecture is built on machines of its own, never emulated."""
_COMPUTE = "BUILD_GENERAL1_2XLARGE"
"""The only size that CodeBuild promises Docker images of up to 100 GB; TensorRT-LLM's are tens of them."""
_ARM_ARGS = {"ARCH": "arm64", "ARCH_ALT": "aarch64"}
_MINUTES = 240
_PAUSE_SECONDS = 15.0
_PUSH = (
    "ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:CompleteLayerUpload", "ecr:InitiateLayerUpload",
    "ecr:PutImage", "ecr:UploadLayerPart",
)  # fmt: skip
"""ECR user guide, "IAM permissions for pushing an image to an Amazon ECR private repository"."""


class ImageCopy(Strict):
    """An image that is copied as it is. ECR's pull-through cache has no rule for NVIDIA's registry."""

    source: str
    """Its reference, in a registry that asks for no password."""
    region: str
    """AWS region of the registry that it goes to."""


@dataclass(frozen=True, kw_only=True)
class BuiltImageArgs:
    """The image that is wanted."""

    repository: str
    """Name in ECR."""
    build: ImageBuild | ImageCopy
    """What is built or copied, and where."""
    arch: Arch
    """For which CPU."""
    version: str
    """The Dynamo release inside."""
    access: AwsAccess = field(default_factory=AwsAccess)
    """As whom it is built."""


class BuiltImage(pulumi.ComponentResource):
    """The image in ECR; ready when it is pushed. A changed commit, Dockerfile, argument or source makes another."""

    image: pulumi.Output[str]
    """`<registry>/<repository>@sha256:…`"""

    def __init__(self, name: str, args: BuiltImageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:BuiltImage", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        repository = self._repository(name, args, child)
        project = self._project(name, args, repository)
        run = _Build(
            name,
            {
                "project": project.name,
                "repository": args.repository,
                "region": args.build.region,
                "tag": image_tag(args),
                "access": args.access.model_dump(mode="json"),
            },
            pulumi.ResourceOptions(
                parent=self,
                depends_on=[project],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{_MINUTES}m"),
            ),
        )
        self.image = pulumi.Output.format("{0}@{1}", repository.repository_url, run.digest)
        self.register_outputs({"image": self.image})

    @staticmethod
    def _repository(name: str, args: BuiltImageArgs, child: pulumi.ResourceOptions) -> aws.ecr.Repository:
        return aws.ecr.Repository(
            name,
            name=args.repository,
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration={"scan_on_push": True},
            encryption_configurations=[{"encryption_type": "AES256"}],
            # What is in it can be built again from the commit, or copied again.
            force_delete=True,
            opts=child,
        )

    def _project(
        self, name: str, args: BuiltImageArgs, repository: aws.ecr.Repository
    ) -> aws.codebuild.Project:
        child = pulumi.ResourceOptions(parent=self)
        logs = aws.cloudwatch.LogGroup(f"{name}-build", retention_in_days=30, opts=child)
        builder, _ = role(f"{name}-build", "codebuild.amazonaws.com", (), child)
        allowed = aws.iam.RolePolicy(
            f"{name}-build",
            role=builder.name,
            policy=pulumi.Output.all(logs.arn, repository.arn).apply(lambda arns: _policy(*arns)),
            opts=child,
        )
        kind, machine = _MACHINE[args.arch]
        return aws.codebuild.Project(
            f"{name}-build",
            service_role=builder.arn,
            build_timeout=_MINUTES,
            artifacts={"type": "NO_ARTIFACTS"},
            source={
                "type": "NO_SOURCE",
                "buildspec": repository.repository_url.apply(lambda url: _spec(args, url)),
            },
            environment={
                "type": kind,
                "image": machine,
                "compute_type": _COMPUTE,
                # Docker's daemon needs it; the machine is the build's alone and goes with it.
                "privileged_mode": True,
            },
            logs_config={"cloudwatch_logs": {"group_name": logs.name}},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[allowed]),
        )


def image_tag(args: BuiltImageArgs) -> str:
    """Tag of the image: the release and a digest of everything that it is made of."""
    recipe = json.dumps([args.build.model_dump(mode="json"), args.arch], sort_keys=True)
    return f"{args.version}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def docker_build(build: ImageBuild, arch: Arch, image: str) -> list[str]:
    """The guide's `docker build`, as words."""
    arguments = dict(build.build_args) | (_ARM_ARGS if arch is Arch.ARM64 else {})
    words = ["docker", "build", "--platform", f"linux/{arch}", "--file", build.dockerfile]
    for name, value in sorted(arguments.items()):
        words += ["--build-arg", f"{name}={value}"]
    return [*words, "--tag", image, "."]


def _spec(args: BuiltImageArgs, repository_url: str) -> str:
    """The buildspec, as JSON, which is YAML too."""
    image, registry = f"{repository_url}:{image_tag(args)}", repository_url.partition("/")[0]
    login = f"docker login --username AWS --password-stdin {shlex.quote(registry)}"
    commands = [
        f"aws ecr get-login-password --region {args.build.region} | {login}",
        *_made(args, image),
        f"docker push --quiet {shlex.quote(image)}",
    ]
    return json.dumps({"version": 0.2, "phases": {"build": {"on-failure": "ABORT", "commands": commands}}})


def _made(args: BuiltImageArgs, image: str) -> list[str]:
    """Commands that leave the image in Docker, under that name."""
    build, source = args.build, shlex.quote(args.build.source)
    if isinstance(build, ImageCopy):
        platform = f"--platform linux/{args.arch}"
        return [f"docker pull --quiet {platform} {source}", f"docker tag {source} {shlex.quote(image)}"]
    return [
        "git init --quiet sources && cd sources",
        f"git fetch --quiet --depth 1 {source} {build.git_ref}",
        "git checkout --quiet FETCH_HEAD",
        shlex.join(docker_build(build, args.arch, image)),
    ]


def _policy(logs: str, repository: str) -> str:
    statements: list[dict[str, object]] = [
        {"Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": f"{logs}:*"},
        {"Action": list(_PUSH), "Resource": repository},
        # It names no resource: the token is of the whole registry, and opens what the statement above allows.
        {"Action": "ecr:GetAuthorizationToken", "Resource": "*"},
    ]
    return json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **each} for each in statements]}
    )


def run_build(
    codebuild: Any, ecr: Any, wanted: Mapping[str, str], pause: Callable[[float], None]
) -> tuple[str, str]:
    """Build unless the tag is there already, or is being built; returns (build's id, image's digest).

    codebuild, ecr: boto3 clients. wanted: project, repository and tag. Raises RuntimeError if there is no image then.
    """
    digest = _digest(ecr, wanted)
    if digest is not None:
        return wanted["tag"], digest
    build = _running(codebuild, wanted) or codebuild.start_build(projectName=wanted["project"])["build"]
    while build["buildStatus"] == "IN_PROGRESS":
        pause(_PAUSE_SECONDS)
        (build,) = codebuild.batch_get_builds(ids=[build["id"]])["builds"]
    # Whatever became of it: of two builds at once the second cannot push, since nobody may move a tag.
    digest = _digest(ecr, wanted)
    if digest is None:
        log = build.get("logs", {}).get("deepLink", "CodeBuild's console")
        raise RuntimeError(f"the image build {build['id']} ended with {build['buildStatus']}; its log: {log}")
    return str(build["id"]), digest


def _running(codebuild: Any, wanted: Mapping[str, str]) -> Mapping[str, Any] | None:
    """The build that an update that was killed has left at work, if it makes this tag; its buildspec names it.

    The newest hundred are looked at, which are also as many as one question may be about.
    """
    builds = codebuild.list_builds_for_project(projectName=wanted["project"], sortOrder="DESCENDING")["ids"]
    if not builds:
        return None
    for build in codebuild.batch_get_builds(ids=builds[:100])["builds"]:
        if build["buildStatus"] == "IN_PROGRESS" and f":{wanted['tag']}" in _buildspec(build):
            return dict(build)
    return None


def _buildspec(build: Mapping[str, Any]) -> str:
    return str(build.get("source", {}).get("buildspec", ""))


def _digest(ecr: Any, wanted: Mapping[str, str]) -> str | None:
    try:
        found = ecr.describe_images(
            repositoryName=wanted["repository"], imageIds=[{"imageTag": wanted["tag"]}]
        )
    except ecr.exceptions.ImageNotFoundException:
        return None
    return str(found["imageDetails"][0]["imageDigest"])


class _Builds(ResourceProvider):
    """Runs the project once for each tag. There is no AWS resource that starts a build and waits for it."""

    def create(self, props: dict[str, Any]) -> CreateResult:
        aws_session = session(props["region"], AwsAccess.model_validate(props["access"]))
        clients = aws_session.client("codebuild"), aws_session.client("ecr")
        identity, digest = run_build(*clients, props, time.sleep)
        return CreateResult(id_=identity, outs={**props, "digest": digest})

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        changed = [
            key for key in ("project", "repository", "region", "tag") if _olds.get(key) != _news.get(key)
        ]
        return DiffResult(changes=bool(changed), replaces=changed, delete_before_replace=False)


class _Build(DynamicResource, module="dynamo-gpt-oss", name="ImageBuild"):
    digest: pulumi.Output[str]

    def __init__(self, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(_Builds(), name, {**props, "digest": None}, opts)
