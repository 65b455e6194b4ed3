"""Wiring of images that a stack builds or copies itself."""

import pulumi

from components.aws import provider as aws_provider
from components.aws.image_build import BuiltImage, BuiltImageArgs, ImageCopy
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster
from stacks.settings import PROJECT
from targets.aws_access import AwsAccess
from targets.knobs import ImageBuild
from targets.plan import GraphPlan


def built_image(stack: StackPlan, plan: GraphPlan) -> pulumi.Output[str]:
    """The image of a graph, made for the pool's architecture in the region that the graph names."""
    image, version = plan.image, plan.image.runtime_version
    build: ImageBuild | ImageCopy | None = image.build
    cluster = stack.cluster
    if image.mirror is not None:
        region = cluster.region if isinstance(cluster, AwsCluster) else image.mirror.region
        assert region is not None, "refused by the rules"
        build = ImageCopy(source=image.reference, region=region)
    assert build is not None, "the caller asks for graphs with a build or a mirror alone"
    assert version is not None, "what is made is of its graph's release"
    tags = stack.billing.tags.all(project=PROJECT, stack=pulumi.get_stack(), target=plan.target.name)
    name = f"{plan.name}-image"
    access = cluster.aws if isinstance(cluster, AwsCluster) else AwsAccess()
    provider = aws_provider.provider(name, build.region, access, tags)
    args = BuiltImageArgs(
        repository=f"{PROJECT}/{pulumi.get_stack()}/{plan.name}",
        build=build,
        arch=plan.pool.instance.arch,
        version=version,
        access=access,
    )
    return BuiltImage(name, args, pulumi.ResourceOptions(providers=[provider])).image
