"""What a cache in a bucket asks of a stack. Pure."""

from collections.abc import Iterator

from targets.platform import Discovery, Platform


def bucket_problems(platform: Platform, *, on_aws: bool, sizing: bool) -> Iterator[str]:
    """Whose pods could not read it. on_aws: whether pods get identities there. sizing: whether the profiler reads."""
    if not on_aws:
        yield (
            "cache.kind: 's3' gives pods an identity on AWS, for cluster.kind eks or existing-eks; choose class, or "
            "put the weights into a claim and name it with existingClaim"
        )
    if platform.discovery is Discovery.ETCD:
        yield (
            "cache.kind: 's3' needs an account for each graph's pods, which the operator makes with platform.discovery "
            "'kubernetes' (Dynamo from 1.0 on); choose another kind of cache"
        )
    if sizing:
        yield (
            "sizing: the profiler reads the model from a claim, and cache.kind 's3' has none; leave sizing out, or "
            "choose another kind of cache"
        )
