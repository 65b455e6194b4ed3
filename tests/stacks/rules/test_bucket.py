"""`cache.kind: s3`: what is refused, what the stack makes, and what it costs."""

from typing import Any

import pytest

from stacks.cost import cost_per_hour
from stacks.load import parse
from stacks.plan import StackPlan
from stacks.settings import ConfigError

EKS = {"kind": "eks", "region": "us-east-2", "publicAccessFrom": ["192.0.2.0/24"]}
EXISTING_EKS = {
    "kind": "existing-eks",
    "name": "ours",
    "region": "us-east-2",
    "subnets": {"us-east-2a": "subnet-0123456789abcdef0"},
}


def settings(**more: Any) -> StackPlan:
    said: dict[str, Any] = {"target": "vllm-disagg-h100", "cluster": EKS, "cache": {"kind": "s3"}}
    return parse({**said, **more}, set())


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"cache": {"kind": "efs", "bucket": "mine"}},
            "dynamo-gpt-oss:cache: {kind, bucket}: bucket is for kind s3, not efs",
        ),
        (
            {"cache": {"kind": "s3", "size": "200Gi"}},
            "dynamo-gpt-oss:cache: {kind, size}: size: a bucket has none; leave it out with kind s3",
        ),
        (
            {"cache": {"kind": "s3", "throughput": 500}},
            "dynamo-gpt-oss:cache: {kind, throughput}: throughput: a bucket has none; leave it out with kind s3",
        ),
        (
            {"cache": {"kind": "s3", "localCopy": False}},
            "dynamo-gpt-oss:cache: {kind, localCopy}: localCopy: false: with kind s3 there is nothing to load from but "
            "a copy; leave it out",
        ),
        (
            {"cache": {"kind": "s3", "storageClass": "nfs"}},
            "dynamo-gpt-oss:cache: {kind, storageClass}: storageClass is for kind class; kind s3 makes its own",
        ),
        (
            {"cache": {"kind": "s3", "fileSystem": "fs-0123456789abcdef0"}},
            "dynamo-gpt-oss:cache: {kind, fileSystem}: fileSystem is for kind efs, not s3",
        ),
        (
            {"cache": {"kind": "s3", "mountTargets": True}},
            "dynamo-gpt-oss:cache: {kind, mountTargets}: mountTargets is for kind efs, not s3",
        ),
        (
            {"cache": {"kind": "s3", "existingClaim": "weights"}},
            "dynamo-gpt-oss:cache: {kind, existingClaim}: existingClaim 'weights' is there and filled; leave out kind",
        ),
        (
            {"cluster": {"kind": "existing"}, "graph": {"transport": "node"}},
            "dynamo-gpt-oss:cache.kind: 's3' gives pods an identity on AWS, for cluster.kind eks or existing-eks; "
            "choose class, or put the weights into a claim and name it with existingClaim",
        ),
        (
            {"platform": {"discovery": "etcd"}},
            "dynamo-gpt-oss:cache.kind: 's3' needs an account for each graph's pods, which the operator makes with "
            "platform.discovery 'kubernetes' (Dynamo from 1.0 on); choose another kind of cache",
        ),
        (
            {"sizing": {"isl": 4000, "osl": 500, "concurrency": 32}, "platform": {"version": "1.4.2"}},
            "dynamo-gpt-oss:sizing: the profiler reads the model from a claim, and cache.kind 's3' has none; leave "
            "sizing out, or choose another kind of cache",
        ),
    ],
)
def test_what_a_bucket_cannot_be_is_refused(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(**more)
    assert sentence in str(error.value).splitlines()


@pytest.mark.parametrize("name", ["UPPER", "a", "-begins-wrong", "under_score"])
def test_a_name_that_s3_refuses_is_refused_before(name: str) -> None:
    with pytest.raises(ConfigError, match=r"cache\.bucket"):
        settings(cache={"kind": "s3", "bucket": name})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cache": {"kind": "s3", "localCopy": True, "retain": True, "bucket": "our.models"}},
        {"cluster": EXISTING_EKS},
        {"target": "mocker-disagg-cpu"},
    ],
    ids=["alone", "one's own", "a cluster of one's own", "without weights"],
)
def test_it_says_little_and_copies_always(more: dict[str, Any]) -> None:
    made = settings(**more)
    (plan,) = made.graphs
    assert plan.cache.from_bucket
    assert plan.cache.local_copy
    assert not made.cache.mount_targets or made.cache.kind != "efs"


def test_a_bucket_of_the_stacks_own_costs_about_a_dollar_and_a_half_a_month() -> None:
    def of_bucket(**cache: str) -> list[float | None]:
        priced = cost_per_hour(settings(cache={"kind": "s3", **cache}))
        assert priced is not None
        return [usd for name, usd in priced.parts.items() if name == "61 GiB of weights in S3"]

    ((usd),) = of_bucket()
    assert usd is not None
    assert 1.3 < usd * 730 < 1.6
    assert of_bucket(bucket="our-models") == [], "what is there is paid already"


def test_a_node_may_copy_once_for_all_its_workers() -> None:
    made = settings(cache={"kind": "s3", "localCopy": "node"})
    assert made.main.cache.from_bucket
    assert made.main.cache.node_folder == "/var/lib/kubelet/dynamo-gpt-oss/dynamo"
