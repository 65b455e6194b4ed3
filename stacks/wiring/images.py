"""Wiring of images that a stack builds itself."""

import pulumi

from components.aws import provider as aws_provider
from components.aws.image_build import BuiltImage, BuiltImageArgs
from stacks.plan import StackPlan
from stacks.sections.cluster import AwsCluster
from stacks.settings import PROJECT
from targets.aws_access import AwsAccess
from targets.plan import GraphPlan


def built_image(stack: StackPlan, plan: GraphPlan) -> pulumi.Output[str]:
    """The image of a graph, built for the pool's architecture in the region that the graph names."""
    build, version = plan.image.build, plan.image.runtime_version
    assert build is not None, "the caller asks for graphs with a build alone"
    assert version is not None, "what is built is of its graph's release"
    tags = stack.billing.tags.all(project=PROJECT, stack=pulumi.get_stack(), target=plan.target.name)
    name = f"{plan.name}-image"
    cluster = stack.cluster
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
